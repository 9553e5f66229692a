//===- BindSymbols.cpp - From symbols to what this compilation means by them ---===//
//
//   wave.iterate "K" (%0)                becomes   wave.iterate "K" (%0) {count = #wave.expr<"32">}
//   !wave.memory<["M", "K"], f16, …>     becomes   !wave.memory<["1024", "K"], f16, …>      (K is dynamic)
//   wave.mma %a, %b, %c                  becomes   wave.mma … {kind = "F32_16x16x16_F16"}
//
// Ids of workgroups move to the front.
//
//===----------------------------------------------------------------------===//

#include "soliton/transforms/Passes.h"

#include "soliton/analysis/InPlace.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"

#include "mlir/IR/AttrTypeSubElements.h"

namespace soliton {
#define GEN_PASS_DEF_BINDSYMBOLSPASS
#include "soliton/transforms/Passes.h.inc"
using namespace wave;

/// Whether all that the op's expressions speak of has a value: its operands, sizes, and what the op itself defines.
static LogicalResult checkExpressions(IndexedOpInterface op, std::string what) {
  auto dynamic = op->getParentOfType<KernelOp>().getDynamic().getAsValueRange<StringAttr>();
  auto subs = op->getParentOfType<KernelOp>().getSubs();
  std::optional<std::string> unbound;
  auto isKnown = [&](StringRef name) {
    return name.starts_with("$index") || name.starts_with("$dynamic_val") || name.starts_with("$APPLY_EXPR_ARG_") ||
           (name.starts_with("$") && llvm::all_of(name.drop_front(), llvm::isDigit)) || subs.contains(name) ||
           llvm::is_contained(dynamic, name);
  };
  mlir::AttrTypeWalker walker;
  walker.addWalk([&](ExprAttr expr) {
    for (sym::Expr symbol : sym::symbolsOf(expr.getValue()))
      if (!isKnown(StringRef(symbol.symbolName())))
        unbound = symbol.symbolName();
  });
  for (mlir::NamedAttribute attribute : op->getAttrs())
    walker.walk(attribute.getValue());
  if (!unbound)
    return success();
  return report(op.getLoc(), DiagId::SymbolUnbound).hint("bind it in `subs` or list it among the dynamic symbols")
         << what << " `" << *unbound << "`, which has no value";
}

static LogicalResult bindCount(IterateOp loop, const Geometry &geometry) {
  const Distribution &axis = geometry[Dim(loop.getAxis().str())];
  bool isAuthors = loop.getCount().has_value();
  if (!isAuthors && !axis.loopTile)
    return report(loop.getLoc(), DiagId::IterateWithoutTiling)
               .hint("add `TilingConstraint(" + loop.getAxis().str() + ", …)` to the kernel's constraints")
           << "a loop walks `" << loop.getAxis() << "`, which has no tiling constraint";
  OperandBinder binder(geometry.symbols());
  sym::Expr count = isAuthors ? geometry.named(*loop.getCount(), loop.getSymbols()) : axis.loopCount;
  loop.setCountAttr(binder.bind(sym::simplify(count, geometry.facts())));
  loop.getSymbolsMutable().assign(binder.operands());
  return checkExpressions(loop, "the iterations over `" + loop.getAxis().str() + "` mention");
}

/// Elements of a dimension that one wave contracts or computes at a time.
static int64_t wavePart(StringAttr dim, bool loop, const Geometry &geometry) {
  const Distribution &distribution = geometry[Dim(dim.getValue().str())];
  return loop && distribution.waves == 1 ? distribution.tile().value_or(0) : distribution.waveTile;
}

/// `F32_64xNx16_F16` names a family: the widest of them of whose columns a wave has a whole number.
static std::string inFamily(std::string name, int64_t columns) {
  constexpr int64_t kStep = 8, kMost = 256;
  size_t at = name.find("xNx");
  for (int64_t width = kMost; at != std::string::npos && width > 0; width -= kStep)
    if (columns > 0 && columns % width == 0)
      return name.replace(at + 1, 1, std::to_string(width));
  return name;
}

/// The instruction that was named; otherwise the target's favourite among those that fit the tiles.
static MmaChoice chooseMma(MmaOp mma, const std::optional<std::string> &name, MmaTypes types,
                           const Geometry &geometry) {
  MmaChoice named = selectMma(geometry.target(), name ? std::optional<std::string_view>(*name) : std::nullopt, types);
  if (!named || named.kind->name == name)
    return named;
  auto fits = [&](const MmaKind *kind) {
    return !kind->async && wavePart(mma.getRowDim(), false, geometry) % kind->m == 0 &&
           wavePart(mma.getColumnDim(), false, geometry) % kind->n == 0 &&
           wavePart(mma.getContractedDim(), true, geometry) % kind->k == 0;
  };
  for (const MmaKind *kind : legalMmas(geometry.target(), types))
    if (fits(kind))
      return {kind, std::nullopt};
  return named;
}

static LogicalResult notMultiple(MmaOp mma, StringAttr dim, int64_t tile, int64_t size, const MmaKind &kind) {
  return report(mma.getLoc(), DiagId::TileNotMultipleOfMma)
             .hint("choose a tile of `" + dim.getValue().str() + "` that is a multiple of " + std::to_string(size))
         << "a wave has " << tile << " elements of `" << dim.getValue() << "`, `" << kind.name << "` takes " << size
         << " at a time";
}

/// No four consecutive waves have the instruction's rows, along the sum's rows or along its columns.
static LogicalResult noWaveGroups(MmaOp mma, const MmaKind &kind, const Geometry &geometry) {
  Dim row(mma.getRowDim().getValue().str()), column(mma.getColumnDim().getValue().str()),
      depth(mma.getContractedDim().getValue().str());
  std::string each = std::to_string(rowsPerWave(kind)), count = std::to_string(kind.waves);
  return report(mma.getLoc(), DiagId::MmaWaveGroup)
             .hint("put `" + row.name() + "` on workgroup dimension 0 with a wave constraint of " + each +
                   ", a multiple of " + std::to_string(kind.m) + " rows a workgroup, and share `" + depth.name() +
                   "` among no waves; where there are few rows, give `" + column.name() + "` such waves and `" +
                   row.name() + "` one")
         << "`" << kind.name << "` is issued by " << count << " consecutive waves of " << each << " rows each; here "
         << geometry[row].waves << " waves along `" << row.name() << "` have " << geometry[row].waveTile
         << " rows each, and " << geometry[column].waves << " along `" << column.name() << "` "
         << geometry[column].waveTile << " columns"
         << (geometry[depth].waves > 1 ? ", and waves share `" + depth.name() + "`" : "");
}

/// Whether its instruction reads factors by itself. One that is bound later may still have the name of a family, which
/// is no instruction: what they share is asked for again then.
static bool isBoundInPlace(MmaOp mma, const Target &target) {
  auto element = [](Value value) { return *dtypeOf(cast<TileType>(value.getType()).getElementType()); };
  MmaChoice bound = selectMma(target, std::string_view(*mma.getKind()),
                              {element(mma.getLhs()), element(mma.getRhs()), element(mma.getAcc()), mma.isScaled()});
  return bound && readsInPlace(*bound.kind);
}

/// A parameter of the global space of which nothing but factors of such instructions is read joins the shared space:
/// its tiles take no registers then, and come in whole rows.
static void stageFactor(Value factor, const Geometry &geometry) {
  auto read = factor.getDefiningOp<ReadOp>();
  auto parameter = read ? dyn_cast<BlockArgument>(read.getMemory()) : BlockArgument();
  if (!parameter)
    return;
  auto isFactor = [&](mlir::OpOperand &use) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    return mma && mma.getKind() && use.getOperandNumber() < 2 && isBoundInPlace(mma, geometry.target());
  };
  bool only = llvm::all_of(parameter.getUsers(), [&](Operation *user) {
    auto each = dyn_cast<ReadOp>(user);
    return each && each.getDynamicValues().empty() && llvm::all_of(each->getUses(), isFactor);
  });
  if (only)
    parameter.setType(cast<MemoryType>(parameter.getType()).inSpace(AddressSpace::Shared));
}

