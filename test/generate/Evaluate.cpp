#include "test/generate/Evaluator.h"

#include <sstream>

namespace soliton::generate {

Evaluator::Evaluator(const Program &program, std::vector<Bytes> arguments)
    : program(program), arguments(std::move(arguments)), values(program.values.size()) {
  for (const Memory &memory : program.memories)
    if (memory.isParameter)
      storages.emplace_back(extentsOf(program, memory), memory.type);
    else
      storages.emplace_back(std::vector<int64_t>{}, memory.type);
}

std::vector<Bytes> Evaluator::run() {
  // From the last workgroup to the first: a program that depends on their order is a mistake of the generator.
  std::vector<int64_t> counts = launch();
  int64_t total = 1;
  for (int64_t count : counts)
    total *= count;
  for (int64_t number = total; number-- > 0;) {
    int64_t rest = number;
    for (int d = kWorkgroupDims; d-- > 0; rest /= counts[static_cast<size_t>(d)])
      ids[static_cast<size_t>(d)] = rest % counts[static_cast<size_t>(d)];
    shared.clear();
    runBlock(program.body);
  }
  return arguments;
}

void Evaluator::runBlock(const Block &block) {
  for (const Op &op : block.ops)
    execute(op);
}

void Evaluator::iterate(const Op &op) {
  // A loop along no dimension says how often it runs.
  auto tiling = std::ranges::find(program.tilings, op.word, &TilingConstraint::dim);
  int64_t count = op.formula      ? formula(*op.formula)
                  : tiling->iters ? reordered(*tiling->iters)
                                  : (sizeOfDim(op.word) + tiling->tile - 1) / tiling->tile;
  std::vector<Tile> carried;
  for (int init : op.operands)
    carried.push_back(tileAt(init));
  const Block &body = op.blocks[0];
  ended.push_back(false);
  for (int64_t number = 0; number < count && !ended.back(); ++number) {
    loops.emplace_back(op.word, number);
    for (size_t i = 0; i < carried.size(); ++i)
      values[static_cast<size_t>(body.arguments[i])] = carried[i];
    runBlock(body);
    for (size_t i = 0; i < carried.size(); ++i)
      carried[i] = tileAt(body.yields[i]);
    loops.pop_back();
  }
  ended.pop_back();
  for (size_t i = 0; i < carried.size(); ++i)
    values[static_cast<size_t>(op.results[i])] = carried[i];
}

void Evaluator::branch(const Op &op) {
  size_t side = formula(*op.formula) ? 0 : 1;
  if (side == op.blocks.size()) // a branch, or nothing
    return;
  const Block &taken = op.blocks[side];
  runBlock(taken);
  for (size_t i = 0; i < op.results.size(); ++i)
    values[static_cast<size_t>(op.results[i])] = tileAt(taken.yields[i]);
}

void Evaluator::fill(const Op &op, Number value) {
  Tile result = newTile(op.results[0]);
  std::ranges::fill(result.elements, value);
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

void Evaluator::execute(const Op &op) {
  switch (op.kind) {
  case OpKind::read:
    return read(op);
  case OpKind::write:
    return write(op);
  case OpKind::atomic:
    return atomic(op);
  case OpKind::allocate:
    return allocate(op);
  case OpKind::reduce:
    return reduce(op);
  case OpKind::scan:
    return scan(op);
  case OpKind::argReduce:
    return argReduce(op);
  case OpKind::sort:
    return sort(op);
  case OpKind::rearrange:
    return rearrange(op);
  case OpKind::concatenate:
    return concatenate(op);
  case OpKind::bitcast:
    return bitcast(op);
  case OpKind::shuffle:
    return shuffle(op);
  case OpKind::mma:
    return mma(op);
  case OpKind::iterate:
    return iterate(op);
  case OpKind::conditional:
    return branch(op);
  case OpKind::indexOf:
    numbers[op.word] = tileAt(op.operands[0]).elements[0].whole;
    return;
  case OpKind::exit:
    ended.back() = !formula(*op.formula);
    return;
  case OpKind::barrier:
  case OpKind::wait:
  case OpKind::prefetch:
  case OpKind::hint:
    return;
  case OpKind::print:
    return printTile(op);
  case OpKind::fill: {
    Element type = program.values[static_cast<size_t>(op.results[0])].element;
    return fill(op, isFloat(type) ? Number{roundTo(type, op.number), 0}
                                  : Number{0, wrapTo(type, static_cast<int64_t>(op.number))});
  }
  case OpKind::splat: {
    const Scalar &scalar = program.scalars[static_cast<size_t>(op.memory)];
    return fill(op, isFloat(scalar.type) ? Number{roundTo(scalar.type, static_cast<double>(scalar.value)), 0}
                                         : Number{0, wrapTo(scalar.type, scalar.value)});
  }
  default:
    return compute(op);
  }
}

void Evaluator::compute(const Op &op) {
  Element to = program.values[static_cast<size_t>(op.results[0])].element;
  Element from = op.operands.empty() ? to : program.values[static_cast<size_t>(op.operands.back())].element;
  elementwise(op, [&](const std::vector<Number> &x, const Place &at) -> Number {
    switch (op.kind) {
    case OpKind::unary:
      return rounded(to, {isFloat(to) ? realFunction(op.word, x[0].real) : 0,
                          isFloat(to) ? 0 : wholeFunction(op.word, x[0].whole)});
    case OpKind::binary:
      return rounded(to, {isFloat(to) ? realCombination(op.word, x[0].real, x[1].real) : 0,
                          isFloat(to) ? 0 : wholeCombination(op.word, x[0].whole, x[1].whole)});
    case OpKind::compare:
      return {0, isFloat(from) ? holds(op.word, x[0].real, x[1].real) : holds(op.word, x[0].whole, x[1].whole)};
    case OpKind::select:
      return x[0].whole ? x[1] : x[2];
    case OpKind::cast:
      return converted(from, to, x[0]);
    case OpKind::selfIndex:
      return {0, wrapTo(to, startOf(op.dim) + at[0])};
    case OpKind::applyExpr: {
      int64_t value = valueOf(*op.formula, [&](const std::string &name) {
        constexpr std::string_view kPrefix = "$APPLY_EXPR_ARG_";
        return name.starts_with(kPrefix) ? x[static_cast<size_t>(std::stoi(name.substr(kPrefix.size())))].whole
                                         : symbol(name);
      });
      return isFloat(to) ? Number{roundTo(to, static_cast<double>(value)), 0} : Number{0, wrapTo(to, value)};
    }
    default: // broadcast, permute
      return x[0];
    }
  });
}

/// Elements that are in their tensor, as `debug_print` shows them.
void Evaluator::printTile(const Op &op) {
  const Tile tile = tileAt(op.operands[0]);
  forEachPlace(tile.extents, [&](size_t number, const Place &at) {
    std::string places;
    for (size_t d = 0; d < at.size(); ++d) {
      int64_t place = startOf(tile.dims[d]) + at[d];
      if (!isInside(tile.dims[d], place))
        return;
      places += (d ? ", " : "") + tile.dims[d] + "=" + std::to_string(place);
    }
    Number element = tile.elements[number];
    std::ostringstream text;
    text.precision(9);
    if (isFloat(tile.type))
      text << element.real + 0.0; // a zero has no sign
    else if (tile.type == Element::i1)
      text << (element.whole ? "true" : "false");
    else
      text << element.whole;
    lines.insert(op.word + "[" + places + "] = " + text.str());
  });
  values[static_cast<size_t>(op.results[0])] = tile;
}

std::vector<Bytes> evaluate(const Program &program, const std::vector<Bytes> &inputs, std::set<std::string> *printed) {
  Evaluator evaluator(program, inputs);
  std::vector<Bytes> after = evaluator.run();
  if (printed)
    *printed = evaluator.printed();
  return after;
}

} // namespace soliton::generate
