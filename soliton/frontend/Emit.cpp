#include "soliton/frontend/Emit.h"

#include "soliton/frontend/Tracer.h"
#include "soliton/ir/Forms.h"
#include "soliton/ir/Wave.h"

using namespace soliton;
using namespace soliton::frontend;

namespace {

/// Builds one `wave.kernel` from a program without mistakes.
class Emitter {
public:
  Emitter(const Program &program, const Bindings &bindings, mlir::MLIRContext &context)
      : program(program), bindings(bindings), context(&context), builder(&context), values(program.values.size()) {}

  mlir::OwningOpRef<mlir::ModuleOp> run() {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(location(program.place));
    builder.setInsertionPointToEnd(module->getBody());
    wave::KernelOp kernel = emitKernelOp();
    emitParameters(kernel);
    emitRegion(0);
    return module;
  }

private:
  //===- Attributes, types, locations -------------------------------------------------===//

  mlir::Location location(const Place &place) {
    if (!place.known())
      return builder.getUnknownLoc();
    return mlir::FileLineColLoc::get(context, place.file, place.line, place.column);
  }

  mlir::Location location(const Place &place, const std::string &name) {
    mlir::Location loc = location(place);
    return name.empty() ? loc : mlir::NameLoc::get(builder.getStringAttr(name), loc);
  }

  /// The place of an op, with the name of its result.
  mlir::Location location(const OpRecord &op) {
    return location(op.place, op.results.size() == 1 ? program.values[op.results[0]].name : std::string());
  }

  wave::ExprAttr attr(Expr expr) { return wave::exprAttr(context, expr); }
  wave::ExprAttr attr(const std::optional<Expr> &expr) { return expr ? attr(*expr) : wave::ExprAttr(); }
  mlir::StringAttr nameOf(Expr dim) { return builder.getStringAttr(sym::toString(dim)); }
  mlir::Type type(ElementType element) { return wave::mlirType(context, bindings.resolve(element)); }

  wave::TileType type(const TileInfo &tile) {
    llvm::SmallVector<mlir::StringAttr> dims;
    for (Expr dim : tile.dims)
      dims.push_back(nameOf(dim));
    return wave::TileType::get(context, dims, type(tile.type), wave::LayoutAttr());
  }

  wave::MemoryType type(const Parameter &memory) {
    llvm::SmallVector<wave::ExprAttr> shape, strides;
    for (Expr extent : memory.shape)
      shape.push_back(attr(extent));
    for (Expr stride : memory.strides)
      strides.push_back(attr(stride));
    bool isShared = memory.space == Expr(shared);
    if (auto bound = bindings.spaces.find(std::string(memory.space.symbolName())); bound != bindings.spaces.end())
      isShared = bound->second == AddressSpace::Shared;
    return wave::MemoryType::get(context, shape, type(memory.type),
                                 isShared ? wave::AddressSpace::Shared : wave::AddressSpace::Global,
                                 wave::SharedMapAttr(), strides);
  }

  mlir::ArrayAttr strings(const std::vector<std::string> &texts) {
    llvm::SmallVector<llvm::StringRef> refs(texts.begin(), texts.end());
    return builder.getStrArrayAttr(refs);
  }
  mlir::ArrayAttr tags(const OpRecord &op) { return op.tags.empty() ? mlir::ArrayAttr() : strings(op.tags); }

  //===- Constraints ------------------------------------------------------------------===//

