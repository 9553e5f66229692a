//===- Serialize.cpp - Programs as bytes and back -------------------------===//
//
// Little-endian, a magic word, a version, then every table with its length first. Reading never trusts a length: it
// must fit the bytes that are left. What the numbers mean is validate's business, not this file's.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Program.h"

#include <type_traits>

namespace soliton::emu {
namespace {

constexpr uint32_t kMagic = 0x534d4531; // "1EMS"
constexpr uint32_t kVersion = 9;

/// Appends; `visit` below calls the same function for both directions, so they cannot disagree.
struct Writer {
  std::vector<uint8_t> bytes;

  void number(uint64_t value, int size) {
    for (int i = 0; i < size; ++i)
      bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  template <typename T>
  void scalar(T &value) {
    if constexpr (std::is_same_v<T, bool>)
      number(value ? 1 : 0, 1);
    else
      number(static_cast<uint64_t>(value), sizeof(T));
  }
  void text(std::string &value) {
    number(value.size(), 4);
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  template <typename T, typename F>
  void list(std::vector<T> &values, size_t, F &&each) {
    number(values.size(), 4);
    for (T &value : values)
      each(value);
  }
};

struct Reader {
  std::span<const uint8_t> bytes;

  uint64_t number(int size) {
    if (bytes.size() < size_t(size))
      throw ProgramError("program ends early");
    uint64_t value = 0;
    for (int i = 0; i < size; ++i)
      value |= uint64_t(bytes[size_t(i)]) << (8 * i);
    bytes = bytes.subspan(size_t(size));
    return value;
  }
  template <typename T>
  void scalar(T &value) {
    if constexpr (std::is_same_v<T, bool>)
      value = number(1) != 0;
    else
      value = static_cast<T>(number(sizeof(T)));
  }
  void text(std::string &value) {
    uint64_t size = number(4);
    if (size > bytes.size())
      throw ProgramError("a name of " + std::to_string(size) + " bytes in " + std::to_string(bytes.size()));
    value.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    bytes = bytes.subspan(size);
  }
  template <typename T, typename F>
  void list(std::vector<T> &values, size_t smallest, F &&each) {
    uint64_t size = number(4);
    if (size > bytes.size() / smallest)
      throw ProgramError("a table of " + std::to_string(size) + " entries in " + std::to_string(bytes.size()) +
                         " bytes");
    values.resize(size);
    for (T &value : values)
      each(value);
  }
};

template <typename Stream, typename... T>
void scalars(Stream &s, T &...values) {
  (s.scalar(values), ...);
}

template <typename Stream>
void visit(Stream &s, Fragment &f) {
  scalars(s, f.registers);
  s.list(f.element, 4, [&](uint32_t &e) { s.scalar(e); });
}

template <typename Stream>
void visit(Stream &s, Instr &i) {
  scalars(s, i.op, i.sub, i.flags, i.order, i.scope, i.place, i.dst, i.dst2, i.src[0], i.src[1], i.src[2], i.src[3],
          i.imm, i.index, i.index2, i.pool, i.poolCount);
}

template <typename Stream>
void visit(Stream &s, MmaKind &k) {
  s.text(k.name);
  scalars(s, k.m, k.n, k.k, k.blocks, k.waves, k.a, k.b, k.acc, k.sumBits, k.scaleBlock);
  for (Fragment *f : {&k.fragA, &k.fragB, &k.fragAcc, &k.fragScaleA, &k.fragScaleB})
    visit(s, *f);
}

template <typename Stream>
void visit(Stream &s, MatrixKind &k) {
  s.text(k.name);
  scalars(s, k.elementBits, k.rowBytes, k.registers);
  s.list(k.row, 1, [&](uint8_t &v) { s.scalar(v); });
  s.list(k.column, 1, [&](uint8_t &v) { s.scalar(v); });
}

template <typename Stream>
void visit(Stream &s, TensorMap &m) {
  s.text(m.name);
  scalars(s, m.argument, m.offset.value, m.offset.slot, m.type, m.rank, m.swizzle);
  for (size_t i = 0; i < 5; ++i)
    scalars(s, m.size[i].value, m.size[i].slot, m.stride[i].value, m.stride[i].slot, m.box[i]);
  scalars(s, m.corners);
  for (size_t i = 0; i < 3; ++i)
    scalars(s, m.lower[i], m.upper[i], m.step[i]);
}

template <typename Stream>
void visit(Stream &s, Rules &r) {
  scalars(s, r.barrierCompletesShared, r.globalTicksVm, r.globalAlignment, r.banks);
  for (uint32_t &max : r.counterMax)
    s.scalar(max);
}

template <typename Stream>
void visit(Stream &s, Program &p) {
  s.text(p.name);
  scalars(s, p.waveSize, p.waves, p.sharedBytes, p.numBuffers, p.cluster[0], p.cluster[1], p.cluster[2], p.dependent);
  s.list(p.stable, 4, [&](uint32_t &buffer) { s.scalar(buffer); });
  visit(s, p.rules);
  scalars(s, p.occupancy.computeUnits, p.occupancy.waves, p.occupancy.sharedBytes);
  s.list(p.scalars, 1, [&](DType &t) { s.scalar(t); });
  s.list(p.slots, 6, [&](SlotInfo &i) { scalars(s, i.type, i.count, i.uniform); });
  s.list(p.code, 57, [&](Instr &i) { visit(s, i); });
  s.list(p.pool, 4, [&](uint32_t &w) { s.scalar(w); });
  s.list(p.regions, 17, [&](Region &r) {
    s.text(r.name);
    scalars(s, r.shared, r.argument, r.offset, r.bytes);
  });
  s.list(p.addresses, 28, [&](Address &a) { scalars(s, a.region, a.lane, a.uniform, a.base, a.limit, a.immediate); });
  s.list(p.mmaKinds, 74, [&](MmaKind &k) { visit(s, k); });
  s.list(p.matrixKinds, 24, [&](MatrixKind &k) { visit(s, k); });
  s.list(p.maps, 205, [&](TensorMap &m) { visit(s, m); });
  s.list(p.tiles, 17,
         [&](SharedTile &t) { scalars(s, t.address, t.leadingBytes, t.strideBytes, t.swizzle, t.kMajor); });
  s.list(p.places, 16, [&](Origin &o) {
    s.text(o.place.file);
    scalars(s, o.place.line, o.place.column);
    s.text(o.what);
  });
}

} // namespace

std::vector<uint8_t> serialize(const Program &program) {
  Writer writer;
  writer.number(kMagic, 4);
  writer.number(kVersion, 4);
  Program copy = program; // `visit` is written once for both directions and takes its fields by reference.
  visit(writer, copy);
  return std::move(writer.bytes);
}

Program deserialize(std::span<const uint8_t> bytes) {
  Reader reader{bytes};
  if (reader.number(4) != kMagic)
    throw ProgramError("not an emulator program");
  if (uint64_t version = reader.number(4); version != kVersion)
    throw ProgramError("emulator program of version " + std::to_string(version) + ", expected " +
                       std::to_string(kVersion));
  Program program;
  visit(reader, program);
  if (!reader.bytes.empty())
    throw ProgramError(std::to_string(reader.bytes.size()) + " bytes follow the program");
  return program;
}

} // namespace soliton::emu
