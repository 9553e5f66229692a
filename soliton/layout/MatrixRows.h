//===- MatrixRows.h - Which rows a collective load fetches ------------------------------===//
//
// A collective load gives each lane a few elements of rows that other lanes point to. Its table says over the dims `S`
// (the lane that points) and `C` (which element of its row) what each register of each lane receives; given the layout
// that is wanted, this says where each lane points. A load that transposes 8x8 elements of 16 bits, and an operand
// whose lanes walk N while memory has N side by side:
//
//   table    reg = (2 S 1)(4 S 8), lane = (4 S 2)(8 C 1)
//   wanted   reg = (8 K 1), lane = (4 K 8)(8 N 1)
//   rows     reg = (8 N 1), lane = (2 K 1)(4 K 8)(4 K 2)      lane 3 points to 8 elements along N at K = 9
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"

namespace soliton {

/// A row of a target's table of collective loads.
struct MatrixTable {
  /// Over the dims "S" and "C".
  Layout result;
  /// Elements of a row.
  int64_t contiguous = 8;
};

/// Where each lane points for the first registers of `wanted`, as many as the table has, rows lying along `along`: the
/// row's elements are the registers. Registers beyond those are further loads, as outer register digits. Nothing where
/// the load cannot make that layout.
std::optional<Layout> matrixRows(const MatrixTable &table, const Layout &wanted, Dim along);

} // namespace soliton
