//===- Print.cpp - A generated kernel as text of the dialect ---------------------------------===//
//
// The only place that knows the syntax of the `wave` dialect in form `Traced`.
//
//===----------------------------------------------------------------------===//
#include "test/generate/Program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

namespace soliton::generate {
namespace {

template <typename List, typename Text>
std::string join(const List &list, Text text, const char *separator = ", ") {
  std::string result;
  bool first = true;
  for (const auto &each : list) {
    result += (first ? "" : separator) + text(each);
    first = false;
  }
  return result;
}

std::string quoted(const std::string &text) {
  return "\"" + text + "\"";
}
std::string expression(const Formula &formula) {
  return "#wave.expr<" + quoted(textOf(formula)) + ">";
}
/// Inside an attribute that knows that an expression follows.
std::string inner(const Formula &formula) {
  return "<" + quoted(textOf(formula)) + ">";
}

class Printer {
public:
  Printer(const Program &program, const std::string &target) : program(program), target(target) {}

  std::string run() {
    header();
    block(program.body, 1);
    out << "}\n";
    return out.str();
  }

private:
  //===-- Types ---------------------------------------------------------------------===//

  std::string tile(int value) const {
    const ValueType &type = program.values[static_cast<size_t>(value)];
    return "!wave.tile<[" +
           join(type.dims, [](const std::string &dim) { return groupsOf(dim).size > 1 ? quoted(dim) : dim; }) + "], " +
           std::string(formatOf(type.element).name) + ">";
  }
  std::string memoryType(const Memory &memory) const {
    return "!wave.memory<[" + join(memory.shape, [](const Formula &extent) { return quoted(textOf(extent)); }) + "], " +
           std::string(formatOf(memory.type).name) + (memory.shared ? ", shared" : ", global") + strides(memory) + ">";
  }
  static std::string strides(const Memory &memory) {
    auto quote = [](const Formula &stride) { return quoted(textOf(stride)); };
    return memory.strides.empty() ? "" : ", strides = [" + join(memory.strides, quote) + "]";
  }
  const Memory &memory(const Op &op) const { return program.memories[static_cast<size_t>(op.memory)]; }
  static std::string name(int value) { return "%" + std::to_string(value); }
  static std::string names(const std::vector<int> &values) { return join(values, name); }
  std::string tiles(const std::vector<int> &values) const {
    return join(values, [&](int value) { return tile(value); });
  }
  /// `(types) -> types`.
  std::string function(const std::vector<int> &from, const std::vector<int> &to) const {
    return "(" + tiles(from) + ") -> " + (to.size() == 1 ? tile(to[0]) : "(" + tiles(to) + ")");
  }

  //===-- Kernel --------------------------------------------------------------------===//

  std::vector<std::string> constraints() const {
    std::vector<std::string> list;
    for (const WorkgroupConstraint &each : program.workgroups) {
      std::string text = "#wave.workgroup<dim = " + quoted(each.dim) + ", tile = " + inner(each.tile) +
                         ", workgroupDim = " + std::to_string(each.workgroupDim);
      text += each.primary ? "" : ", primary = false";
      text += each.apply ? ", apply = " + inner(*each.apply) : "";
      text += each.iters ? ", iters = " + inner(*each.iters) : "";
      list.push_back(text + ">");
    }
    for (const TilingConstraint &each : program.tilings) {
      std::string text = "#wave.tiling<dim = " + quoted(each.dim) + ", tile = " + inner(each.tile);
      text += each.iters ? ", iters = " + inner(*each.iters) : "";
      text += each.start ? ", start = " + inner(*each.start) : "";
      list.push_back(text + ">");
    }
    for (const WaveConstraint &each : program.waves)
      list.push_back("#wave.wave<dim = " + quoted(each.dim) + ", tile = " + inner(each.tile) + ">");
    if (!program.wavesPerBlock.empty())
      list.push_back("#wave.hardware<wavesPerBlock = [" +
                     join(program.wavesPerBlock, [](int64_t count) { return std::to_string(count); }) + "]>");
    if (program.grid)
      list.push_back("#wave.grid<size = " + inner(*program.grid) + ">");
    for (const Reordering &each : program.reorderings)
      list.push_back("#wave.reordering<equation = " + inner(each.equation) +
                     ", workgroupDim = " + std::to_string(each.workgroupDim) + ">");
    for (const Alias &each : program.aliases)
      list.push_back("#wave.alias<source = " + quoted(each.source) + ", target = " + quoted(each.target) +
                     ", sourceToTarget = " + inner(each.map) + ">");
    for (const Formula &each : program.assumptions)
      list.push_back("#wave.assume<predicate = " + inner(each) + ">");
    return list;
  }

