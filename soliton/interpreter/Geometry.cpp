//===- Geometry.cpp - What the constraints say, in numbers --------------------===//

#include "soliton/interpreter/Geometry.h"

#include "soliton/interpreter/Failure.h"

#include <numeric>

namespace soliton::interp {
using namespace wave;

/// Tiles of more elements are a mistake, not a program.
static constexpr int64_t kMaxElements = int64_t(1) << 26;

static sym::Expr workgroupSymbol(int64_t dim) {
  return sym::Expr::symbol("$WG" + std::to_string(dim));
}
static Dim dimOf(mlir::StringAttr name) {
  return Dim(name.getValue().str());
}

Geometry::Geometry(KernelOp kernel, const std::map<std::string, int64_t> &symbols)
    : kernel(kernel), kernelForm(getForm(kernel)) {
  try {
    bindSymbols(symbols);
    readConstraints();
  } catch (const sym::ExprError &error) {
    fail(kernel.getLoc(), DiagId::ReferenceUndefined, std::string("a constraint has no value: ") + error.what());
  }
}

void Geometry::bindSymbols(const std::map<std::string, int64_t> &symbols) {
  for (mlir::Attribute name : kernel.getDynamic()) {
    auto found = symbols.find(llvm::cast<mlir::StringAttr>(name).str());
    if (found == symbols.end())
      fail(kernel.getLoc(), DiagId::ReferenceInput,
           "the dynamic symbol `" + llvm::cast<mlir::StringAttr>(name).str() + "` has no value");
    bound.set(sym::Expr::symbol(found->first), found->second);
    environment.set(sym::Expr::symbol(found->first), found->second);
  }
  std::vector<std::pair<sym::Expr, sym::Expr>> derived;
  for (mlir::NamedAttribute entry : kernel.getSubs()) {
    sym::Expr symbol = sym::Expr::symbol(entry.getName().str());
    if (auto number = llvm::dyn_cast<mlir::IntegerAttr>(entry.getValue())) {
      bound.set(symbol, number.getInt());
      environment.set(symbol, number.getInt());
    } else {
      derived.emplace_back(symbol, llvm::cast<ExprAttr>(entry.getValue()).getValue());
    }
  }
  // Each round resolves at least one symbol that depends on resolved ones only.
  for (size_t round = 0; round < derived.size(); ++round)
    for (auto &[symbol, value] : derived) {
      value = sym::substitute(value, bound);
      if (std::optional<int64_t> number = value.constantValue()) {
        bound.set(symbol, *number);
        environment.set(symbol, *number);
      }
    }
  for (auto &[symbol, value] : derived)
    if (!value.isConstant())
      fail(kernel.getLoc(), DiagId::ReferenceUndefined,
           "the bound symbol `" + sym::toString(symbol) + "` is `" + sym::toString(value) + "`, expected a number");
}

void Geometry::addWorkgroup(WorkgroupConstraintAttr constraint) {
  sym::Expr size = sym::Expr::symbol(constraint.getDim().str()), tile = constraint.getTile().getValue();
  sym::Expr id = workgroupSymbol(constraint.getWorkgroupDim());
  sym::Expr start = constraint.getApply()
                        ? sym::substitute(constraint.getApply().getValue(), {{sym::Expr::symbol("$WG"), id}})
                        : id * tile;
  sym::Expr count = constraint.getIters() ? constraint.getIters().getValue() : sym::ceildiv(size, tile);
  workgroups[dimOf(constraint.getDim())] = {tile, start, count, constraint.getWorkgroupDim(), constraint.getPrimary()};
}

void Geometry::addTiling(TilingConstraintAttr constraint) {
  sym::Expr size = sym::Expr::symbol(constraint.getDim().str()), tile = constraint.getTile().getValue();
  loops[dimOf(constraint.getDim())] = {
      tile, constraint.getStart() ? constraint.getStart().getValue() : sym::Expr(0),
      constraint.getIters() ? constraint.getIters().getValue() : sym::ceildiv(size, tile), constraint.getDim().str()};
}

void Geometry::addAlias(SymbolicAliasAttr alias) {
  auto mapped = [&](sym::Expr value) {
    return sym::substitute(alias.getSourceToTarget().getValue(), {{sym::Expr::symbol("$x"), value}});
  };
  if (auto target = workgroups.find(dimOf(alias.getTarget())); target != workgroups.end()) {
    Workgroup source = target->second;
    source.tile = mapped(source.tile);
    source.start = workgroupSymbol(source.dim) * source.tile;
    source.primary = false;
    workgroups[dimOf(alias.getSource())] = source;
  }
  if (auto target = loops.find(dimOf(alias.getTarget())); target != loops.end()) {
    Loop source = target->second;
    source.tile = mapped(source.tile);
    loops[dimOf(alias.getSource())] = source;
  }
}

void Geometry::readConstraints() {
  for (mlir::Attribute constraint : kernel.getConstraints()) {
    if (auto workgroup = llvm::dyn_cast<WorkgroupConstraintAttr>(constraint))
      addWorkgroup(workgroup);
    if (auto tiling = llvm::dyn_cast<TilingConstraintAttr>(constraint))
      addTiling(tiling);
    if (auto grid = llvm::dyn_cast<GridConstraintAttr>(constraint))
      fixedGrid = grid.getSize().getValue();
    if (auto reordering = llvm::dyn_cast<ReorderingConstraintAttr>(constraint))
      reordered.set(workgroupSymbol(reordering.getWorkgroupDim()), reordering.getEquation().getValue());
  }
  for (mlir::Attribute constraint : kernel.getConstraints())
    if (auto alias = llvm::dyn_cast<SymbolicAliasAttr>(constraint))
      addAlias(alias);
  for (auto &[dim, workgroup] : workgroups) {
    workgroup.start = reorder(workgroup.start);
    // Persistent kernels choose their tiles themselves.
    if (fixedGrid)
      workgroup.start = 0;
  }
  for (auto &[dim, loop] : loops) {
    loop.start = reorder(loop.start);
    loop.count = reorder(loop.count);
  }
}

Geometry::Grid Geometry::grid() {
  if (fixedGrid)
    return {evaluate(*fixedGrid, kernel.getLoc()), 1, 1, 1, 1};
  Grid counts = {1, 1, 1, 1, 1};
  for (const auto &[dim, workgroup] : workgroups)
    if (workgroup.primary)
      counts[workgroup.dim] *= evaluate(workgroup.count, kernel.getLoc());
  return counts;
}

void Geometry::enterWorkgroup(const Grid &ids) {
  workgroup = ids;
  for (int64_t dim = 0; dim < kMaxGridDims; ++dim)
    environment.set(workgroupSymbol(dim), ids[dim]);
}

void Geometry::setOperands(const std::vector<int64_t> &values) {
  for (size_t k = 0; k < values.size(); ++k)
    environment.set(operandSymbol(k), values[k]);
}

int64_t Geometry::evaluate(sym::Expr expr, mlir::Location loc) {
  if (std::optional<int64_t> number = expr.constantValue())
    return *number;
  try {
    return sym::evaluate(expr, environment);
  } catch (const sym::ExprError &error) {
    fail(loc, DiagId::ReferenceUndefined, "`" + sym::toString(expr) + "` has no value: " + error.what());
  }
}

sym::Expr Geometry::bind(sym::Expr expr, mlir::Location loc) {
  try {
    sym::Substitution known;
    for (sym::Expr symbol : sym::symbolsOf(expr))
      if (std::optional<int64_t> value = environment.find(symbol))
        known.set(symbol, *value);
    return sym::substitute(expr, known);
  } catch (const sym::ExprError &error) {
    fail(loc, DiagId::ReferenceUndefined, "`" + sym::toString(expr) + "` has no value: " + error.what());
  }
}

sym::Expr Geometry::exprOf(Dim dim, mlir::Location loc) {
  try {
    return sym::parse(dim.name());
  } catch (const sym::ExprError &error) {
    fail(loc, DiagId::ReferenceUndefined, "the dimension `" + dim.name() + "` is no expression: " + error.what());
  }
}

int64_t Geometry::size(Dim dim, mlir::Location loc) {
  return evaluate(exprOf(dim, loc), loc);
}

int64_t Geometry::extent(Dim dim, mlir::Location loc) {
  sym::Expr expr = exprOf(dim, loc);
  sym::Substitution tiles;
  for (sym::Expr symbol : sym::symbolsOf(expr)) {
    Dim part{symbol.symbolName()};
    if (auto loop = loops.find(part); loop != loops.end())
      tiles.set(symbol, loop->second.tile);
    else if (auto workgroup = workgroups.find(part); workgroup != workgroups.end())
      tiles.set(symbol, workgroup->second.tile);
  }
  int64_t value = evaluate(sym::substitute(expr, tiles), loc);
  if (value < 0 || value > kMaxElements)
    fail(loc, DiagId::ReferenceUndefined,
         "a tile has " + std::to_string(value) + " elements along `" + dim.name() + "`");
  return value;
}

int64_t Geometry::start(Dim dim, mlir::Operation *op) {
  sym::Expr expr = exprOf(dim, op->getLoc());
  sym::Substitution starts;
  for (sym::Expr symbol : sym::symbolsOf(expr)) {
    Dim part{symbol.symbolName()};
    sym::Expr start = 0;
    if (auto workgroup = workgroups.find(part); workgroup != workgroups.end())
      start = start + workgroup->second.start;
    auto loop = loops.find(part);
    for (auto outer = op->getParentOfType<IterateOp>(); outer && loop != loops.end();
         outer = outer->getParentOfType<IterateOp>())
      if (outer.getAxis() == loop->second.axis) {
        start = start + loop->second.start + iterationOf.lookup(outer) * loop->second.tile;
        break;
      }
    starts.set(symbol, start);
  }
  return evaluate(sym::substitute(expr, starts), op->getLoc());
}

int64_t Geometry::iterations(IterateOp loop) {
  if (loop.getCount())
    return evaluate(loop.getCount()->getValue(), loop.getLoc());
  auto constraint = loops.find(Dim(loop.getAxis().str()));
  if (constraint == loops.end())
    fail(loop.getLoc(), DiagId::ReferenceUndefined,
         "the loop over `" + loop.getAxis().str() + "` has neither a count nor a tiling constraint");
  return evaluate(constraint->second.count, loop.getLoc());
}

Domain Geometry::domain(TileType type, mlir::Location loc) {
  if (type.hasLayout() && type.layout().regs() * type.layout().lanes() * type.layout().waves() > kMaxElements)
    fail(loc, DiagId::ReferenceUndefined, "the layout `" + type.layout().str() + "` is too large");
  Domain result;
  int64_t elements = 1;
  for (mlir::StringAttr name : type.getDims()) {
    Dim dim = dimOf(name);
    Places places;
    if (type.hasLayout()) {
      places = imageOf(type.layout(), dim);
    } else {
      places.resize(extent(dim, loc));
      std::iota(places.begin(), places.end(), 0);
    }
    elements *= static_cast<int64_t>(places.size());
    if (elements > kMaxElements)
      fail(loc, DiagId::ReferenceUndefined, "a tile has more than " + std::to_string(kMaxElements) + " elements");
    result.dims.push_back(dim);
    result.places.push_back(std::move(places));
  }
  return result;
}

} // namespace soliton::interp