/// The instruction takes its right factor as a whole tile of shared memory, which is what is read of parameters in the
/// shared space. Lanes may hold the left one.
static LogicalResult checkFactors(MmaOp mma, const MmaKind &kind, InPlaceRows rows) {
  auto isTile = [](Value factor) {
    auto read = factor.getDefiningOp<ReadOp>();
    return read && mayStayInPlace(read);
  };
  // Of exchanged operands the left one is the instruction's right one.
  if (isTile(mma.getRhs()) && (rows == InPlaceRows::left || isTile(mma.getLhs())))
    return success();
  return report(mma.getLoc(), DiagId::MmaOperandInRegisters)
             .hint("read it from a memory in the shared space, without dynamic values, or leave `mma` "
                   "out to get the target's default")
         << "`" << kind.name
         << "` reads its right factor from shared memory by itself, and this one is no tile that is "
         << "read of a parameter there";
}

/// What a short accumulator adds up before the sum goes on in f32 is one tile.
static LogicalResult checkShortSum(MmaOp mma, const MmaKind &kind, const Geometry &geometry) {
  StringAttr dim = mma.getContractedDim();
  int64_t depth = wavePart(dim, /*loop=*/true, geometry);
  if (kind.sumBits == 0 || depth <= kShortSum || mma->getParentOfType<KernelOp>().getShortSums())
    return success();
  std::string most = std::to_string(kShortSum);
  return report(mma.getLoc(), DiagId::NotSupportedHere)
             .hint("choose a tile of `" + dim.getValue().str() + "` of at most " + most +
                   ", or accept what is lost: `shortSums` of the options, `--short-sums on`")
         << "`" << kind.name << "` adds up in " << kind.sumBits << " bits, so that a sum goes on in f32 after " << most
         << " products at most; a tile has " << depth << " along `" << dim.getValue() << "`";
}