  void header() {
    std::vector<std::string> names, arguments, bound, dynamic;
    for (size_t i = 0; i < program.memories.size(); ++i)
      if (program.memories[i].isParameter) {
        names.push_back(quoted(program.memories[i].name));
        arguments.push_back("%m" + std::to_string(i) + ": " + memoryType(program.memories[i]));
      }
    for (size_t i = 0; i < program.scalars.size(); ++i) {
      names.push_back(quoted(program.scalars[i].name));
      arguments.push_back("%s" + std::to_string(i) + ": " + std::string(formatOf(program.scalars[i].type).name));
    }
    for (const Dim &dim : program.dims) {
      if (dim.dynamic)
        dynamic.push_back(quoted(dim.name));
      else
        bound.push_back(dim.name + " = " + std::to_string(dim.size) + " : i64");
    }
    auto same = [](const std::string &text) { return text; };
    out << "wave.kernel @generated attributes {\n    arg_names = [" << join(names, same) << "],\n    constraints = ["
        << join(constraints(), same, ",\n                   ") << "],\n    subs = {" << join(bound, same)
        << "}, dynamic = [" << join(dynamic, same) << "], form = 0 : i32, target = " << quoted(target) << "} {\n^bb0("
        << join(arguments, same) << "):\n";
  }

  //===-- Ops -----------------------------------------------------------------------===//

  void block(const Block &each, int depth) {
    for (const Op &op : each.ops)
      print(op, depth);
  }
  void line(int depth, const std::string &text) {
    out << std::string(static_cast<size_t>(depth) * 2, ' ') << text << "\n";
  }

  std::string attributes(const Op &op) const {
    std::vector<std::string> list;
    if (op.bounds)
      list.push_back("bounds = [" +
                     join(*op.bounds,
                          [](const std::optional<Formula> &bound) {
                            return bound ? expression(*bound) : std::string("\"unbounded\"");
                          }) +
                     "]");
    if (op.elementsPerThread)
      list.push_back("elements_per_thread = " + std::to_string(*op.elementsPerThread) + " : i64");
    if (op.indices)
      list.push_back("indices = [" + join(*op.indices, expression) + "]");
    return list.empty() ? "" : " {" + join(list, [](const std::string &text) { return text; }) + "}";
  }
  std::string usingValues(const std::vector<int> &values) const {
    return values.empty() ? "" : " using " + names(values) + " : " + tiles(values);
  }
  std::string constant(const Op &op) const {
    Element type = program.values[static_cast<size_t>(op.results[0])].element;
    if (type == Element::i1)
      return wrapTo(type, static_cast<int64_t>(op.number)) ? "true" : "false";
    std::ostringstream text;
    text.precision(17);
    if (isFloat(type) && std::isinf(op.number))
      return std::string(op.number < 0 ? "0xFF800000" : "0x7F800000") + " : f32";
    text << std::scientific << op.number;
    std::string digits = isFloat(type) ? text.str() : std::to_string(static_cast<int64_t>(op.number));
    return digits + " : " + std::string(formatOf(type).name);
  }

