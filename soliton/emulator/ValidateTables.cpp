//===- ValidateTables.cpp - The tables of a program, checked --------------===//
//
// Limits here are far above any kernel; they keep a hostile program from asking for the host's memory.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/ValidateTables.h"

#include <algorithm>

namespace soliton::emu {
namespace {

constexpr uint64_t kMaxWaves = 64, kMaxShared = 1 << 20, kMaxSlots = 1 << 20, kMaxCount = 4096, kMaxCode = 1 << 22;
constexpr uint64_t kMaxWaveBytes = 64 << 20, kMaxMatrix = 1 << 16, kMaxTable = 1 << 20;

std::string checkSizes(const Program &p) {
  if (p.waveSize != 32 && p.waveSize != 64)
    return "a wave of " + std::to_string(p.waveSize) + " lanes, expected 32 or 64";
  if (p.waves < 1 || p.waves > kMaxWaves)
    return std::to_string(p.waves) + " waves, expected 1 to 64";
  if (p.sharedBytes > kMaxShared)
    return std::to_string(p.sharedBytes) + " bytes of shared memory, expected at most 1 MiB";
  for (uint32_t extent : p.cluster)
    if (extent < 1 || extent > 16)
      return "a cluster of " + std::to_string(extent) + " workgroups along an axis, expected 1 to 16";
  if (p.clusterSize() > 16 || p.clusterSize() * p.waves > 512)
    return "a cluster of " + std::to_string(p.clusterSize()) + " workgroups of " + std::to_string(p.waves) +
           " waves, expected at most 16 workgroups and 512 waves";
  if (p.numBuffers > 1024 || p.scalars.size() > 1024)
    return "more than 1024 arguments";
  if (p.code.size() > kMaxCode || p.slots.size() > kMaxSlots || p.pool.size() > (1u << 26))
    return "the program is too long";
  for (size_t size :
       {p.regions.size(), p.addresses.size(), p.mmaKinds.size(), p.matrixKinds.size(), p.maps.size(), p.tiles.size()})
    if (size > kMaxCode)
      return "a table is too long";
  if (p.places.empty())
    return "the unknown place is missing";
  if (p.rules.banks < 1 || p.rules.banks > 1024)
    return std::to_string(p.rules.banks) + " banks, expected 1 to 1024";
  if (p.occupancy.computeUnits < 1 || p.occupancy.computeUnits > 4096)
    return std::to_string(p.occupancy.computeUnits) + " compute units, expected 1 to 4096";
  if (p.rules.globalAlignment < 1 || p.rules.globalAlignment > 16)
    return "a global alignment of " + std::to_string(p.rules.globalAlignment) + ", expected 1 to 16";
  return {};
}

bool isType(DType type) {
  return static_cast<size_t>(type) < allDTypes().size() && type != DType::index;
}

std::string checkSlots(const Program &p) {
  uint64_t total = 0;
  for (const SlotInfo &info : p.slots) {
    if (!isType(info.type) || info.count < 1 || info.count > kMaxCount)
      return "a slot of " + std::to_string(info.count) + " elements, or of no type";
    total += uint64_t(info.count) * (info.uniform ? 1 : p.waveSize) * (bits(info.type) > 32 ? 8 : 4);
  }
  for (DType type : p.scalars)
    if (!isType(type))
      return "a scalar argument of no type";
  return total > kMaxWaveBytes ? "slots of " + std::to_string(total) + " bytes a wave, expected at most 64 MiB" : "";
}

std::string checkRegions(const Program &p) {
  if (p.stable.size() > p.numBuffers)
    return std::to_string(p.stable.size()) + " stable buffers of " + std::to_string(p.numBuffers);
  for (uint32_t buffer : p.stable)
    if (buffer >= p.numBuffers)
      return "buffer " + std::to_string(buffer) + " is stable and does not exist";
  for (const Region &region : p.regions) {
    if (!region.shared && region.argument >= p.numBuffers)
      return "region `" + region.name + "` is of a buffer that does not exist";
    if (region.shared && uint64_t(region.offset) + region.bytes > p.sharedBytes)
      return "region `" + region.name + "` is beyond the shared block";
  }
  auto fits = [&](Slot slot, DType type, bool uniform) {
    if (slot == kNoSlot)
      return true;
    return slot < p.slots.size() && p.slots[slot].type == type && p.slots[slot].count == 1 &&
           (p.slots[slot].uniform || !uniform);
  };
  for (const Address &at : p.addresses) {
    if (at.region >= p.regions.size())
      return "an address in a region that does not exist";
    bool wide = fits(at.lane, DType::i64, false) && at.uniform == kNoSlot && !p.regions[at.region].shared;
    if ((!fits(at.lane, DType::i32, false) && !wide) || !fits(at.uniform, DType::i32, true) ||
        !fits(at.base, DType::i64, true) || !fits(at.limit, DType::i64, true))
      return "an address part of `" + p.regions[at.region].name + "` is no scalar of the right type";
    if (at.immediate < INT32_MIN || at.immediate > INT32_MAX)
      return "an immediate of " + std::to_string(at.immediate) + " bytes, expected 32 bits";
  }
  for (const SharedTile &tile : p.tiles) {
    if (tile.address >= p.addresses.size() || !p.regions[p.addresses[tile.address].region].shared)
      return "a tile that is not in shared memory";
    const Address &at = p.addresses[tile.address];
    if (at.lane != kNoSlot && !p.slots[at.lane].uniform)
      return "a tile that starts elsewhere in each lane";
    if (tile.swizzle != 0 && tile.swizzle != 32 && tile.swizzle != 64 && tile.swizzle != 128)
      return "a swizzle of " + std::to_string(tile.swizzle) + " bytes, expected 0, 32, 64 or 128";
  }
  return {};
}

bool checkFragment(const Fragment &fragment, uint64_t elements, uint32_t waveSize) {
  if (fragment.registers > 1024 || fragment.element.size() != size_t(fragment.registers) * waveSize)
    return false;
  for (uint32_t element : fragment.element)
    if (element != kNoElement && element >= elements)
      return false;
  return true;
}

std::string checkMma(const Program &p, const MmaKind &kind) {
  std::string where = "mma kind `" + kind.name + "`: ";
  if (!kind.m || !kind.n || !kind.k || !kind.blocks || !kind.waves || kind.m > 1024 || kind.n > 1024 || kind.k > 1024 ||
      kind.blocks > 64 || kind.m % kind.waves != 0)
    return where + "the shape is not one";
  uint64_t m = kind.m / kind.waves, sizeA = m * kind.k * kind.blocks, sizeB = uint64_t(kind.n) * kind.k * kind.blocks,
           sizeAcc = m * kind.n * kind.blocks;
  if (sizeA > kMaxMatrix || sizeB > kMaxMatrix || sizeAcc > kMaxMatrix)
    return where + "the shape is too large";
  if (!isType(kind.a) || !isType(kind.b) || !isType(kind.acc))
    return where + "an operand of no type";
  bool integer =
      kind.acc == DType::i32 && isInteger(kind.a) && isInteger(kind.b) && bits(kind.a) <= 8 && bits(kind.b) <= 8;
  bool f64 = kind.acc == DType::f64 && kind.a == DType::f64 && kind.b == DType::f64;
  bool narrow = (kind.acc == DType::f32 || kind.acc == DType::f16 || kind.acc == DType::bf16) && isFloat(kind.a) &&
                isFloat(kind.b) && kind.a != DType::f64 && kind.b != DType::f64;
  if (!integer && !f64 && !narrow)
    return where + "no arithmetic for these types";
  if (!checkFragment(kind.fragA, sizeA, p.waveSize) || !checkFragment(kind.fragB, sizeB, p.waveSize) ||
      !checkFragment(kind.fragAcc, sizeAcc, p.waveSize) || kind.fragAcc.registers == 0)
    return where + "a fragment does not fit the shape";
  constexpr uint32_t kMostSumBits = 16; // cut terms are added up in 32 bits
  bool isShort = kind.acc == DType::f32 && narrow && bits(kind.a) <= 8 && bits(kind.b) <= 8 && kind.blocks == 1 &&
                 kind.scaleBlock == 0 && kind.sumBits <= kMostSumBits && kind.k <= (1u << (30 - kMostSumBits - 2));
  if (kind.sumBits && !isShort)
    return where + "short sums are of 8-bit floats in f32";
  if (kind.scaleBlock == 0)
    return {};
  if (kind.k % kind.scaleBlock != 0 || !narrow || kind.blocks != 1)
    return where + "scale blocks do not fit the shape";
  uint64_t scales = kind.k / kind.scaleBlock;
  if (!checkFragment(kind.fragScaleA, m * scales, p.waveSize) ||
      !checkFragment(kind.fragScaleB, kind.n * scales, p.waveSize))
    return where + "a scale fragment does not fit the shape";
  return {};
}

std::string checkMatrix(const Program &p, const MatrixKind &kind) {
  std::string where = "matrix kind `" + kind.name + "`: ";
  if (kind.registers < 1 || kind.registers > 64 || kind.rowBytes < 1 || kind.rowBytes > 16)
    return where + "the shape is not one";
  if (kind.elementBits != 4 && kind.elementBits != 8 && kind.elementBits != 16 && kind.elementBits != 32)
    return where + "elements of " + std::to_string(kind.elementBits) + " bits, expected 4, 8, 16 or 32";
  size_t size = size_t(kind.registers) * p.waveSize;
  if (kind.row.size() != size || kind.column.size() != size)
    return where + "the table does not fit the wave";
  for (size_t i = 0; i < size; ++i)
    if (kind.row[i] >= p.waveSize || (kind.column[i] + 1u) * kind.elementBits > kind.rowBytes * 8)
      return where + "an element is beyond its row";
  return {};
}

bool isQuantity(const Program &p, const Quantity &q) {
  if (q.slot == kNoSlot)
    return q.value >= 0 && q.value <= (int64_t(1) << 40);
  return q.slot < p.slots.size() && p.slots[q.slot] == SlotInfo{DType::i64, 1, true};
}

/// What is wrong with the corners of a map of images.
std::string checkCorners(const TensorMap &map) {
  if (map.corners == 0)
    return {};
  if (map.corners > 3 || map.corners + 2 != map.rank)
    return std::to_string(map.corners) + " corners of " + std::to_string(map.rank) + " dimensions, expected two less";
  int32_t most = int32_t(1) << (cornerBits(map.corners) - 1);
  for (uint32_t i = 0; i < map.corners; ++i) {
    if (std::min(map.lower[i], map.upper[i]) < -most || std::max(map.lower[i], map.upper[i]) >= most)
      return "a corner outside of " + std::to_string(-most) + " to " + std::to_string(most - 1);
    if (map.step[i] < 1 || map.step[i] > 8)
      return "a step of " + std::to_string(map.step[i]) + ", expected 1 to 8";
  }
  return {};
}

std::string checkMap(const Program &p, const TensorMap &map) {
  std::string where = "tensor map `" + map.name + "`: ";
  if (map.rank < 1 || map.rank > 5 || map.argument >= p.numBuffers)
    return where + "no rank, or of a buffer that does not exist";
  if (!isType(map.type) || bits(map.type) < 8)
    return where + "elements have to be whole bytes";
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
    return where + "a swizzle of " + std::to_string(map.swizzle) + " bytes, expected 0, 32, 64 or 128";
  uint64_t bytes = uint64_t(bits(map.type)) / 8;
  for (uint32_t i = 0; i < map.rank; ++i) {
    uint32_t most = map.corners == 0 || i == 0 ? 256 : i == 1 ? 1024 : 1;
    if (map.box[i] < 1 || map.box[i] > most)
      return where + "a box of " + std::to_string(map.box[i]) + ", expected 1 to " + std::to_string(most);
    bytes *= map.box[i];
    if (!isQuantity(p, map.size[i]) || !isQuantity(p, map.stride[i]))
      return where + "a size or stride is not one";
  }
  if (!isQuantity(p, map.offset))
    return where + "its offset is not one";
  if (std::string problem = checkCorners(map); !problem.empty())
    return where + problem;
  if (map.box[0] * uint64_t(bits(map.type)) / 8 % 16 != 0)
    return where + "the rows of its box are no multiple of 16 bytes";
  if (bytes > kMaxTable)
    return where + "the box is larger than shared memory can be";
  if (map.swizzle && map.box[0] * uint64_t(bits(map.type)) / 8 > map.swizzle)
    return where + "the inner box is wider than the swizzle";
  return {};
}

} // namespace

const char *orderProblem(const Instr &instr) {
  if (instr.order > Order::AcquireRelease || instr.scope > Scope::Device)
    return "the order or scope does not exist";
  bool orders = acquires(instr.order) || releases(instr.order);
  switch (instr.op) {
  case Op::Load:
    return releases(instr.order) ? "a load cannot release" : nullptr;
  case Op::Store:
    return acquires(instr.order) ? "a store cannot acquire" : nullptr;
  case Op::Atomic:
    return instr.order == Order::Plain ? "an atomic cannot be plain" : nullptr;
  case Op::Fence:
    return orders != (instr.sub <= uint8_t(FenceOp::Global)) ? "fences of memory, and only those, acquire or release"
                                                             : nullptr;
  default:
    return instr.order != Order::Plain ? "has no order" : nullptr;
  }
}

uint64_t residentWorkgroups(const Program &program) {
  const Occupancy &unit = program.occupancy;
  uint64_t byWaves = unit.waves / program.waves;
  uint64_t byShared = program.sharedBytes ? unit.sharedBytes / program.sharedBytes : UINT32_MAX;
  if (unit.waves == 0)
    byWaves = 1;
  if (unit.sharedBytes == 0)
    byShared = UINT32_MAX;
  return std::max<uint64_t>(1, std::min(byWaves, byShared)) * unit.computeUnits;
}

std::string validateTables(const Program &program) {
  for (auto *check : {checkSizes, checkSlots, checkRegions})
    if (std::string problem = check(program); !problem.empty())
      return problem;
  for (const MmaKind &kind : program.mmaKinds)
    if (std::string problem = checkMma(program, kind); !problem.empty())
      return problem;
  for (const MatrixKind &kind : program.matrixKinds)
    if (std::string problem = checkMatrix(program, kind); !problem.empty())
      return problem;
  for (const TensorMap &map : program.maps)
    if (std::string problem = checkMap(program, map); !problem.empty())
      return problem;
  return {};
}

} // namespace soliton::emu