  mlir::Attribute emit(const WorkgroupConstraint &c) {
    wave::ExprAttr apply;
    if (c.options.apply_fn)
      apply = attr(c.options.apply_fn(Expr::symbol("$WG")));
    return wave::WorkgroupConstraintAttr::get(context, nameOf(c.dim), attr(c.tile), c.workgroup_dim, c.options.primary,
                                              apply, attr(c.options.iters));
  }
  mlir::Attribute emit(const TilingConstraint &c) {
    // What `set_symbol` decides, the loops say themselves.
    auto fixed = [&](const std::optional<Expr> &expr) { return program.speaksOfEverSet(expr) ? std::nullopt : expr; };
    return wave::TilingConstraintAttr::get(context, nameOf(c.dim), attr(c.tile), attr(fixed(c.options.iters)),
                                           attr(fixed(c.options.start)));
  }
  mlir::Attribute emit(const WaveConstraint &c) {
    return wave::WaveConstraintAttr::get(context, nameOf(c.dim), attr(c.tile));
  }
  mlir::Attribute emit(const HardwareConstraint &c) {
    mlir::IntegerAttr threads;
    if (c.threads_per_wave)
      threads = builder.getI64IntegerAttr(*c.threads_per_wave);
    mlir::DenseI64ArrayAttr waves;
    if (!c.waves_per_block.empty())
      waves = builder.getDenseI64ArrayAttr(c.waves_per_block);
    mlir::StringAttr mma;
    if (c.mma)
      mma = builder.getStringAttr(c.mma->name);
    mlir::DictionaryAttr shapes;
    if (!c.vector_shapes.empty()) {
      llvm::SmallVector<mlir::NamedAttribute> entries;
      for (const auto &[dim, shape] : c.vector_shapes)
        entries.emplace_back(nameOf(dim), attr(shape));
      shapes = builder.getDictionaryAttr(entries);
    }
    return wave::HardwareConstraintAttr::get(context, threads, waves, mma, shapes, c.max_bits_per_load);
  }
  mlir::Attribute emit(const GridConstraint &c) { return wave::GridConstraintAttr::get(context, attr(c.size)); }
  mlir::Attribute emit(const ReorderingConstraint &c) {
    return wave::ReorderingConstraintAttr::get(context, attr(c.equation), c.workgroup_dim);
  }
  mlir::Attribute emit(const SymbolicAlias &c) {
    return wave::SymbolicAliasAttr::get(context, nameOf(c.source), nameOf(c.target),
                                        attr(c.source_to_target(Expr::symbol("$x"))));
  }
  mlir::Attribute emit(const Assumption &c) { return wave::AssumptionAttr::get(context, attr(c.predicate)); }
  /// Tracing has resolved the iterators.
  mlir::Attribute emit(const IteratorBindings &) { return {}; }
  /// Refused while tracing.
  mlir::Attribute emit(const DeviceConstraint &) { return {}; }
  /// Tracing has added what it stands for.
  mlir::Attribute emit(const Simt &) { return {}; }

  /// `K/32` has a value where `K` is a multiple of 32: a launch checks what is dynamic.
  void assumeWholeGroups(llvm::SmallVector<mlir::Attribute> &constraints) {
    std::vector<Expr> assumed;
    auto assume = [&](Expr extent) {
      std::optional<DimInfo> info = dimInfo(extent);
      bool isDynamic = info && info->divisor > 1 && info->base.isSymbol() &&
                       (llvm::is_contained(bindings.dynamic, std::string(info->base.symbolName())) ||
                        bindings.formulas.contains(std::string(info->base.symbolName())));
      if (!isDynamic || llvm::is_contained(assumed, extent))
        return;
      assumed.push_back(extent);
      constraints.push_back(wave::AssumptionAttr::get(context, attr(sym::eq(sym::mod(info->base, info->divisor), 0))));
    };
    for (const Parameter &parameter : program.parameters)
      for (Expr extent : parameter.shape)
        assume(extent);
    for (const ValueInfo &value : program.values)
      for (Expr dim : value.tile.dims)
        assume(dim);
  }

  //===- The kernel -------------------------------------------------------------------===//