  void print(const Op &op, int depth) {
    const std::vector<int> &from = op.operands;
    std::string head = op.results.empty() ? "" : name(op.results[0]) + " = ", to = " -> ";
    to += op.results.empty() ? "" : tile(op.results[0]);
    switch (op.kind) {
    case OpKind::read:
    case OpKind::write:
    case OpKind::atomic:
      return access(op, depth);
    case OpKind::allocate:
      return line(depth, "%m" + std::to_string(op.memory) + " = wave.allocate : " + memoryType(memory(op)));
    case OpKind::fill:
      return line(depth, head + "wave.fill " + constant(op) + to);
    case OpKind::splat:
      return line(depth, head + "wave.splat %s" + std::to_string(op.memory) + " : " +
                             std::string(formatOf(program.scalars[static_cast<size_t>(op.memory)].type).name) + to);
    case OpKind::unary:
    case OpKind::binary:
    case OpKind::compare: {
      const char *word = op.kind == OpKind::unary ? "unary " : op.kind == OpKind::binary ? "binary " : "compare ";
      return line(depth, head + "wave." + word + op.word + " " + names(from) + " : " + tiles(from) + to);
    }
    case OpKind::select:
      return line(depth, head + "wave.select " + names(from) + " : " + tiles(from) + to);
    case OpKind::cast:
      return line(depth, head + "wave.cast " + names(from) + " : " + tiles(from) + to);
    case OpKind::broadcast:
      return line(depth, head + "wave.broadcast " + names(from) + " : " + tiles(from) + to);
    case OpKind::permute:
      return line(depth, head + "wave.permute " + names(from) + " : " + tiles(from) + to);
    case OpKind::selfIndex:
      return line(depth, head + "wave.self_index " + quoted(op.dim) + " : " + tile(op.results[0]));
    case OpKind::applyExpr:
      return line(depth, head + "wave.apply_expr " + inner(*op.formula) + " " + names(from) + " : " +
                             function(from, op.results));
    case OpKind::reduce:
      return line(depth, head + "wave.reduce " + op.word + " " + name(from[0]) +
                             (from.size() > 1 ? " init " + name(from[1]) : "") + " along " + quoted(op.dim) + " : " +
                             function(from, op.results));
    case OpKind::scan:
      return line(depth, head + "wave.scan " + op.word + " " + name(from[0]) +
                             (from.size() > 1 ? " init " + name(from[1]) + " : " + tile(from[1]) : "") + " along " +
                             quoted(op.dim) + " : " + tile(from[0]) + to);
    case OpKind::argReduce:
      return line(depth, names(op.results) + " = wave.arg_reduce " + op.word + " " + name(from[0]) +
                             (from.size() > 1 ? " init " + name(from[1]) + ", " + name(from[2]) : "") + " along " +
                             quoted(op.dim) + " : " + function(from, op.results));
    case OpKind::sort:
      return line(depth, names(op.results) + " = wave.sort " + op.word + " " + name(from[0]) +
                             (from.size() > 1 ? " with " + name(from[1]) : "") + " along " + quoted(op.dim) + " into " +
                             quoted(op.into.empty() ? op.dim : op.into) + " : " + function(from, op.results));
    case OpKind::rearrange:
      return rearrange(op, depth);
    case OpKind::concatenate:
      return line(depth, head + "wave.concatenate " + names(from) + " along [" + join(op.along, quoted) + "] into " +
                             quoted(op.dim) + " : " + function(from, op.results));
    case OpKind::bitcast:
      return line(depth, head + "wave.bitcast " + names(from) + " : " + tiles(from) + to);
    case OpKind::shuffle:
      return line(
          depth,
          head + "wave.shuffle " + op.word + " " + name(from[0]) +
              (from.size() > 1 ? " from " + name(from[1]) + " : " + tile(from[1]) : "") + " along " + quoted(op.dim) +
              (from.size() > 1 ? "" : " {offset = " + std::to_string(static_cast<int64_t>(op.number)) + " : i64}") +
              " : " + tile(from[0]) + to);
    case OpKind::prefetch:
      return prefetch(op, depth);
    case OpKind::mma: {
      std::vector<int> factors(from.begin(), from.begin() + 3), scales(from.begin() + 3, from.end());
      std::string scaled = scales.empty() ? "" : " scaled " + names(scales) + " : " + tiles(scales);
      return line(depth, head + "wave.mma " + names(factors) + scaled +
                             (op.word.empty() ? "" : " {kind = \"" + op.word + "\"}") + " : " + tiles(factors));
    }
    case OpKind::print:
      return line(depth, head + "wave.print " + quoted(op.word) + " " + names(from) + " : " + tiles(from) + to);
    case OpKind::hint:
      return line(depth, op.word);
    case OpKind::barrier:
      return line(depth, "wave.barrier");
    case OpKind::wait:
      return line(depth, "wave.wait " + op.word + ", " + std::to_string(static_cast<int64_t>(op.number)));
    case OpKind::indexOf:
      return line(depth, numberName(op.word) + " = wave.index_of " + name(from[0]) + " : " + tile(from[0]));
    case OpKind::exit: {
      Formula condition = *op.formula;
      std::string symbols = bind({&condition}, depth);
      return line(depth, "wave.while " + inner(condition) + symbols);
    }
    case OpKind::iterate:
      return loop(op, depth);
    case OpKind::conditional:
      return branch(op, depth);
    }
  }

  std::string resultNames(const Op &op) const { return op.results.empty() ? "" : names(op.results) + " = "; }
  void yield(const Block &each, int depth) {
    if (!each.yields.empty())
      line(depth, "wave.yield " + names(each.yields) + " : " + tiles(each.yields));
  }

  /// The value of a number from data: `%n7` of `$DATA7`.
  static std::string numberName(const std::string &symbol) { return "%n" + symbol.substr(5); }

