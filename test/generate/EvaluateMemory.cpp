#include "test/generate/Evaluator.h"

#include <limits>

namespace soliton::generate {

Evaluator::Access Evaluator::accessOf(const Op &op, const Tile &tile, size_t firstDynamic) const {
  const Memory &memory = program.memories[static_cast<size_t>(op.memory)];
  Access access{op, {}, {}, {}};
  for (size_t d = 0; d < tile.dims.size(); ++d) {
    access.starts.push_back(memory.isParameter ? startOf(tile.dims[d]) : 0);
    std::pair<int64_t, int64_t> all(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
    if (op.bounds && (*op.bounds)[d])
      all.second = formula(*(*op.bounds)[d]);
    else if (!op.bounds && (memory.isParameter || op.kind == OpKind::atomic))
      all = {0, sizeOfDim(tile.dims[d])};
    // A shared tile counts its places from the workgroup's part on; an atomic asks where that is all the same.
    if (!memory.isParameter && op.kind == OpKind::atomic) {
      all.first -= all.first == std::numeric_limits<int64_t>::min() ? 0 : startOf(tile.dims[d]);
      all.second -= all.second == std::numeric_limits<int64_t>::max() ? 0 : startOf(tile.dims[d]);
    }
    access.within.push_back(all);
  }
  for (size_t i = firstDynamic; i < op.operands.size(); ++i)
    access.dynamic.emplace_back(tileAt(op.operands[i]), tile.dims);
  return access;
}

std::optional<Place> Evaluator::placeOf(const Access &access, const Place &at) const {
  Place global = at;
  for (size_t d = 0; d < at.size(); ++d) {
    global[d] += access.starts[d];
    if (global[d] < access.within[d].first || global[d] >= access.within[d].second)
      return std::nullopt;
  }
  if (!access.op.indices)
    return global;
  auto lookup = [&](const std::string &name) -> int64_t {
    if (name.starts_with("$index"))
      return global[static_cast<size_t>(std::stoi(name.substr(6)))];
    if (name.starts_with("$dynamic_val"))
      return access.dynamic[static_cast<size_t>(std::stoi(name.substr(12)))](at).whole;
    return symbol(name);
  };
  Place place;
  for (const Formula &index : *access.op.indices)
    place.push_back(valueOf(index, lookup));
  return place;
}

std::optional<size_t> Evaluator::numberIn(const SharedTile &tile, const Place &at) {
  size_t number = 0;
  for (size_t d = 0; d < at.size(); ++d) {
    if (at[d] < 0 || at[d] >= tile.extents[d])
      return std::nullopt;
    number = number * static_cast<size_t>(tile.extents[d]) + static_cast<size_t>(at[d]);
  }
  return number;
}

Number Evaluator::load(const Op &op, const Place &at) const {
  const Memory &memory = program.memories[static_cast<size_t>(op.memory)];
  if (!memory.isParameter) {
    const SharedTile &tile = shared.at(op.memory);
    std::optional<size_t> number = numberIn(tile, at);
    if (!number)
      return {};
    if (!tile.elements[*number])
      throw std::runtime_error("reads an element of a shared tile that was never written");
    return *tile.elements[*number];
  }
  const Storage &storage = storages[static_cast<size_t>(op.memory)];
  if (!storage.contains(at))
    return {};
  uint64_t bits = storage.load(arguments[argumentOf(op.memory)], at);
  return isFloat(memory.type) ? Number{decode(memory.type, bits), 0}
                              : Number{0, wrapTo(memory.type, static_cast<int64_t>(bits))};
}

void Evaluator::store(const Op &op, const Place &at, Number value) {
  const Memory &memory = program.memories[static_cast<size_t>(op.memory)];
  if (!memory.isParameter) {
    SharedTile &tile = shared.at(op.memory);
    if (std::optional<size_t> number = numberIn(tile, at))
      tile.elements[*number] = value;
    return;
  }
  const Storage &storage = storages[static_cast<size_t>(op.memory)];
  if (storage.contains(at))
    storage.store(arguments[argumentOf(op.memory)], at,
                  isFloat(memory.type) ? encode(memory.type, value.real) : static_cast<uint64_t>(value.whole));
}
size_t Evaluator::argumentOf(int memory) const {
  size_t argument = 0;
  for (int i = 0; i < memory; ++i)
    argument += program.memories[static_cast<size_t>(i)].isParameter;
  return argument;
}

void Evaluator::read(const Op &op) {
  Tile result = newTile(op.results[0]);
  Access access = accessOf(op, result, 0);
  forEachPlace(result.extents, [&](size_t number, const Place &at) {
    std::optional<Place> place = placeOf(access, at);
    result.elements[number] = place ? load(op, *place) : Number{};
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

void Evaluator::write(const Op &op) {
  const Tile &tile = tileAt(op.operands[0]);
  Access access = accessOf(op, tile, 1);
  forEachPlace(tile.extents, [&](size_t number, const Place &at) {
    if (std::optional<Place> place = placeOf(access, at))
      store(op, *place, tile.elements[number]);
  });
}

/// One element after the other, as if there were one lane.
void Evaluator::atomic(const Op &op) {
  const Tile &tile = tileAt(op.operands[0]);
  Tile result = newTile(op.results[0]);
  Element type = program.memories[static_cast<size_t>(op.memory)].type;
  // What `cas` expects stands behind the value.
  Access access = accessOf(op, tile, op.word == "cas" ? 2 : 1);
  forEachPlace(tile.extents, [&](size_t number, const Place &at) {
    std::optional<Place> place = placeOf(access, at);
    if (!place || !isInside(op, *place))
      return;
    Number before = load(op, *place), with = tile.elements[number], after = before;
    if (op.word == "add")
      after = {roundTo(type, before.real + with.real), wrapTo(type, before.whole + with.whole)};
    else if (op.word == "min")
      after = {std::min(before.real, with.real), std::min(before.whole, with.whole)};
    else if (op.word == "max")
      after = {std::max(before.real, with.real), std::max(before.whole, with.whole)};
    else if (op.word == "cas")
      after = tileAt(op.operands[1]).elements[number].whole == before.whole ? with : before;
    else if (op.word == "exchange")
      after = with;
    else if (op.word == "bit_and")
      after.whole = before.whole & with.whole;
    else if (op.word == "bit_or")
      after.whole = before.whole | with.whole;
    else
      after.whole = before.whole ^ with.whole;
    result.elements[number] = before;
    store(op, *place, after);
  });
  values[static_cast<size_t>(op.results[0])] = std::move(result);
}

bool Evaluator::isInside(const Op &op, const Place &at) const {
  if (program.memories[static_cast<size_t>(op.memory)].isParameter)
    return storages[static_cast<size_t>(op.memory)].contains(at);
  return numberIn(shared.at(op.memory), at).has_value();
}

void Evaluator::allocate(const Op &op) {
  SharedTile tile{extentsOf(program, program.memories[static_cast<size_t>(op.memory)]), {}};
  size_t count = 1;
  for (int64_t extent : tile.extents)
    count *= static_cast<size_t>(extent);
  tile.elements.resize(count);
  shared[op.memory] = std::move(tile);
}

} // namespace soliton::generate