/// An instruction of several waves that reads its factors from shared memory.
static LogicalResult bindInPlace(MmaOp mma, const MmaKind &kind, const Geometry &geometry) {
  std::optional<InPlaceRows> rows = rowsInPlace(mma, kind, geometry);
  if (!rows)
    return noWaveGroups(mma, kind, geometry);
  mma.setKind(kind.name);
  stageFactor(mma.getLhs(), geometry);
  stageFactor(mma.getRhs(), geometry);
  if (failed(checkFactors(mma, kind, *rows)) || failed(checkShortSum(mma, kind, geometry)))
    return failure();
  StringAttr columns = *rows == InPlaceRows::left ? mma.getColumnDim() : mma.getRowDim();
  for (auto [dim, size, loop] : {std::tuple(columns, kind.n, false), {mma.getContractedDim(), kind.k, true}})
    if (int64_t tile = wavePart(dim, loop, geometry); tile <= 0 || tile % size != 0)
      return notMultiple(mma, dim, tile, size, kind);
  return success();
}

/// Chooses the matrix instruction and checks that the waves' tiles are whole numbers of it.
static LogicalResult bindMma(MmaOp mma, const Geometry &geometry) {
  auto element = [](Value value) { return dtypeOf(cast<TileType>(value.getType()).getElementType()); };
  std::optional<DType> lhs = element(mma.getLhs()), rhs = element(mma.getRhs()), acc = element(mma.getAcc());
  if (!lhs || !rhs || !acc)
    return report(mma.getLoc(), DiagId::MmaTypeMismatch) << "`mma` on elements that no matrix instruction takes";
  std::optional<std::string> name = mma.getKind() ? std::optional(mma.getKind()->str()) : geometry.mmaName();
  if (name)
    name = inFamily(*name, wavePart(mma.getColumnDim(), false, geometry));
  MmaChoice choice = chooseMma(mma, name, {*lhs, *rhs, *acc, mma.isScaled()}, geometry);
  if (!choice)
    return report(mma.getLoc(), choice.error->id).hint(choice.error->hint) << choice.error->message;
  if (readsInPlace(*choice.kind))
    return bindInPlace(mma, *choice.kind, geometry);
  auto check = [&](StringAttr dim, int64_t size, bool loop) -> LogicalResult {
    int64_t tile = wavePart(dim, loop, geometry);
    if (tile > 0 && tile % size == 0)
      return success();
    return notMultiple(mma, dim, tile, size, *choice.kind);
  };
  if (failed(check(mma.getRowDim(), choice.kind->m, false)) ||
      failed(check(mma.getColumnDim(), choice.kind->n, false)) ||
      failed(check(mma.getContractedDim(), choice.kind->k, true)))
    return failure();
  mma.setKind(choice.kind->name);
  return success();
}

