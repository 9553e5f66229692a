//===- Schedules.cpp - Schedules that are functions of Python --------------------------===//
//
// The function is called in the middle of a compilation, when the instructions exist: the interpreter is taken for as
// long as it runs, and what it raises is kept until the compilation is over, since no exception crosses LLVM's frames.
//
//===----------------------------------------------------------------------===//
#include "Bindings.h"

#include <nanobind/stl/map.h>

namespace soliton::python {

namespace {

/// An object of Python that may be dropped by any thread.
std::shared_ptr<nb::object> shareable(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object *held) {
            nb::gil_scoped_acquire interpreter;
            delete held;
          }};
}

using Item = ScheduleItem;

/// A cluster, a set of instructions, something put in, or a list of these.
void appendItems(std::vector<Item> &items, nb::handle object) {
  Nodes nodes;
  AddedOp op;
  ScheduleCluster cluster;
  if (nb::try_cast(object, nodes, false)) {
    if (!nodes.empty() || nodes.isLoop())
      items.emplace_back(nodes);
  } else if (nb::try_cast(object, op, false)) {
    items.emplace_back(op);
  } else if (nb::try_cast(object, cluster, false)) {
    items.emplace_back(cluster);
  } else {
    for (nb::handle each : object)
      appendItems(items, each);
  }
}

std::vector<Item> itemsOf(nb::object list) {
  std::vector<Item> items;
  appendItems(items, list);
  return items;
}

void bindNodes(nb::module_ &module) {
  nb::enum_<NodeType>(module, "NodeType")
      .value("Read", NodeType::Read)
      .value("Write", NodeType::Write)
      .value("GatherToLDS", NodeType::GatherToLDS)
      .value("MMA", NodeType::MMA)
      .value("Arithmetic", NodeType::Arithmetic)
      .value("Shuffle", NodeType::Shuffle)
      .value("Barrier", NodeType::Barrier)
      .value("Wait", NodeType::Wait);
  nb::class_<Nodes>(module, "Nodes")
      .def(nb::init<>())
      .def("__len__", &Nodes::size)
      .def("__bool__", [](const Nodes &self) { return !self.empty() || self.isLoop(); })
      .def("__add__", [](const Nodes &self, const Nodes &other) { return self + other; })
      .def_prop_ro("is_loop", &Nodes::isLoop)
      .def_prop_ro("ops", [](const Nodes &self) { return self.ops(); });
  nb::class_<ScheduleCluster>(module, "ScheduleCluster");
  nb::class_<Subgraph>(module, "Subgraph");
}

void bindAddedOps(nb::module_ &module) {
  nb::class_<AddedOp>(module, "AddedOp");
  module.def("workgroup_barrier", [](Place place) -> AddedOp { return WorkgroupBarrier(place); }, nb::arg().none());
  module.def(
      "shared_memory_barrier", [](Place place) -> AddedOp { return SharedMemoryBarrier(place); }, nb::arg().none());
  auto limits = [](std::optional<int> load, std::optional<int> ds) { return CounterLimits{.load = load, .ds = ds}; };
  module.def(
      "memory_counter_wait",
      [=](std::optional<int> load, std::optional<int> ds, Place place) -> AddedOp {
        return MemoryCounterWait(limits(load, ds), place);
      },
      nb::arg().none(), nb::arg().none(), nb::arg().none());
  module.def(
      "memory_counter_wait_barrier",
      [=](std::optional<int> load, std::optional<int> ds, Place place) -> AddedOp {
        return MemoryCounterWaitBarrier(limits(load, ds), place);
      },
      nb::arg().none(), nb::arg().none(), nb::arg().none());
  module.def(
      "set_wave_prio", [](int level, Place place) -> AddedOp { return SetWavePrio(level, place); }, nb::arg(),
      nb::arg().none());
  module.def(
      "scheduling_barrier",
      [](const std::vector<int> &classes, Place place) -> AddedOp {
        std::vector<InstructionClass> cross;
        for (int each : classes)
          cross.push_back(static_cast<InstructionClass>(each));
        return SchedulingBarrier(cross, place);
      },
      nb::arg(), nb::arg().none());
  module.def(
      "scheduling_group_barrier",
      [](const std::vector<std::pair<int, int>> &groups, int sync, Place place) -> AddedOp {
        std::vector<std::pair<InstructionClass, int>> list;
        for (auto [kind, count] : groups)
          list.emplace_back(static_cast<InstructionClass>(kind), count);
        return SchedulingGroupBarrier(list, sync, place);
      },
      nb::arg(), nb::arg(), nb::arg().none());
}

