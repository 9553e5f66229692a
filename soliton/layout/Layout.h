//===- Layout.h - Who holds which element of a tile --------------------------===//
//
// A layout says which element of a workgroup's tile sits in register `r` of lane `l` of wave `w`. Each of the axes reg,
// lane and wave is a list of *digits*, least significant first; a digit `(extent dim stride)` adds `digit * stride` to
// the coordinate of `dim`, a digit without dim is replication (its holders hold equal values). Accumulator of a 32x32
// matrix instruction:
//
//   reg = (4 M 1)(4 M 8), lane = (32 N 1)(2 M 4)
//
// so register 5 of lane 33 holds row 1*1 + 1*8 + 1*4 = 13, column 1. A value that lacks a dim does not depend on it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Dim.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace soliton {

/// One digit of an axis. `dim` absent: replication, and the stride is 0.
struct Digit {
  int64_t extent = 1;
  std::optional<Dim> dim;
  int64_t stride = 0;

  Digit() = default;
  Digit(int64_t extent, Dim dim, int64_t stride) : extent(extent), dim(dim), stride(stride) {}
  /// A replicating digit.
  explicit Digit(int64_t extent) : extent(extent) {}

  bool operator==(const Digit &) const = default;
};

using Digits = std::vector<Digit>;

/// Coordinates that are 0 may be absent.
using Coordinates = std::map<Dim, int64_t>;

enum class Axis : uint8_t { reg, lane, wave };
std::string_view name(Axis axis);

/// One place that holds an element.
struct Holder {
  int64_t reg = 0;
  int64_t lane = 0;
  int64_t wave = 0;
  bool operator==(const Holder &) const = default;
  auto operator<=>(const Holder &) const = default;
};

/// Product of extents.
int64_t countOf(const Digits &digits);
/// The digits of `position`, least significant first.
std::vector<int64_t> split(const Digits &digits, int64_t position);
/// Adds what `position` on this axis contributes to the coordinates.
void addCoordinates(const Digits &digits, int64_t position, Coordinates &into);
/// Without extent-1 digits, neighbours merged where they continue each other; two digit lists describe the same
/// function exactly when their canonical forms are equal.
Digits canonical(const Digits &digits);

class Layout {
public:
  Digits reg, lane, wave;
  /// Added to every coordinate (a piece of a larger layout); absent means 0.
  Coordinates offset;

  Layout() = default;
  Layout(Digits reg, Digits lane, Digits wave = {}, Coordinates offset = {})
      : reg(std::move(reg)), lane(std::move(lane)), wave(std::move(wave)), offset(std::move(offset)) {}

  /// Reads the text form; on failure returns nothing and says why in `error`. Never asserts, whatever the text.
  static std::optional<Layout> parse(std::string_view text, std::string *error = nullptr);
  /// `reg = (4 M 1)(4 M 8), lane = (32 N 1)(2 M 4), wave = (2 _ 0), offset = (M 16)`; an axis of one position and an
  /// empty offset are left out; the layout of a scalar held once prints as `reg = (1 _ 0)`.
  std::string str() const;

  /// Canonical digits on every axis, zero offsets removed. Equality compares canonical forms: same function, same
  /// counts.
  Layout canonical() const;
  bool operator==(const Layout &other) const;
  size_t hash() const;

  const Digits &digits(Axis axis) const;
  Digits &digits(Axis axis);
  /// Positions on each axis.
  int64_t regs() const { return countOf(reg); }
  int64_t lanes() const { return countOf(lane); }
  int64_t waves() const { return countOf(wave); }

  /// What (reg, lane, wave) holds; every dim of the layout is present in the result.
  Coordinates coordinates(int64_t reg, int64_t lane, int64_t wave) const;
  int64_t coordinate(Dim dim, int64_t reg, int64_t lane, int64_t wave) const;
  /// Every place that holds the element, in order of (wave, lane, reg). Coordinates of dims the layout lacks are
  /// ignored.
  std::vector<Holder> holders(const Coordinates &coordinate) const;

  /// Dims with a digit or an offset.
  std::set<Dim> dims() const;
  bool hasDim(Dim dim) const;
  /// 1 + the largest coordinate of `dim`, offset not counted; 1 for a dim that the layout lacks.
  int64_t extent(Dim dim) const;
  std::map<Dim, int64_t> extents() const;
  /// Number of holders of each element: product of the replicating digits' extents.
  int64_t replication() const;
  /// Every element of the box of extents is held by exactly replication() places (checked by counting all of them).
  bool isBijectiveUpToReplication() const;
  /// No element is held twice but by replication; gaps are allowed (pieces of a layout have them).
  bool isInjectiveUpToReplication() const;
  /// Why the layout is not well formed (extent < 1, negative stride, count beyond 2^40), or nothing.
  std::optional<std::string> verify() const;

  /// The same layout with dims renamed; those not mentioned stay. Two dims may not become one.
  Layout renamed(const std::map<Dim, Dim> &names) const;
  /// A permutation of a tile's dimensions changes its type's order and nothing here.
  const Layout &permuted() const { return *this; }
  /// The layout of a reduction over `dim`: its registers are gone, its lanes and waves replicate.
  Layout withoutDim(Dim dim) const;
  /// The value stretched over a new dim: each holder keeps `extent` copies, as outermost registers.
  Layout broadcastInto(Dim dim, int64_t extent) const;
  /// The same holders with the registers of `dim` first, smallest stride first: the order in which a memory whose
  /// fastest dimension it is has their elements.
  Layout registersAlong(Dim dim) const;
  /// `count` copies of the layout side by side, `stride` apart along `dim`, as outermost digit of the axis.
  Layout tiled(Axis axis, Dim dim, int64_t count, int64_t stride) const;
  /// `count` equal copies of the value as outermost digit of the axis.
  Layout replicated(Axis axis, int64_t count) const;

  /// The registers [begin, begin + count) as a layout of their own, if digits can say it: its offset is where they
  /// start.
  std::optional<Layout> subLayout(int64_t begin, int64_t count) const;
  /// Whether pieces(nativeRegs) are layouts: the digits split there.
  bool splits(int64_t nativeRegs) const;
  /// Consecutive groups of `nativeRegs` registers, each with its offset; nothing when regs() is no multiple or the
  /// digits do not split.
  std::optional<std::vector<Layout>> pieces(int64_t nativeRegs) const;
  /// How many consecutive registers (from register 0, repeating) walk `dim` with stride 1: the widest access along it.
  int64_t contiguousRun(Dim dim) const;
};

/// Prints digits only: `(4 M 1)(4 M 8)`.
std::string str(const Digits &digits);

} // namespace soliton