  wave::KernelOp emitKernelOp() {
    std::vector<std::string> names;
    for (const Parameter &parameter : program.parameters)
      if (!parameter.isAllocated)
        names.push_back(parameter.name);
    llvm::SmallVector<mlir::Attribute> constraints;
    for (const AnyConstraint &constraint : program.constraints)
      if (mlir::Attribute attribute = std::visit([&](const auto &each) { return emit(each); }, constraint))
        constraints.push_back(attribute);
    assumeWholeGroups(constraints);
    for (Expr assumption : bindings.assumptions)
      constraints.push_back(wave::AssumptionAttr::get(context, attr(assumption)));
    llvm::SmallVector<mlir::NamedAttribute> subs;
    for (const auto &[name, value] : bindings.values)
      subs.emplace_back(builder.getStringAttr(name), builder.getI64IntegerAttr(value));
    for (const auto &[name, formula] : bindings.formulas)
      subs.emplace_back(builder.getStringAttr(name), attr(formula));
    mlir::StringAttr target;
    if (bindings.target)
      target = builder.getStringAttr(bindings.target->name);
    std::vector<std::string> stable;
    for (const Parameter &parameter : program.parameters)
      if (parameter.isStable)
        stable.push_back(parameter.name);
    auto *hardware = program.findAny<HardwareConstraint>();
    mlir::IntegerAttr service;
    if (hardware && hardware->n_service_waves > 0)
      service = builder.getI64IntegerAttr(hardware->n_service_waves);
    mlir::DenseI64ArrayAttr cluster;
    if (hardware && std::ranges::any_of(hardware->workgroups_per_cluster, [](int64_t along) { return along > 1; }))
      cluster = builder.getDenseI64ArrayAttr(hardware->workgroups_per_cluster);
    return wave::KernelOp::create(builder, location(program.place), builder.getStringAttr(program.name), strings(names),
                                  builder.getArrayAttr(constraints), builder.getDictionaryAttr(subs),
                                  strings(bindings.dynamic), static_cast<uint32_t>(Form::Traced), target,
                                  /*keep_order=*/false, /*direct_copies=*/false, /*geometry=*/nullptr,
                                  /*workspace=*/nullptr, /*staged_writes=*/false, /*raster=*/nullptr,
                                  /*short_sums=*/false, /*cluster=*/nullptr, /*writes_in_boxes=*/false,
                                  /*persistent=*/nullptr, service, /*tickets=*/false, cluster,
                                  /*dependent=*/false, stable.empty() ? mlir::ArrayAttr() : strings(stable),
                                  /*service_registers=*/nullptr, /*overlap_tiles=*/false, /*turns=*/false);
  }

  void emitParameters(wave::KernelOp kernel) {
    mlir::Block *block = builder.createBlock(&kernel.getBody());
    builder.setInsertionPointToEnd(block);
    for (const Parameter &parameter : program.parameters) {
      if (parameter.isAllocated) {
        parameters.push_back(wave::AllocateOp::create(builder, location(parameter.place, parameter.name),
                                                      type(parameter), mlir::IntegerAttr(), mlir::ArrayAttr()));
        continue;
      }
      mlir::Type argument = parameter.isScalar ? type(parameter.type) : mlir::Type(type(parameter));
      mlir::Value value = block->addArgument(argument, location(parameter.place, parameter.name));
      parameters.push_back(value);
      if (parameter.isScalar)
        values[parameter.value] = value;
    }
  }

  //===- Ops --------------------------------------------------------------------------===//

  void emitRegion(RegionId region) {
    for (uint32_t index : program.regions[region].ops)
      emitOp(program.ops[index]);
  }

  llvm::SmallVector<mlir::Value> operands(const OpRecord &op, size_t first = 0) {
    llvm::SmallVector<mlir::Value> result;
    for (size_t i = first; i < op.operands.size(); ++i)
      result.push_back(values[op.operands[i]]);
    return result;
  }
  mlir::Value operand(const OpRecord &op, size_t index) { return values[op.operands[index]]; }
  wave::TileType resultType(const OpRecord &op) { return type(program.values[op.results[0]].tile); }

  void emitTime(const OpRecord &op) {
    mlir::Location loc = location(op);
    auto number = [&](size_t i) { return op.numbers[i]; };
    if (op.kind == OpKind::wait)
      wave::WaitOp::create(builder, loc, *wave::symbolizeCounter(op.function), number(0), tags(op));
    else if (op.function == "priority")
      wave::PriorityOp::create(builder, loc, number(0), tags(op));
    else if (op.function == "sched_barrier")
      wave::SchedBarrierOp::create(builder, loc, number(0), tags(op));
    else
      wave::SchedGroupOp::create(builder, loc, number(0), number(1), number(2), tags(op));
  }

