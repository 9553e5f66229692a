//===- Ops.h - The operations of the kernel language ------------------------------===//
//
// What can be said about tiles. Operands of element-wise operations have the same element type; their dimensions are
// equal, or one's contain the other's, which is then repeated. Numbers take the other side's type.
//
//   Value p = exp2(x - maximum(m, 0.0));
//   Value s = sum(p, N);                     // removes N
//   write(cast(p / s, f16), c);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Kernel.h"

namespace soliton {
inline namespace lang {

//===- Memory ----------------------------------------------------------------===//

/// The workgroup's tile of `memory`; elements outside the tensor are 0.
Value read(const MemoryRef &memory, AccessOptions options = {}, Place place = std::source_location::current());
/// One element, at a place that is the same for the whole workgroup, as a tile without dimensions: `read_at(lengths,
/// {workgroup_id(0)})`. Outside the tensor it is 0.
Value read_at(const MemoryRef &memory, std::vector<Expr> at, OpOptions options = {},
              Place place = std::source_location::current());
/// Writes a tile; elements outside the tensor are dropped. Rounds to the memory's float type.
void write(const Value &value, const MemoryRef &memory, AccessOptions options = {},
           Place place = std::source_location::current());

/// Each element of `memory` that an element of `value` is for becomes their sum (least, largest, the value itself, …)
/// in one step that nobody interrupts; gives what was there. A mapping says where, as it does for a read, so that
/// elements may meet:
///
///   Value count = atomic_add(one, bins, {.mapping = IndexMapping(…), .mapping_dynamic_vals = {bin}});
Value atomic_add(const Value &value, const MemoryRef &memory, AccessOptions options = {},
                 Place place = std::source_location::current());
Value atomic_min(const Value &value, const MemoryRef &memory, AccessOptions options = {},
                 Place place = std::source_location::current());
Value atomic_max(const Value &value, const MemoryRef &memory, AccessOptions options = {},
                 Place place = std::source_location::current());
Value atomic_exchange(const Value &value, const MemoryRef &memory, AccessOptions options = {},
                      Place place = std::source_location::current());
Value atomic_and(const Value &value, const MemoryRef &memory, AccessOptions options = {},
                 Place place = std::source_location::current());
Value atomic_or(const Value &value, const MemoryRef &memory, AccessOptions options = {},
                Place place = std::source_location::current());
Value atomic_xor(const Value &value, const MemoryRef &memory, AccessOptions options = {},
                 Place place = std::source_location::current());

/// Where `memory` holds `expected` it becomes `value`, in one step; gives what was there. Of `i32` or `i64`.
Value atomic_cas(const Value &expected, const Value &value, const MemoryRef &memory, AccessOptions options = {},
                 Place place = std::source_location::current());
/// Adds each element of `values` to the element of `memory` that lies at `indices` along `dim` and at its own place
/// along the other dimensions, which both have; elements that meet add up. It is an `atomic_add` with that mapping.
void scatter_add(const Value &values, const Value &indices, Expr dim, const MemoryRef &memory, OpOptions options = {},
                 Place place = std::source_location::current());
/// A hint that `memory` will be read soon, as `read` with these options reads it. Results are the same without.
void prefetch(const MemoryRef &memory, AccessOptions options = {}, Place place = std::source_location::current());

//===- Matrices, and what goes along a dimension --------------------------------===//

/// acc[…, M, N] + the sum over K of lhs[…, M, K] · rhs[…, N, K].
Value mma(const Value &lhs, const Value &rhs, const Value &acc, MmaOptions options = {},
          Place place = std::source_location::current());

/// The same on elements times a power of two that 32 neighbours along K share: lhs_scale[…, M, K/32] and
/// rhs_scale[…, N, K/32] are `f8e8m0fnu`, the elements floats of 8, 6 or 4 bits, the accumulator `f32`. Targets without
/// such an instruction multiply in `bf16`.
Value scaled_mma(const Value &lhs, const Value &lhs_scale, const Value &rhs, const Value &rhs_scale, const Value &acc,
                 MmaOptions options = {}, Place place = std::source_location::current());

// Each combines along `dim`, which the result lacks; the second form starts from `init`. What lies beyond the end of
// the dimension does not count: of nothing, `sum` is 0, `prod` 1, `any` false, `all` true, `max` the lowest number.
#define SOLITON_REDUCE(NAME)                                                                                           \
  Value NAME(const Value &source, Expr dim, ReduceOptions options = {},                                                \
             Place place = std::source_location::current());                                                           \
  Value NAME(const Value &source, const Value &init, Expr dim, ReduceOptions options = {},                             \
             Place place = std::source_location::current());
SOLITON_REDUCE(sum)
SOLITON_REDUCE(max)
SOLITON_REDUCE(min)
SOLITON_REDUCE(prod)
/// Of `i1`: whether one is true, whether all are.
SOLITON_REDUCE(any)
SOLITON_REDUCE(all)

// Each element combined with those before it along `dim`, and itself: the result has the type of the source. A loop
// carries on from `init`, which lacks `dim`: `y = cumsum(x, carried, N); carried = sum(x, carried, N)`.
SOLITON_REDUCE(cumsum)
SOLITON_REDUCE(cumprod)
SOLITON_REDUCE(cummax)
SOLITON_REDUCE(cummin)
#undef SOLITON_REDUCE

/// An element of each row, and its index along the whole dimension.
struct Extreme {
  Value value, index;
};
/// The largest (smallest) element along `dim` and where it first occurs, as `i32`: `auto [value, index] = argmax(x,
/// N)`. NaN is larger (smaller) than any number. Of nothing, the index is the largest there is.
Extreme argmax(const Value &source, Expr dim, ReduceOptions options = {},
               Place place = std::source_location::current());
Extreme argmin(const Value &source, Expr dim, ReduceOptions options = {},
               Place place = std::source_location::current());
/// The same, where `init` is one more candidate: what a loop has found so far.
Extreme argmax(const Value &source, const Extreme &init, Expr dim, ReduceOptions options = {},
               Place place = std::source_location::current());
Extreme argmin(const Value &source, const Extreme &init, Expr dim, ReduceOptions options = {},
               Place place = std::source_location::current());

/// Rows in order: the elements, and the index that each had along the whole dimension, as `i32`.
struct Sorted {
  Value value, index;
};
struct SortOptions {
  bool descending = false;
  std::string tag = {};
};
/// The elements of each row along `dim` from the least to the largest (or the other way round). Of equal elements the
/// one with the lower index comes first; NaN is larger than any number. `auto [value, index] = sort(x, N)`.
Sorted sort(const Value &source, Expr dim, SortOptions options = {}, Place place = std::source_location::current());
/// `keys` in order, and with them what they carry: `std::vector<Value> r = sort_by(keys, {a, b}, N)` are the keys, a,
/// b.
std::vector<Value> sort_by(const Value &keys, const std::vector<Value> &payloads, Expr dim, SortOptions options = {},
                           Place place = std::source_location::current());
struct TopkOptions {
  /// Otherwise the smallest, from the least on.
  bool largest = true;
  std::string tag = {};
};
/// The first elements of `sort`, from the largest on, as many as a tile of `k_dim` has; 0 where the row has fewer.
Sorted topk(const Value &source, Expr k_dim, Expr dim, TopkOptions options = {},
            Place place = std::source_location::current());
std::vector<Value> topk_by(const Value &keys, const std::vector<Value> &payloads, Expr k_dim, Expr dim,
                           TopkOptions options = {}, Place place = std::source_location::current());

//===- Types and dimensions ----------------------------------------------------===//

/// Converts every element: floats round to nearest even, float to integer towards zero, integers wrap.
Value cast(const Value &value, ElementType type, OpOptions options = {}, Place place = std::source_location::current());
/// Reads the bits of every element as another type of the same width: `bitcast(x, i32)` of an `f32` tile. Of another
/// width, a row has as many elements as its bits are: an `i8` tile of `[M, K/2]` is `f4e2m1fn` of `[M, K]`, one of
/// `[M, 3*K/4]` is `f6e2m3fn` or `f6e3m2fn` of `[M, K]`.
Value bitcast(const Value &value, ElementType type, OpOptions options = {},
              Place place = std::source_location::current());
/// `condition ? ifTrue : ifFalse`, element by element.
Value select(const Value &condition, Operand ifTrue, Operand ifFalse, OpOptions options = {},
             Place place = std::source_location::current());
/// Repeats a tile along further dimensions.
Value broadcast(const Value &value, std::vector<Expr> dims, OpOptions options = {},
                Place place = std::source_location::current());
/// Lists the dimensions in another order.
Value permute(const Value &value, std::vector<Expr> dims, OpOptions options = {},
              Place place = std::source_location::current());

/// The same elements in the same order, last dimension fastest, under other dimensions: `reshape(x, {H, D})` of a tile
/// `[N]`. Both tiles have as many elements.
Value reshape(const Value &value, std::vector<Expr> dims, OpOptions options = {},
              Place place = std::source_location::current());
struct SliceOptions {
  /// The first element, counted from the beginning of the tile: sizes, `iteration`, `index_of`, …
  Expr start = 0;
  Expr stride = 1;
  std::string tag = {};
};
/// Some of the elements along `dim`, as many as a tile of `into` has, which takes its place: `slice(x, N, H, {.start =
/// 16})`. What is not in the tile is 0.
Value slice(const Value &value, Expr dim, Expr into, SliceOptions options = {},
            Place place = std::source_location::current());
/// The elements at one place along `dim`, counted from the beginning of the tile; the result lacks it.
Value extract(const Value &value, Expr dim, Expr at, OpOptions options = {},
              Place place = std::source_location::current());
/// A tile, and the dimension along which others follow it.
struct Piece {
  Value value;
  Expr dim;
};
/// Tiles one behind the other along `into`: `concatenate({{a, N1}, {b, N2}}, N)`. Their extents add up to its.
Value concatenate(const std::vector<Piece> &pieces, Expr into, OpOptions options = {},
                  Place place = std::source_location::current());

/// Evaluates an index expression on the elements of integer tiles: `apply_expr(x, [](Expr x) { return 2 * x + 1; })`.
/// The elements are those of the first tile's type; a comparison, or several of them, is `i1`.
Value apply_expr(const Value &value, const ExprFunction &function, OpOptions options = {},
                 Place place = std::source_location::current());
Value apply_expr(const std::vector<Value> &values, const std::function<Expr(const std::vector<Expr> &)> &function,
                 OpOptions options = {}, Place place = std::source_location::current());

/// The one integer of a tile without dimensions (or of a scalar parameter), as a number that expressions may speak of:
/// counts of loops, conditions, mappings, bounds. It is the same for the whole workgroup.
Expr index_of(const Value &value, OpOptions options = {}, Place place = std::source_location::current());
/// From here on, to the end of the loop's body or branch that this stands in, expressions mean by `symbol` the one
/// integer of `value` (`index_of`). It may be set again. A dimension that is set keeps its strides and its tiles; loops
/// over it and the bounds of reads and writes follow.
void set_symbol(Expr symbol, const Value &value, OpOptions options = {}, Place place = std::source_location::current());

//===- Element-wise: operators ---------------------------------------------------===//

Value operator+(Operand lhs, Operand rhs);
Value operator-(Operand lhs, Operand rhs);
Value operator*(Operand lhs, Operand rhs);
/// Division of floats; integers have `floordiv`.
Value operator/(Operand lhs, Operand rhs);
/// Floor modulus of integers.
Value operator%(Operand lhs, Operand rhs);
Value operator&(Operand lhs, Operand rhs);
Value operator|(Operand lhs, Operand rhs);
Value operator^(Operand lhs, Operand rhs);
Value operator-(Operand operand);
/// Logical not of `i1`, bitwise not of integers.
Value operator~(Operand operand);
Value operator<(Operand lhs, Operand rhs);
Value operator<=(Operand lhs, Operand rhs);
Value operator>(Operand lhs, Operand rhs);
Value operator>=(Operand lhs, Operand rhs);
Value operator==(Operand lhs, Operand rhs);
Value operator!=(Operand lhs, Operand rhs);

//===- Element-wise: functions -----------------------------------------------------===//

#define SOLITON_BINARY(NAME)                                                                                           \
  Value NAME(Operand lhs, Operand rhs, OpOptions options = {}, Place place = std::source_location::current());
SOLITON_BINARY(floordiv)
SOLITON_BINARY(maximum)
SOLITON_BINARY(minimum)
SOLITON_BINARY(pow)
SOLITON_BINARY(atan2)
SOLITON_BINARY(lt)
SOLITON_BINARY(le)
SOLITON_BINARY(gt)
SOLITON_BINARY(ge)
SOLITON_BINARY(eq)
SOLITON_BINARY(ne)
#undef SOLITON_BINARY

#define SOLITON_UNARY(NAME)                                                                                            \
  Value NAME(const Value &operand, OpOptions options = {}, Place place = std::source_location::current());
SOLITON_UNARY(abs)
SOLITON_UNARY(exp)
SOLITON_UNARY(exp2)
SOLITON_UNARY(log)
SOLITON_UNARY(log2)
SOLITON_UNARY(log10)
SOLITON_UNARY(sqrt)
SOLITON_UNARY(rsqrt)
SOLITON_UNARY(reciprocal)
SOLITON_UNARY(sin)
SOLITON_UNARY(cos)
SOLITON_UNARY(sinh)
SOLITON_UNARY(tanh)
SOLITON_UNARY(erf)
SOLITON_UNARY(cbrt)
SOLITON_UNARY(floor)
SOLITON_UNARY(ceil)
/// Half away from zero.
SOLITON_UNARY(round)
SOLITON_UNARY(roundeven)
/// sign(x) · (1 - t) / (1 + t) with t = exp2(-2 · log2(e) · |x|).
SOLITON_UNARY(tanh_approx)
#undef SOLITON_UNARY

struct SoftsignOptions {
  double logit_cap = 30.0;
  /// Divides the cap by the square root of `head_dim`.
  bool apply_scaling = false;
  std::optional<int64_t> head_dim = {};
  std::string tag = {};
};
/// x / (1 + |x / cap|).
Value softsign(const Value &operand, SoftsignOptions options = {}, Place place = std::source_location::current());

//===- Looking inside ----------------------------------------------------------------===//

/// A dimension of a log that counts the iterations of a loop: what comes behind the last place is written to it.
struct LoggedLoop {
  Expr dim, axis;
};
struct DebugLogOptions {
  std::vector<LoggedLoop> loops = {};
  std::string tag = {};
};
/// Writes the tile to a tensor of its own, at the places of its elements: a parameter called `label` (or
/// `debug_log_output_<n>`) behind those that the kernel has so far, with the dimensions of the tile, behind those of
/// `loops`. What nobody logs stays as the caller made it.
MemoryRef debug_log(const Value &value, std::string label = {}, DebugLogOptions options = {},
                    Place place = std::source_location::current());
/// On the emulator: prints every element with its label, place, workgroup, wave and lane. Gives the tile. Targets that
/// run on a GPU refuse it.
Value debug_print(const Value &value, std::string label, OpOptions options = {},
                  Place place = std::source_location::current());

//===- Annotations -------------------------------------------------------------------===//

/// Gives the op that made `value` one more tag, by which schedules find it.
Value tag(const Value &value, std::string_view name);
/// Names a value for messages and printed programs.
Value named(const Value &value, std::string_view name);

} // namespace lang
} // namespace soliton
