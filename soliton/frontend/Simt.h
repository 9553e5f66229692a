//===- Simt.h - A kernel as one lane sees it -------------------------------------===//
//
// A kernel with `Simt` speaks of one lane, as CUDA and HIP do: who it is, what it loads and stores, what it asks the
// other lanes of its wave.
//
//   Kernel saxpy{"saxpy", {Simt(256, {sym::ceildiv(N, 256)})}};
//   auto x = saxpy.memory("x", {N}, global, f32), y = saxpy.memory("y", {N}, global, f32);
//   Expr i = 256 * workgroup_id(0) + thread_id();
//   store(2.0 * load(x(i)) + load(y(i)), y(i));
//
// A lane's value is an element of a tile `[WAVES, LANES]`, so all that is said of tiles holds: operators and functions,
// conditionals and loops, what lies outside a memory, the order of what is read and written. In a kernel of tiles
// `elements` speaks of one element of a tile in the same words.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Ops.h"

namespace soliton {
inline namespace lang {

//===- Who I am ---------------------------------------------------------------===//

/// The dimensions of lanes' values: the lanes of a wave, the waves of a workgroup. `sum(x, lanes())` is the sum over
/// the wave, one for all of its lanes; `cumsum(x, lanes())` that of the lanes up to this one.
inline Expr lanes() {
  return symbol("LANES");
}
inline Expr waves() {
  return symbol("WAVES");
}
/// This lane in its wave, and this wave in its workgroup.
inline Expr lane_id() {
  return symbol("$LANE");
}
inline Expr wave_id() {
  return symbol("$WAVE");
}
/// This thread in its workgroup.
inline Expr thread_id() {
  return wave_id() * lanes() + lane_id();
}
/// In `elements`: where the element is along a dimension of its tensor.
inline Expr coordinate(Expr dim) {
  return symbol("$AT_" + std::string(dim.symbolName()));
}

//===- Memory -----------------------------------------------------------------===//

struct LoadOptions {
  /// So many neighbours along the last dimension, as a vector of the lane's own.
  int64_t vector = 1;
  std::string tag = {};
};

/// What this lane finds there; 0 outside the memory, and for a lane that is not there (`when`).
Value load(const Element &from, LoadOptions options = {}, Place place = std::source_location::current());
/// Puts the lane's value, or its vector from there on; nothing happens outside the memory, or if the lane is not there
/// (`when`).
void store(Operand value, const Element &to, OpOptions options = {}, Place place = std::source_location::current());

// Each changes the element in one step and gives what was there, as those on tiles do (Ops.h); 0 for a lane that is not
// there.
#define SOLITON_ATOMIC(NAME)                                                                                           \
  Value NAME(Operand value, const Element &to, OpOptions options = {}, Place place = std::source_location::current());
SOLITON_ATOMIC(atomic_add)
SOLITON_ATOMIC(atomic_min)
SOLITON_ATOMIC(atomic_max)
SOLITON_ATOMIC(atomic_exchange)
SOLITON_ATOMIC(atomic_and)
SOLITON_ATOMIC(atomic_or)
SOLITON_ATOMIC(atomic_xor)
#undef SOLITON_ATOMIC

/// The dimension of vectors of `n`: `sum(v, vector(4))` adds up the lane's own four.
Expr vector(int64_t n);
/// One of a vector.
Value component(const Value &vector, int64_t index, Place place = std::source_location::current());

//===- The other lanes ----------------------------------------------------------===//

// The value that another lane of the wave has. A lane whose source is none of the wave keeps its own.
/// From the lane that an expression or a value of each lane names.
Value shuffle(const Value &value, IndexEntry lane, OpOptions options = {},
              Place place = std::source_location::current());
/// From lane `lane_id() ^ mask`, `- distance`, `+ distance`.
Value shuffle_xor(const Value &value, int64_t mask, OpOptions options = {},
                  Place place = std::source_location::current());
Value shuffle_up(const Value &value, int64_t distance, OpOptions options = {},
                 Place place = std::source_location::current());
Value shuffle_down(const Value &value, int64_t distance, OpOptions options = {},
                   Place place = std::source_location::current());
/// From lane `(lane_id() + distance) % lanes()`.
Value rotate(const Value &value, int64_t distance, OpOptions options = {},
             Place place = std::source_location::current());

/// Bit `l` says whether `condition` holds in lane `l` of the wave; `i64`.
Value ballot(const Value &condition, Place place = std::source_location::current());
/// In how many lanes of the wave it holds, and in how many before this one; `i32`.
Value vote_count(const Value &condition, Place place = std::source_location::current());
Value vote_rank(const Value &condition, Place place = std::source_location::current());
/// Whether it holds in some lane of the wave, in all of them.
Value vote_any(const Value &condition, Place place = std::source_location::current());
Value vote_all(const Value &condition, Place place = std::source_location::current());
/// Whether it holds for any thread of the workgroup, as a number that conditionals and loops take.
Expr any_thread(const Value &condition, Place place = std::source_location::current());

//===- Lanes that go different ways ------------------------------------------------===//

namespace detail {
/// Lanes for which a condition does not hold are not there while this lives.
class WhenScope {
public:
  WhenScope(const Value &condition, bool holds, Place place);
  ~WhenScope();
  WhenScope(const WhenScope &) = delete;
  WhenScope &operator=(const WhenScope &) = delete;
  const Value &taken() const { return condition; }

private:
  std::shared_ptr<frontend::Program> program;
  Value condition;
};
/// Ops speak of an element of the tile while this lives.
class ElementsScope {
public:
  ElementsScope(const Value &tile, Place place);
  ~ElementsScope();
  ElementsScope(const ElementsScope &) = delete;
  ElementsScope &operator=(const ElementsScope &) = delete;

private:
  std::shared_ptr<frontend::Program> program;
};
std::vector<Value> laneWhile(const std::vector<Value> &inits,
                             const std::function<Value(const std::vector<Value> &)> &condition,
                             const std::function<std::vector<Value>(const std::vector<Value> &)> &body, Place place);
} // namespace detail

/// What `body` loads, stores and changes, only lanes do for which `condition` holds; the others load 0. All lanes
/// compute, and what they ask each other is not masked.
template <typename Body>
  requires std::is_void_v<std::invoke_result_t<Body>>
void when(const Value &condition, Body &&body, Place place = std::source_location::current()) {
  detail::WhenScope scope(condition, true, place);
  body();
}
/// One way or the other, each lane its own; what the branches return is chosen by lane.
template <typename Then, typename Else>
  requires std::is_same_v<std::invoke_result_t<Then>, std::invoke_result_t<Else>>
auto when(const Value &condition, Then &&then, Else &&otherwise, Place place = std::source_location::current()) {
  auto branch = [&](bool holds, auto &body) {
    detail::WhenScope scope(condition, holds, place);
    return body();
  };
  if constexpr (std::is_void_v<std::invoke_result_t<Then>>) {
    branch(true, then);
    branch(false, otherwise);
  } else {
    Value taken = branch(true, then), other = branch(false, otherwise);
    return select(condition, taken, other, {}, place);
  }
}

/// Each lane goes on as long as its own condition holds; a lane that is done keeps what it has while others go on.
///
///   auto [low, high] = lane_while({zero, count}, [&](Value low, Value high) { return low < high; },
///                                 [&](Value low, Value high) { …; return std::tuple{newLow, newHigh}; });
template <size_t N, typename Condition, typename Body>
std::array<Value, N> lane_while(const Value (&inits)[N], Condition &&condition, Body &&body,
                                Place place = std::source_location::current()) {
  auto spread = [](auto &&function, const std::vector<Value> &args) {
    return [&]<size_t... I>(std::index_sequence<I...>) { return function(args[I]...); }(std::make_index_sequence<N>());
  };
  auto pack = [](auto &&returned) {
    if constexpr (std::is_convertible_v<decltype(returned), Value>)
      return std::vector<Value>{returned};
    else
      return std::apply([](const auto &...each) { return std::vector<Value>{each...}; }, returned);
  };
  std::vector<Value> values = detail::laneWhile(
      {inits, inits + N}, [&](const std::vector<Value> &args) { return spread(condition, args); },
      [&](const std::vector<Value> &args) { return pack(spread(body, args)); }, place);
  std::array<Value, N> results;
  for (size_t i = 0; i != N; ++i)
    results[i] = values[i];
  return results;
}

/// Speaks of one element of a tile: `load`, `store`, atomics, `when` and `lane_while` are its own, and `coordinate(M)`
/// says where it is. Elements beyond the tensor are not there. What was computed of the tile's dimensions is the
/// element's too.
///
///   elements(acc, [&](Value x) { store(x * load(scale(coordinate(N))), c(coordinate(N), coordinate(M))); });
template <typename Body>
  requires std::is_invocable_v<Body, Value>
void elements(const Value &tile, Body &&body, Place place = std::source_location::current()) {
  detail::ElementsScope scope(tile, place);
  body(tile);
}

} // namespace lang
} // namespace soliton