  void emitOp(const OpRecord &op) {
    mlir::Value result;
    switch (op.kind) {
    case OpKind::write:
      return emitWrite(op);
    case OpKind::barrier:
      wave::BarrierOp::create(builder, location(op), tags(op));
      return;
    case OpKind::wait:
    case OpKind::hint:
      return emitTime(op);
    case OpKind::exit: {
      llvm::SmallVector<mlir::Value> symbols;
      wave::ExprAttr condition = bound(op.expr, symbols);
      wave::WhileOp::create(builder, location(op), condition, symbols, tags(op));
      return;
    }
    case OpKind::indexOf:
      numbers[op.expr.symbolName()] = wave::IndexOfOp::create(builder, location(op), builder.getIndexType(),
                                                              operand(op, 0), tags(op), /*origin=*/nullptr);
      return;
    case OpKind::iterate:
      return emitIterate(op);
    case OpKind::conditional:
      return emitConditional(op);
    case OpKind::read:
      result = emitRead(op);
      break;
    case OpKind::atomic:
      result = emitAtomic(op);
      break;
    case OpKind::fill:
    case OpKind::splat:
    case OpKind::selfIndex:
    case OpKind::applyExpr:
      result = emitSource(op);
      break;
    case OpKind::argReduce:
      return emitArgReduce(op);
    case OpKind::shuffle:
      result = emitShuffle(op);
      break;
    case OpKind::sort:
      return emitSort(op);
    case OpKind::prefetch:
      return emitPrefetch(op);
    case OpKind::rearrange:
    case OpKind::concatenate:
    case OpKind::print:
      result = emitMoved(op);
      break;
    case OpKind::mma:
    case OpKind::reduce:
    case OpKind::scan:
      result = emitContraction(op);
      break;
    case OpKind::unary:
    case OpKind::binary:
    case OpKind::compare:
    case OpKind::select:
      result = emitElementwise(op);
      break;
    case OpKind::cast:
    case OpKind::bitcast:
    case OpKind::broadcast:
    case OpKind::permute:
      result = emitView(op);
      break;
    }
    values[op.results[0]] = result;
  }

  /// What `read` and `write` have in common.
  struct AccessAttrs {
    mlir::IntegerAttr elementsPerThread;
    mlir::ArrayAttr indices, bounds;
    llvm::SmallVector<mlir::Value> symbols;
  };
  AccessAttrs accessAttrs(const OpRecord &op) {
    AccessAttrs attrs;
    if (op.elementsPerThread)
      attrs.elementsPerThread = builder.getI64IntegerAttr(*bindings.evaluate(*op.elementsPerThread));
    auto list = [&](const auto &exprs) {
      llvm::SmallVector<mlir::Attribute> entries;
      for (const auto &each : exprs) {
        std::optional<Expr> expr = each;
        entries.push_back(expr ? mlir::Attribute(bound(*expr, attrs.symbols))
                               : builder.getStringAttr(wave::kUnbounded));
      }
      return builder.getArrayAttr(entries);
    };
    if (op.indices)
      attrs.indices = list(*op.indices);
    if (op.bounds)
      attrs.bounds = list(*op.bounds);
    return attrs;
  }

  /// The value that one of the machine's own symbols stands for at this place: a workgroup's number, or the iteration
  /// of the innermost loop along an axis.
  mlir::Value indexValue(llvm::StringRef name) {
    int64_t dim = 0;
    if (name.consume_front("$WG") && !name.getAsInteger(10, dim) && dim < wave::kMaxGridDims)
      return wave::WorkgroupIdOp::create(builder, builder.getUnknownLoc(), builder.getIndexType(),
                                         builder.getI64IntegerAttr(dim));
    if (auto number = numbers.find(name); number != numbers.end())
      return number->second;
    if (name.consume_front("$ARG_"))
      for (wave::IterateOp loop : llvm::reverse(loops))
        if (loop.getAxis() == name)
          return loop.iteration();
    return {};
  }

  /// The expression with such symbols bound to operands.
  wave::ExprAttr bound(Expr expr, llvm::SmallVector<mlir::Value> &operands) {
    sym::Substitution positions;
    for (Expr symbol : sym::symbolsOf(expr))
      if (mlir::Value value = indexValue(symbol.symbolName())) {
        positions.set(symbol, wave::operandSymbol(operands.size()));
        operands.push_back(value);
      }
    return attr(sym::substitute(expr, positions));
  }

  mlir::Value emitRead(const OpRecord &op) {
    AccessAttrs attrs = accessAttrs(op);
    return wave::ReadOp::create(builder, location(op), resultType(op), parameters[op.memory], operands(op),
                                attrs.symbols, attrs.elementsPerThread, attrs.indices, /*starts=*/nullptr, attrs.bounds,
                                /*guards=*/nullptr, tags(op), /*origin=*/nullptr, /*buffer=*/nullptr,
                                /*matrixLoad=*/nullptr);
  }