/// Memory shapes with bound symbols replaced, in the types of everything that mentions them.
static void bindShapes(KernelOp kernel, const Geometry &geometry) {
  auto bound = [&](Type type) -> Type {
    auto memory = dyn_cast<MemoryType>(type);
    if (!memory)
      return type;
    auto numbers = [&](ArrayRef<ExprAttr> exprs) {
      return llvm::map_to_vector(exprs, [&](ExprAttr each) {
        return exprAttr(type.getContext(), sym::simplify(geometry.bind(each.getValue()), geometry.factsAtLaunch()));
      });
    };
    return MemoryType::get(type.getContext(), numbers(memory.getShape()), memory.getElementType(), memory.getSpace(),
                           memory.getMap(), numbers(memory.getStrides()));
  };
  for (BlockArgument argument : kernel.block().getArguments())
    argument.setType(bound(argument.getType()));
}

/// Every symbol of a shape must be bound or dynamic.
static LogicalResult checkBound(KernelOp kernel, const Geometry &geometry) {
  llvm::SmallDenseSet<StringRef> dynamic;
  for (Attribute name : kernel.getDynamic())
    dynamic.insert(cast<StringAttr>(name).getValue());
  bool ok = true;
  for (auto [argument, name] : llvm::zip(kernel.block().getArguments(), kernel.getArgNames())) {
    auto memory = dyn_cast<MemoryType>(argument.getType());
    if (!memory)
      continue;
    for (ExprAttr extent : llvm::concat<const ExprAttr>(memory.getShape(), memory.getStrides()))
      for (sym::Expr symbol : sym::symbolsOf(geometry.bind(extent.getValue())))
        if (!dynamic.contains(StringRef(symbol.symbolName()))) {
          report(argument.getLoc(), DiagId::SymbolUnbound)
                  .hint("bind it in `subs` or list it among the dynamic symbols")
              << "the " << (llvm::is_contained(memory.getShape(), extent) ? "shape" : "strides") << " of `"
              << cast<StringAttr>(name).getValue() << "` mentions `" << std::string(symbol.symbolName())
              << "`, which has no value";
          ok = false;
        }
  }
  return success(ok);
}

/// Ids of workgroups stand in front of everything, so that whoever needs one later finds it above.
static void hoistWorkgroupIds(KernelOp kernel) {
  SmallVector<WorkgroupIdOp> ids;
  kernel.walk([&](WorkgroupIdOp id) { ids.push_back(id); });
  for (WorkgroupIdOp id : llvm::reverse(ids))
    id->moveBefore(&kernel.block(), kernel.block().begin());
}

/// Of a dimension and its alias only one is split by their waves, and the other whole: an operand of a product that has
/// the other alone would be split all the same.
static LogicalResult checkAliases(MmaOp mma, const Geometry &geometry) {
  for (Value operand : {mma.getLhs(), mma.getRhs(), mma.getAcc()}) {
    std::map<Dim, StringRef> split;
    for (StringAttr name : cast<TileType>(operand.getType()).getDims()) {
      const Distribution &dim = geometry[Dim(name.getValue().str())];
      auto [other, isNew] = split.try_emplace(dim.wavesOf, name.getValue());
      if (dim.waves == 1 || isNew)
        continue;
      return report(mma.getLoc(), DiagId::NotSupportedHere).hint("give one of them no waves")
             << "`" << other->second << "` and `" << name.getValue()
             << "` are split by the same waves, and this `mma` has both";
    }
  }
  return success();
}

namespace {
struct BindSymbolsPass final : impl::BindSymbolsPassBase<BindSymbolsPass> {
  using Base::Base;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<GeometryAttr> resolved = resolveConstraints(kernel);
    if (failed(resolved))
      return signalPassFailure();
    kernel.setGeometryAttr(*resolved);
    FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (failed(geometry) || failed(requireForm(kernel, Form::Traced)) || failed(checkBound(kernel, *geometry)))
      return signalPassFailure();
    bindShapes(kernel, *geometry);
    hoistWorkgroupIds(kernel);
    bool ok = true;
    kernel.walk([&](Operation *op) {
      if (auto loop = dyn_cast<IterateOp>(op))
        ok &= succeeded(bindCount(loop, *geometry));
      else if (auto indexed = dyn_cast<IndexedOpInterface>(op))
        ok &= succeeded(checkExpressions(indexed, "`" + op->getName().stripDialect().str() + "` mentions"));
      if (auto mma = dyn_cast<MmaOp>(op))
        ok &= succeeded(checkAliases(mma, *geometry)) && succeeded(bindMma(mma, *geometry));
    });
    if (!ok)
      signalPassFailure();
  }
};
} // namespace
} // namespace soliton