void bindPipelines(nb::module_ &module) {
  nb::class_<PipelinedLoop>(module, "PipelinedLoop")
      .def("set_stage_numbered", [](PipelinedLoop &self, int stage, const std::vector<Nodes> &nodes,
                                    Place place) { self.set_stage(stage, nodes, place); })
      .def("set_stage_cycles", [](PipelinedLoop &self, const std::vector<std::vector<Nodes>> &cycles,
                                  Place place) { self.set_stage(cycles, place); })
      .def_prop_ro("KERNEL", [](const PipelinedLoop &self) { return self.KERNEL; })
      .def_prop_ro("PROLOGUE", [](const PipelinedLoop &self) { return self.PROLOGUE; })
      .def_prop_ro("EPILOGUE", [](const PipelinedLoop &self) { return self.EPILOGUE; });
}

ScheduleSpace spaceOf(bool isShared) {
  return isShared ? sched::Space::Shared : sched::Space::Global;
}

void defineQueries(nb::class_<ScheduleContext> &type) {
  type.def("get_node_by_tag",
           [](ScheduleContext &self, const std::string &tag, Place place) { return self.get_node_by_tag(tag, place); })
      .def("get_node_by_tags", [](ScheduleContext &self, const std::vector<std::string> &tags,
                                  Place place) { return self.get_node_by_tag(tags, place); })
      .def("get_node_by_tag_and_type", [](ScheduleContext &self, const std::string &tag, NodeType type,
                                          Place place) { return self.get_node_by_tag_and_type(tag, type, place); })
      .def("get_node_by_tag_and_iteration",
           [](ScheduleContext &self, const std::string &tag, int iteration, Place place) {
             return self.get_node_by_tag_and_iteration(tag, iteration, place);
           })
      .def("partition_by_address_space",
           [](ScheduleContext &self, const Nodes &nodes, bool isShared, Place place) {
             return self.partition_by_address_space(nodes, spaceOf(isShared), place);
           })
      .def("partition_by_dim", [](ScheduleContext &self, const Nodes &nodes, const std::string &dim, int parts,
                                  Place place) { return self.partition_by_dim(nodes, dim, parts, place); })
      .def(
          "filter_nodes",
          [](ScheduleContext &self, const Nodes &nodes, Subgraph part, std::optional<NodeType> type, Place place) {
            return self.filter_nodes(nodes, part, type, place);
          },
          nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("filter_by_type", [](ScheduleContext &self, const Nodes &nodes, NodeType type,
                                Place place) { return self.filter_nodes(nodes, Subgraph(), type, place); })
      .def("partition_by_use", [](ScheduleContext &self, const Nodes &nodes, const Nodes &users,
                                  Place place) { return self.partition_by_use(nodes, users, place); })
      .def("pieces",
           [](ScheduleContext &self, const Nodes &nodes, const std::string &dim) { return self.pieces(nodes, dim); })
      .def("has_tag", [](ScheduleContext &self, const std::string &tag) { return self.has_tag(tag); })
      // (name, what the author wrote, tags, piece along each dimension, copy of an unrolled body) of each.
      .def("facts",
           [](ScheduleContext &self, const Nodes &nodes, Place place) {
             using Facts =
                 std::tuple<std::string, std::string, std::vector<std::string>, std::map<std::string, int64_t>, int>;
             std::vector<Facts> list;
             auto note = [&](const sched::Operation &op) {
               const sched::Origin &origin = op.origin;
               list.emplace_back(op.key, origin.type, origin.tags, origin.piece, origin.copy);
               return true;
             };
             self.filter_nodes(nodes, note, place);
             return list;
           })
      .def("getitem", [](ScheduleContext &self, const Nodes &nodes, int index,
                         Place place) { return self.getitem(nodes, index, place); })
      .def("hardware",
           [](const ScheduleContext &self) {
             const HardwareFacts &facts = self.get_hardware_constraint();
             return std::tuple(facts.threads_per_wave, facts.waves_per_block[0], facts.waves_per_block[1],
                               facts.waves_per_block[2], facts.mma_type, facts.target);
           })
      .def("error", [](ScheduleContext &self, const std::string &message, const std::string &hint, Place place) {
        self.error(message, hint, place);
      });
}

void defineChanges(nb::class_<ScheduleContext> &type) {
  type.def("pipeline",
           [](ScheduleContext &self, const Nodes &loop, int stages, int interval, bool eliminate, int buffers,
              int unroll, bool runOn, bool releases, Place place) {
             return self.pipeline(loop,
                                  {.num_stages = stages,
                                   .initiation_interval = interval,
                                   .eliminate_epilogue = eliminate,
                                   .multi_buffer_count = buffers,
                                   .unroll_factor = unroll,
                                   .copies_run_on = runOn,
                                   .releases = releases},
                                  place);
           })
      .def("cluster", [](ScheduleContext &self, nb::object items) { return self.cluster(itemsOf(items)); })
      .def("reorder_part", [](ScheduleContext &self, Subgraph part, nb::object order,
                              Place place) { self.reorder_graph(part, itemsOf(order), place); })
      .def("reorder_loop", [](ScheduleContext &self, const Nodes &loop, nb::object order,
                              Place place) { self.reorder_graph(loop, itemsOf(order), place); })
      .def("insert_before", [](ScheduleContext &self, const Nodes &target, const AddedOp &op,
                               Place place) { self.insert_before(target, op, place); })
      .def("insert_after", [](ScheduleContext &self, const Nodes &target, const AddedOp &op,
                              Place place) { self.insert_after(target, op, place); })
      .def("insert_at_start", [](ScheduleContext &self, const Nodes &loop, const AddedOp &op,
                                 Place place) { self.insert_at_start(loop, op, place); })
      .def("insert_at_start_of", [](ScheduleContext &self, Subgraph part, const AddedOp &op,
                                    Place place) { self.insert_at_start(part, op, place); })
      .def("insert_at_end", [](ScheduleContext &self, const Nodes &loop, const AddedOp &op,
                               Place place) { self.insert_at_end(loop, op, place); })
      .def("insert_at_end_of", [](ScheduleContext &self, Subgraph part, const AddedOp &op,
                                  Place place) { self.insert_at_end(part, op, place); })
      .def("insert_cond_barrier_before",
           [](ScheduleContext &self, int begin, int end, const Nodes &target, Place place) {
             self.insert_cond_barrier_before({begin, end}, target, place);
           })
      .def("insert_cond_barrier_after",
           [](ScheduleContext &self, int begin, int end, const Nodes &target, Place place) {
             self.insert_cond_barrier_after({begin, end}, target, place);
           })
      .def("stagger", [](ScheduleContext &self, const Nodes &loop, Place place) { self.stagger(loop, place); })
      .def("stagger_part", [](ScheduleContext &self, Subgraph kernel, Place place) { self.stagger(kernel, place); })
      .def("unroll",
           [](ScheduleContext &self, const Nodes &loop, int factor, Place place) { self.unroll(loop, factor, place); })
      .def("order_by", [](ScheduleContext &self, const Nodes &loop, const std::string &algorithm,
                          Place place) { self.order_by(loop, algorithm, place); })
      .def("specialize", [](ScheduleContext &self, const Nodes &ops, int waves, int registers,
                            Place place) { self.specialize(ops, {waves, registers}, place); })
      .def("specialize_tags", [](ScheduleContext &self, const std::vector<std::string> &tags, int waves, int registers,
                                 Place place) { self.specialize(tags, {waves, registers}, place); })
      .def("persistent",
           [](ScheduleContext &self, int64_t workgroups, bool overlapTiles, Place place) {
             self.persistent(workgroups, {.overlap_tiles = overlapTiles}, place);
           })
      .def("unroll_part",
           [](ScheduleContext &self, Subgraph kernel, int factor, Place place) { self.unroll(kernel, factor, place); });
}

} // namespace

std::shared_ptr<const WaveSchedule> scheduleOf(const std::string &name, nb::object function, bool strict,
                                               std::shared_ptr<PendingError> pending) {
  auto schedule = std::make_shared<WaveSchedule>();
  schedule->name = name;
  schedule->strict = strict;
  schedule->body = [held = shareable(std::move(function)), pending](ScheduleContext &context) {
    nb::gil_scoped_acquire interpreter;
    try {
      (*held)(nb::cast(&context, nb::rv_policy::reference));
    } catch (nb::python_error &error) {
      rethrowPassing(); // the loop is to be unrolled first, and the schedule runs again
      if (!pending->error)
        pending->error.emplace(std::move(error));
      context.error("the schedule ended in an exception");
    }
  };
  return schedule;
}

void bindSchedules(nb::module_ &module) {
  bindNodes(module);
  bindAddedOps(module);
  bindPipelines(module);
  auto context = nb::class_<ScheduleContext>(module, "ScheduleContext");
  defineQueries(context);
  defineChanges(context);
}

} // namespace soliton::python