  void emitWrite(const OpRecord &op) {
    AccessAttrs attrs = accessAttrs(op);
    wave::WriteOp::create(builder, location(op), operand(op, 0), parameters[op.memory], operands(op, op.firstDynamic),
                          attrs.symbols, attrs.elementsPerThread, attrs.indices, /*starts=*/nullptr, attrs.bounds,
                          /*guards=*/nullptr, tags(op), /*origin=*/nullptr, /*buffer=*/nullptr);
  }

  mlir::Value emitAtomic(const OpRecord &op) {
    AccessAttrs attrs = accessAttrs(op);
    return wave::AtomicOp::create(builder, location(op), resultType(op), *wave::symbolizeAtomicKind(op.function),
                                  operand(op, 0), op.firstDynamic == 2 ? operand(op, 1) : mlir::Value(),
                                  parameters[op.memory], operands(op, op.firstDynamic), attrs.symbols,
                                  attrs.elementsPerThread, attrs.indices, /*starts=*/nullptr, attrs.bounds,
                                  /*guards=*/nullptr, tags(op), /*origin=*/nullptr, /*buffer=*/nullptr);
  }

  mlir::TypedAttr constant(const OpRecord &op) {
    mlir::Type element = resultType(op).getElementType();
    const double *real = std::get_if<double>(&op.constant);
    int64_t integer = real ? 0 : std::get<int64_t>(op.constant);
    if (llvm::isa<mlir::FloatType>(element))
      return builder.getFloatAttr(element, real ? *real : static_cast<double>(integer));
    return builder.getIntegerAttr(element, real ? static_cast<int64_t>(*real) : integer);
  }

  mlir::Value emitSource(const OpRecord &op) {
    mlir::Location loc = location(op);
    wave::TileType result = resultType(op);
    if (op.kind == OpKind::fill)
      return wave::FillOp::create(builder, loc, result, constant(op), tags(op), nullptr);
    if (op.kind == OpKind::splat)
      return wave::SplatOp::create(builder, loc, result, operand(op, 0), tags(op), nullptr);
    if (op.kind == OpKind::selfIndex)
      return wave::SelfIndexOp::create(builder, loc, result, nameOf(op.expr), mlir::ValueRange(), nullptr, tags(op),
                                       nullptr);
    llvm::SmallVector<mlir::Value> symbols;
    wave::ExprAttr expr = bound(op.expr, symbols);
    return wave::ApplyExprOp::create(builder, loc, result, expr, operands(op), symbols, tags(op), nullptr);
  }

  mlir::Value emitContraction(const OpRecord &op) {
    mlir::Location loc = location(op);
    if (op.kind == OpKind::mma) {
      mlir::StringAttr kind = op.mma ? builder.getStringAttr(*op.mma) : mlir::StringAttr();
      return wave::MmaOp::create(builder, loc, resultType(op), operand(op, 0), operand(op, 1), operand(op, 2),
                                 operands(op, 3), kind, tags(op), nullptr);
    }
    wave::ReduceKind kind = *wave::symbolizeReduceKind(op.function);
    mlir::Value init = op.hasInit ? operand(op, 1) : mlir::Value();
    if (op.kind == OpKind::scan)
      return wave::ScanOp::create(builder, loc, resultType(op), kind, operand(op, 0), init, mlir::Value(),
                                  mlir::ValueRange(), nameOf(op.expr), nullptr, tags(op), nullptr);
    return wave::ReduceOp::create(builder, loc, resultType(op), kind, operand(op, 0), init, mlir::ValueRange(),
                                  nameOf(op.expr), nullptr, tags(op), nullptr);
  }

  mlir::Value emitShuffle(const OpRecord &op) {
    wave::ShuffleMode mode = *wave::symbolizeShuffleMode(op.function);
    bool takesIndex = mode == wave::ShuffleMode::idx;
    return wave::ShuffleOp::create(builder, location(op), resultType(op), mode, operand(op, 0),
                                   takesIndex ? operand(op, 1) : mlir::Value(),
                                   takesIndex ? nullptr : builder.getI64IntegerAttr(std::get<int64_t>(op.constant)),
                                   nameOf(op.expr), tags(op), nullptr);
  }

