#include "soliton/analysis/IndexSymbols.h"

namespace soliton {
using namespace wave;

sym::Expr laneSymbol() {
  static const sym::Expr symbol = sym::Expr::symbol("$LANE");
  return symbol;
}
sym::Expr waveSymbol() {
  static const sym::Expr symbol = sym::Expr::symbol("$WAVE");
  return symbol;
}
sym::Expr workgroupSymbol(int64_t dim) {
  static const sym::Expr symbols[kMaxGridDims] = {sym::Expr::symbol("$WG0"), sym::Expr::symbol("$WG1"),
                                                  sym::Expr::symbol("$WG2"), sym::Expr::symbol("$WG3"),
                                                  sym::Expr::symbol("$WG4")};
  return symbols[dim];
}

/// A symbol for the iterations of a loop; its range is the loop's count, where that is known yet.
sym::Expr IndexSymbols::learn(IterateOp loop) {
  std::string axis = loop.getAxis().str();
  int earlier = loopsAlong[axis]++;
  sym::Expr symbol = sym::Expr::symbol("$ARG_" + axis + (earlier ? "_" + std::to_string(earlier) : ""));
  if (!loop.getCount())
    return iterations[symbol.get()] = 1, symbol;
  sym::Expr count = named(loop.getCount()->getValue(), loop.getSymbols());
  iterations[symbol.get()] = count;
  std::optional<int64_t> last = sym::rangeOf(count, known).hi;
  known.setRange(symbol, {0, last ? std::max<int64_t>(*last - 1, 0) : INT32_MAX});
  return symbol;
}

sym::Expr IndexSymbols::learn(IndexOfOp index) {
  sym::Expr symbol = sym::Expr::symbol(kDataSymbols.str() + std::to_string(numbersSeen++));
  Type element = index.getTile().getType().getElementType();
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  if (width < 64)
    known.setRange(symbol, {-(int64_t{1} << (width - 1)), (int64_t{1} << (width - 1)) - 1});
  return symbol;
}

const sym::Facts &IndexSymbols::factsAt(Operation *op) {
  auto loop = op->getParentOfType<IterateOp>();
  if (!loop || !loop.getCount())
    return known;
  if (auto found = factsIn.find(loop); found != factsIn.end())
    return *found->second;
  auto facts = std::make_unique<sym::Facts>(factsAt(loop));
  sym::Expr iteration = symbol(loop.iteration()), count = named(loop.getCount()->getValue(), loop.getSymbols());
  facts->setRange(iteration, known.rangeOf(iteration));
  if (!count.isConstant())
    facts->assume(sym::lt(iteration, count));
  return *(factsIn[loop] = std::move(facts));
}

sym::Expr IndexSymbols::symbol(Value index) {
  if (auto found = symbols.find(index); found != symbols.end())
    return found->second;
  sym::Expr symbol;
  if (auto id = index.getDefiningOp<WorkgroupIdOp>())
    symbol = workgroupSymbol(static_cast<int64_t>(id.getDim()));
  else if (auto data = index.getDefiningOp<IndexOfOp>())
    symbol = learn(data);
  else
    symbol = learn(cast<IterateOp>(cast<BlockArgument>(index).getOwner()->getParentOp()));
  symbols[index] = symbol;
  values[symbol.get()] = index;
  return symbol;
}

Value IndexSymbols::value(sym::Expr symbol) {
  if (auto found = values.find(symbol.get()); found != values.end())
    return found->second;
  for (int64_t dim = 0; dim < kMaxGridDims; ++dim) {
    if (!(symbol == workgroupSymbol(dim)))
      continue;
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel.block());
    Value id = WorkgroupIdOp::create(builder, kernel.getLoc(), builder.getIndexType(), builder.getI64IntegerAttr(dim));
    symbols[id] = symbol;
    return values[symbol.get()] = id;
  }
  return {};
}

void IndexSymbols::forget(Value index) {
  if (auto found = symbols.find(index); found != symbols.end()) {
    values.erase(found->second.get());
    symbols.erase(found);
    factsIn.erase(cast<BlockArgument>(index).getOwner()->getParentOp());
  }
}

sym::Expr IndexSymbols::named(sym::Expr expr, ValueRange operands) {
  if (operands.empty() || expr.isConstant())
    return expr;
  sym::Substitution names;
  for (auto [k, operand] : llvm::enumerate(operands))
    names.set(operandSymbol(k), symbol(operand));
  return sym::substitute(expr, names);
}

ExprAttr OperandBinder::bind(sym::Expr expr) {
  sym::Substitution positions;
  for (sym::Expr symbol : sym::symbolsOf(expr)) {
    Value value = symbols.value(symbol);
    if (!value)
      continue;
    auto found = llvm::find(values, value);
    positions.set(symbol, operandSymbol(found - values.begin()));
    if (found == values.end())
      values.push_back(value);
  }
  MLIRContext *context = symbols.context();
  return exprAttr(context, sym::substitute(expr, positions));
}

ArrayAttr OperandBinder::bind(ArrayRef<sym::Expr> exprs) {
  SmallVector<Attribute> attributes;
  for (sym::Expr expr : exprs)
    attributes.push_back(bind(expr));
  return ArrayAttr::get(symbols.context(), attributes);
}

static Attribute rewritten(Attribute attribute, llvm::function_ref<Attribute(ExprAttr)> change) {
  if (auto expr = dyn_cast<ExprAttr>(attribute))
    return change(expr);
  auto list = dyn_cast<ArrayAttr>(attribute);
  if (!list)
    return attribute;
  SmallVector<Attribute> entries;
  for (Attribute entry : list)
    entries.push_back(rewritten(entry, change));
  return ArrayAttr::get(attribute.getContext(), entries);
}

void rewriteExpressions(Operation *op, IndexSymbols &symbols, llvm::function_ref<sym::Expr(sym::Expr)> change) {
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  if (!indexed)
    return;
  SmallVector<Value> before(indexed.getSymbols());
  OperandBinder binder(symbols);
  for (mlir::NamedAttribute attribute : llvm::to_vector(op->getAttrs()))
    op->setAttr(attribute.getName(), rewritten(attribute.getValue(), [&](ExprAttr expr) {
                  return binder.bind(change(symbols.named(expr.getValue(), before)));
                }));
  indexed.getSymbolsMutable().assign(binder.operands());
}

} // namespace soliton
