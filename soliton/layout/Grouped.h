//===- Grouped.h - Layouts of elements and of groups of them ---------------------------===//
//
// A scaled dimension has one place for several neighbouring elements of another: a byte of two f4, a scale of 32
// elements. Who holds the elements of K, said in groups of 32:
//
//   reg = (32 K 1)(2 K 128), lane = (16 M 1)(4 K 32)           who holds which element
//   reg = (2 K/32 4),        lane = (16 M 1)(4 K/32 1)         who holds an element of which group
//
// Where groups have several places, three bytes of four f6, who holds a group holds all of them, too:
//
//   reg = (32 K 1), lane = (16 M 1)(4 K 32)       reg = (24 3*(K/4) 1), lane = (16 M 1)(4 3*(K/4) 24)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"

#include <span>

namespace soliton {

/// The same holders with each digit of `group.base` said in two dimensions: `group.dim()`, which group it is, and one
/// of its own, which place inside. Registers keep their numbers. Nothing where a digit walks over the ends of groups.
std::optional<Layout> splitGroups(const Layout &elements, const ScaledDim &group);

/// The layout in the dimensions that a narrower tile has: of `K` in the groups of `K/32` if that is one of them, and
/// without those that it lacks. Every group whose elements are held has a holder there.
Layout restrictedTo(Layout wide, std::span<const Dim> narrow);
/// The wide layout in whose dimensions those of a narrower tile are found again; the rest stays.
Layout inDimsOf(const Layout &wide, std::span<const Dim> narrow);

/// Every holder of a group holds all its elements, one after the other. Nothing where a lane has a part of the places
/// of a group alone.
std::optional<Layout> ungrouped(const Layout &groups, const ScaledDim &group);
/// The layout of groups of which `ungrouped` differs from `elements` in the names of registers only; nothing where a
/// lane has a part of a group alone.
std::optional<Layout> grouped(const Layout &elements, const ScaledDim &group);
/// The same, but lanes that have a part of a group have all of it: as few elements more as that takes, or all of them.
Layout groupedByForce(const Layout &elements, const ScaledDim &group);

} // namespace soliton