  void emitArgReduce(const OpRecord &op) {
    auto found = wave::ArgReduceOp::create(
        builder, location(op), type(program.values[op.results[0]].tile), type(program.values[op.results[1]].tile),
        *wave::symbolizeExtremeKind(op.function), operand(op, 0), operands(op, 1), nameOf(op.expr), tags(op), nullptr);
    values[op.results[0]] = found.getValue();
    values[op.results[1]] = found.getIndex();
  }

  void emitSort(const OpRecord &op) {
    llvm::SmallVector<mlir::Type> types;
    for (ValueId id : op.results)
      types.push_back(type(program.values[id].tile));
    auto sorted =
        wave::SortOp::create(builder, location(op), types, *wave::symbolizeSortOrder(op.function), operand(op, 0),
                             operands(op, 1), nameOf(op.expr), nameOf(op.dims[0]), tags(op), /*origin=*/nullptr);
    for (auto [id, result] : llvm::zip(op.results, sorted.getResults()))
      values[id] = result;
  }

  void emitPrefetch(const OpRecord &op) {
    AccessAttrs attrs = accessAttrs(op);
    mlir::Value memory = parameters[op.memory];
    // What is staged in shared memory is fetched by then.
    if (llvm::cast<wave::MemoryType>(memory.getType()).isShared())
      return;
    wave::PrefetchOp::create(builder, location(op), memory, attrs.symbols,
                             type(TileInfo{op.dims, program.parameters[op.memory].type}), attrs.indices,
                             /*starts=*/nullptr, tags(op));
  }

  mlir::Value emitMoved(const OpRecord &op) {
    if (op.kind == OpKind::print)
      return wave::PrintOp::create(builder, location(op), resultType(op), builder.getStringAttr(op.label),
                                   operand(op, 0), mlir::ValueRange(), /*starts=*/nullptr, tags(op),
                                   /*origin=*/nullptr);
    if (op.kind == OpKind::rearrange) {
      AccessAttrs attrs = accessAttrs(op);
      return wave::RearrangeOp::create(builder, location(op), resultType(op), operand(op, 0), attrs.symbols,
                                       attrs.indices, tags(op), /*origin=*/nullptr);
    }
    llvm::SmallVector<mlir::Attribute> along;
    for (Expr dim : op.dims)
      along.push_back(nameOf(dim));
    return wave::ConcatenateOp::create(builder, location(op), resultType(op), operands(op), builder.getArrayAttr(along),
                                       nameOf(op.expr), tags(op), /*origin=*/nullptr);
  }

  mlir::Value emitElementwise(const OpRecord &op) {
    mlir::Location loc = location(op);
    wave::TileType result = resultType(op);
    if (op.kind == OpKind::unary)
      return wave::UnaryOp::create(builder, loc, result, *wave::symbolizeUnaryKind(op.function), operand(op, 0),
                                   tags(op), nullptr);
    if (op.kind == OpKind::binary)
      return wave::BinaryOp::create(builder, loc, result, *wave::symbolizeBinaryKind(op.function), operand(op, 0),
                                    operand(op, 1), tags(op), nullptr);
    if (op.kind == OpKind::compare)
      return wave::CompareOp::create(builder, loc, result, *wave::symbolizeComparePredicate(op.function),
                                     operand(op, 0), operand(op, 1), tags(op), nullptr);
    return wave::SelectOp::create(builder, loc, result, operand(op, 0), operand(op, 1), operand(op, 2), tags(op),
                                  nullptr);
  }

  mlir::Value emitView(const OpRecord &op) {
    mlir::Location loc = location(op);
    wave::TileType result = resultType(op);
    // `f8` and the target's own type are one type once resolved.
    if (operand(op, 0).getType() == result)
      return operand(op, 0);
    if (op.kind == OpKind::cast)
      return wave::CastOp::create(builder, loc, result, operand(op, 0), tags(op), nullptr);
    if (op.kind == OpKind::bitcast)
      return wave::BitcastOp::create(builder, loc, result, operand(op, 0), tags(op), nullptr);
    if (op.kind == OpKind::broadcast)
      return wave::BroadcastOp::create(builder, loc, result, operand(op, 0), tags(op), nullptr);
    return wave::PermuteOp::create(builder, loc, result, operand(op, 0), tags(op), nullptr);
  }