  /// Formulas speak of workgroups and iterations through index values: `<"mod($0, 2)"> [%wg1]`. Changes the formulas
  /// and returns the list of values.
  std::string bind(const std::vector<Formula *> &formulas, int depth) {
    std::map<std::string, std::string> values;
    std::vector<std::string> used;
    auto numbered = [&](const std::string &value) {
      auto known = std::ranges::find(used, value);
      auto k = static_cast<size_t>(known - used.begin());
      if (known == used.end())
        used.push_back(value);
      return Formula::symbol("$" + std::to_string(k));
    };
    auto bound = [&](const std::string &name) {
      for (size_t i = axes.size(); i-- > 0;)
        if (name == "$ARG_" + axes[i])
          return numbered("%i" + std::to_string(i));
      if (name.starts_with("$DATA"))
        return numbered(numberName(name));
      if (!name.starts_with("$WG"))
        return Formula::symbol(name);
      if (!values.contains(name)) {
        values[name] = "%wg" + std::to_string(ids++);
        line(depth, values[name] + " = wave.workgroup_id " + name.substr(3));
      }
      return numbered(values[name]);
    };
    for (Formula *formula : formulas)
      *formula = substitute(*formula, bound);
    return used.empty() ? "" : " [" + join(used, [](const std::string &name) { return name; }) + "]";
  }
  /// The same for all formulas of an access.
  std::string bindAccess(Op &op, int depth) {
    std::vector<Formula *> formulas;
    if (op.indices)
      for (Formula &index : *op.indices)
        formulas.push_back(&index);
    if (op.bounds)
      for (std::optional<Formula> &bound : *op.bounds)
        if (bound)
          formulas.push_back(&*bound);
    return bind(formulas, depth);
  }
  void access(Op op, int depth) {
    std::string symbols = bindAccess(op, depth), memoryName = "%m" + std::to_string(op.memory);
    const std::vector<int> &from = op.operands;
    if (op.kind == OpKind::read)
      return line(depth, name(op.results[0]) + " = wave.read " + memoryName + symbols + usingValues(from) +
                             attributes(op) + " : " + memoryType(memory(op)) + " -> " + tile(op.results[0]));
    bool isAtomic = op.kind == OpKind::atomic;
    std::string head = isAtomic ? name(op.results[0]) + " = wave.atomic " + op.word + " " : "wave.write ";
    bool isCas = isAtomic && op.word == "cas";
    std::string expected = isCas ? " expecting " + name(from[1]) + " : " + tile(from[1]) : "";
    std::vector<int> dynamic(from.begin() + (isCas ? 2 : 1), from.end());
    line(depth, head + name(from[0]) + expected + ", " + memoryName + symbols + usingValues(dynamic) + attributes(op) +
                    " : " + tile(from[0]) + ", " + memoryType(memory(op)) +
                    (isAtomic ? " -> " + tile(op.results[0]) : ""));
  }

  void rearrange(Op op, int depth) {
    std::string symbols = bindAccess(op, depth);
    line(depth, name(op.results[0]) + " = wave.rearrange " + name(op.operands[0]) + symbols +
                    (op.indices ? " {indices = [" + join(*op.indices, expression) + "]}" : "") + " : " +
                    tile(op.operands[0]) + " -> " + tile(op.results[0]));
  }
  void prefetch(Op op, int depth) {
    std::string symbols = bindAccess(op, depth);
    auto same = [](const std::string &text) { return text; };
    line(depth, "wave.prefetch %m" + std::to_string(op.memory) + symbols +
                    (op.indices ? " {indices = [" + join(*op.indices, expression) + "]}" : "") + " : " +
                    memoryType(memory(op)) + " -> !wave.tile<[" + join(op.along, same) + "], " +
                    std::string(formatOf(memory(op).type).name) + ">");
  }

  void loop(const Op &op, int depth) {
    std::string count;
    if (op.formula) {
      Formula times = *op.formula;
      std::string symbols = bind({&times}, depth);
      count = symbols + " {count = " + expression(times) + "}";
    }
    line(depth, resultNames(op) + "wave.iterate " + quoted(op.word) + " (" + names(op.operands) + ")" + count + " : (" +
                    tiles(op.operands) + ") -> (" + tiles(op.results) + ") {");
    line(depth,
         "^bb0(%i" + std::to_string(axes.size()) + ": index" +
             join(
                 op.blocks[0].arguments, [&](int value) { return ", " + name(value) + ": " + tile(value); }, "") +
             "):");
    axes.push_back(op.word);
    block(op.blocks[0], depth + 1);
    yield(op.blocks[0], depth + 1);
    axes.pop_back();
    line(depth, "}");
  }

  void branch(const Op &op, int depth) {
    Formula condition = *op.formula;
    std::string symbols = bind({&condition}, depth);
    line(depth, resultNames(op) + "wave.conditional " + inner(condition) + symbols +
                    (op.results.empty() ? "" : " -> " + tiles(op.results)) + " {");
    block(op.blocks[0], depth + 1);
    yield(op.blocks[0], depth + 1);
    line(depth, "} else {");
    if (op.blocks.size() > 1)
      block(op.blocks[1], depth + 1);
    if (op.blocks.size() > 1)
      yield(op.blocks[1], depth + 1);
    line(depth, "}");
  }

  const Program &program;
  const std::string &target;
  std::ostringstream out;
  /// Of the loops around, outer ones first; their numbers name the values that count iterations.
  std::vector<std::string> axes;
  int ids = 0;
};
} // namespace

std::string print(const Program &program, const std::string &target) {
  Program own = forTarget(program, target);
  return Printer(own, target).run();
}

} // namespace soliton::generate
