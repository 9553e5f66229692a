//===- EvalMatrix.cpp - Loads and stores that transpose between lanes -----===//
//
// Lanes address rows; the kind's table says which element of which row each register of each lane is.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <cstring>

namespace soliton::emu {
namespace {

/// Lanes whose addresses count.
uint64_t addressingLanes(const MatrixKind &kind) {
  uint64_t lanes = 0;
  for (uint8_t row : kind.row)
    lanes |= 1ull << row;
  return lanes;
}

LaneAccess rowsOf(Wave &wave, const Instr &instr, const MatrixKind &kind, bool isWrite) {
  wave.requireConverged(instr);
  LaneAccess rows =
      wave.resolve(instr, wave.program.addresses[instr.index], kind.rowBytes, {.only = addressingLanes(kind)});
  judgeAccess(wave, instr, rows, isWrite);
  return rows;
}

template <typename Memory>
void loadRows(const LaneAccess &rows, const MatrixKind &kind, uint32_t *to) {
  for (size_t i = 0; i < kind.row.size(); ++i) {
    Memory value = 0;
    if (rows.mask >> kind.row[i] & 1)
      std::memcpy(&value, rows.base + rows.at[kind.row[i]] + kind.column[i] * sizeof(Memory), sizeof(Memory));
    to[i] = value;
  }
}

template <typename Memory>
void storeRows(const LaneAccess &rows, const MatrixKind &kind, const uint32_t *from) {
  for (size_t i = 0; i < kind.row.size(); ++i) {
    Memory value = static_cast<Memory>(from[i]);
    if (rows.mask >> kind.row[i] & 1)
      std::memcpy(rows.base + rows.at[kind.row[i]] + kind.column[i] * sizeof(Memory), &value, sizeof(Memory));
  }
}

void loadNibbles(const LaneAccess &rows, const MatrixKind &kind, uint32_t *to) {
  for (size_t i = 0; i < kind.row.size(); ++i) {
    bool exists = rows.mask >> kind.row[i] & 1;
    auto byte = exists ? static_cast<uint32_t>(rows.base[rows.at[kind.row[i]] + kind.column[i] / 2]) : 0;
    to[i] = byte >> (4 * (kind.column[i] % 2)) & 15;
  }
}

void storeNibbles(const LaneAccess &rows, const MatrixKind &kind, const uint32_t *from) {
  for (size_t i = 0; i < kind.row.size(); ++i) {
    if (!(rows.mask >> kind.row[i] & 1))
      continue;
    std::byte &byte = rows.base[rows.at[kind.row[i]] + kind.column[i] / 2];
    int shift = 4 * (kind.column[i] % 2);
    byte = (byte & ~std::byte(15 << shift)) | std::byte((from[i] & 15) << shift);
  }
}

void evalLoadMatrix(Wave &wave, const Instr &instr) {
  const MatrixKind &kind = wave.program.matrixKinds[size_t(instr.imm)];
  LaneAccess rows = rowsOf(wave, instr, kind, false);
  uint32_t *to = wave.words(instr.dst);
  switch (kind.elementBits) {
  case 4:
    return loadNibbles(rows, kind, to);
  case 8:
    return loadRows<uint8_t>(rows, kind, to);
  case 16:
    return loadRows<uint16_t>(rows, kind, to);
  default:
    return loadRows<uint32_t>(rows, kind, to);
  }
}

void evalStoreMatrix(Wave &wave, const Instr &instr) {
  const MatrixKind &kind = wave.program.matrixKinds[size_t(instr.imm)];
  LaneAccess rows = rowsOf(wave, instr, kind, true);
  wave.group.noteChange();
  const uint32_t *from = wave.read<uint32_t>(instr.src[1], true, 0);
  switch (kind.elementBits) {
  case 4:
    return storeNibbles(rows, kind, from);
  case 8:
    return storeRows<uint8_t>(rows, kind, from);
  case 16:
    return storeRows<uint16_t>(rows, kind, from);
  default:
    return storeRows<uint32_t>(rows, kind, from);
  }
}

} // namespace

Handler matrixHandler(const Program &, const Instr &instr) {
  return instr.op == Op::LoadMatrix ? evalLoadMatrix : evalStoreMatrix;
}

} // namespace soliton::emu