  void emitIterate(const OpRecord &op) {
    const Region &region = program.regions[op.body];
    llvm::SmallVector<mlir::Type> types;
    llvm::SmallVector<mlir::Location> locations;
    for (ValueId id : region.arguments) {
      types.push_back(type(program.values[id].tile));
      locations.push_back(location(program.values[id].place, program.values[id].name));
    }
    llvm::SmallVector<mlir::Value> symbols;
    std::optional<Expr> counted = op.count;
    // Where a constraint counts by symbols that are set elsewhere, this loop takes them as they are bound.
    auto *tiling = program.findFor<TilingConstraint>(op.expr);
    if (!counted && tiling && program.speaksOfEverSet(tiling->options.iters))
      counted = tiling->options.iters;
    wave::ExprAttr count = counted ? bound(*counted, symbols) : nullptr;
    auto loop =
        wave::IterateOp::create(builder, location(op), types, nameOf(op.expr), operands(op), symbols, count, tags(op));
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&loop.makeBody());
    for (auto [id, argument, place] : llvm::zip(region.arguments, loop.carried(), locations)) {
      argument.setLoc(place);
      values[id] = argument;
    }
    loops.push_back(loop);
    emitRegion(op.body);
    loops.pop_back();
    llvm::SmallVector<mlir::Value> yields;
    for (ValueId id : region.yields)
      yields.push_back(values[id]);
    wave::YieldOp::create(builder, location(region.place), yields);
    for (auto [id, result] : llvm::zip(op.results, loop.getResults()))
      values[id] = result;
  }

  void emitConditional(const OpRecord &op) {
    llvm::SmallVector<mlir::Type> types;
    for (ValueId id : op.results)
      types.push_back(type(program.values[id].tile));
    llvm::SmallVector<mlir::Value> symbols;
    wave::ExprAttr condition = bound(op.expr, symbols);
    auto conditional = wave::ConditionalOp::create(builder, location(op), types, condition, symbols);
    conditional.setTagsAttr(tags(op));
    for (auto [region, block] :
         {std::pair(op.body, &conditional.thenBlock()), {op.otherwise, &conditional.elseBlock()}}) {
      mlir::OpBuilder::InsertionGuard guard(builder);
      block->clear();
      builder.setInsertionPointToEnd(block);
      emitRegion(region);
      llvm::SmallVector<mlir::Value> yields;
      for (ValueId id : program.regions[region].yields)
        yields.push_back(values[id]);
      wave::YieldOp::create(builder, location(program.regions[region].place), yields);
    }
    for (auto [id, result] : llvm::zip(op.results, conditional.getResults()))
      values[id] = result;
  }

  const Program &program;
  const Bindings &bindings;
  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  llvm::SmallVector<mlir::Value> parameters;
  std::vector<mlir::Value> values;
  /// What data say, by symbol.
  llvm::StringMap<mlir::Value> numbers;
  /// The loops around the place, outermost first.
  std::vector<wave::IterateOp> loops;
};

bool hasErrors(const std::vector<Diagnostic> &diagnostics) {
  return llvm::any_of(diagnostics, [](const Diagnostic &each) { return each.severity == Severity::error; });
}

void checkEffect(const Program &program, std::vector<Diagnostic> &diagnostics) {
  for (const OpRecord &op : program.ops)
    if ((op.kind == OpKind::write || op.kind == OpKind::atomic) && !program.parameters[op.memory].isAllocated)
      return;
  diagnostics.push_back({Severity::error,
                         DiagId::KernelWritesNothing,
                         program.place,
                         "kernel " + quoted(program.name) + " writes nothing, expected at least one `write`",
                         "write its result to a memory",
                         {}});
}

} // namespace

EmittedKernel soliton::emitKernel(const Kernel &kernel, mlir::MLIRContext &context, const EmitOptions &options) {
  sym::ThrowMistakes scope;
  const Program &program = *kernel.program();
  EmittedKernel result{.module = {}, .diagnostics = program.diagnostics};
  // A write that was refused is no missing write.
  if (!hasErrors(result.diagnostics)) {
    checkEffect(program, result.diagnostics);
    checkSplitBarriers(program, result.diagnostics);
  }
  Bindings bindings = bindProgram(program, options, result.diagnostics);
  if (hasErrors(result.diagnostics))
    return result;
  context.loadDialect<wave::WaveDialect>();
  result.module = Emitter(program, bindings, context).run();
  return result;
}
