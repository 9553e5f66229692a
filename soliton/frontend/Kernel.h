//===- Kernel.h - A kernel as its author writes it -------------------------------===//
//
// Constructing a `Kernel` and calling ops on its values records a program; nothing is computed. Mistakes are collected
// with their places and reported when the kernel is compiled.
//
//   Kernel copy{"copy", {WorkgroupConstraint(M, BM, 0), HardwareConstraint{}}};
//   auto a = copy.memory("a", {M}, global, f32), b = copy.memory("b", {M}, global, f32);
//   write(read(a), b);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Value.h"
#include "soliton/target/Hints.h"

#include <tuple>
#include <type_traits>

namespace soliton {
inline namespace lang {

/// Of a barrier for shared memory: copies that are under way are waited for before. Here every barrier does.
struct SharedBarrierOptions {
  bool wait_async_ops = false;
};

/// What a tensor parameter may say besides its shape.
struct MemoryOptions {
  /// Elements from one index to the next along each dimension; empty means row by row without gaps. A symbol that is
  /// known only at launch is taken from the tensor that is passed, or given by name.
  std::vector<Expr> strides = {};
  /// Weights: no launch that a dependent one may overtake (`CompileOptions::dependentLaunch`) writes it, nor this one.
  /// They are read before what such a launch has to wait for.
  bool stable = false;
};

/// A kernel; copies share one program.
class Kernel {
public:
  Kernel(std::string name, std::vector<Constraint> constraints, Place place = std::source_location::current());

  /// The kernel that a value or memory belongs to.
  explicit Kernel(std::shared_ptr<frontend::Program> program) : owner(std::move(program)) {}

  /// A tensor parameter. `space` is `global`, `shared` or a symbol that `subs` binds to one of them.
  MemoryRef memory(std::string name, std::vector<Expr> shape, Expr space, ElementType type,
                   Place place = std::source_location::current());
  /// One whose elements do not lie row by row: `memory("a", {M, K}, global, f16, {.strides = {LDA, 1}})`.
  MemoryRef memory(std::string name, std::vector<Expr> shape, Expr space, ElementType type, MemoryOptions options,
                   Place place = std::source_location::current());
  /// A tile of these dimensions in the workgroup's shared memory: what one wave writes, all of them can read. It holds
  /// nothing until it is written; barriers and waits are derived.
  MemoryRef allocate(std::string name, std::vector<Expr> dims, ElementType type,
                     Place place = std::source_location::current());
  /// An array of these extents in the workgroup's shared memory, which lanes reach by its places (Simt.h).
  MemoryRef shared_array(std::string name, std::vector<Expr> extents, ElementType type,
                         Place place = std::source_location::current());
  /// All waves of the workgroup have come here, and see what the others have done, before one goes on. Only a schedule
  /// or a reader needs to be told: the compiler puts barriers wherever memory asks for them.
  void barrier(Place place = std::source_location::current());
  /// Wave's names of the same: no target has a barrier that orders the one memory and not the other.
  void workgroup_barrier(Place place = std::source_location::current());
  void shared_memory_barrier(SharedBarrierOptions options = {}, Place place = std::source_location::current());
  /// A barrier in two parts: no wave goes on from the `wait` before all have come to the `signal` of that number: 1 to
  /// 16, or -1 for the workgroup's own; 0 is none. They take turns, in one block.
  void shared_memory_barrier_signal(int id = 0, Place place = std::source_location::current());
  void shared_memory_barrier_wait(int id = 0, Place place = std::source_location::current());
  /// This wave goes on when at most so many of its own accesses are outstanding; a counter that the target lacks is not
  /// waited for. Only a reader needs to be told: the compiler waits wherever values ask for it.
  void memory_counter_wait(const CounterLimits &limits, Place place = std::source_location::current());
  /// The wait, then a barrier.
  void memory_counter_wait_barrier(const CounterLimits &limits, Place place = std::source_location::current());
  /// From here on this wave issues before those of a lower priority, 0 to 3. It changes timing, no result.
  void set_wave_prio(int level, Place place = std::source_location::current());
  /// The back end moves nothing over this place but the classes that are named.
  void scheduling_barrier(const std::vector<InstructionClass> &may_cross = {},
                          Place place = std::source_location::current());
  /// The back end keeps this many instructions of each class together, in this order.
  void scheduling_group_barrier(const std::vector<std::pair<InstructionClass, int>> &groups, int sync = 0,
                                Place place = std::source_location::current());
  /// A number passed at launch.
  Value scalar(std::string name, ElementType type, Place place = std::source_location::current());

  /// A tile whose elements are all `number`, a constant.
  Value fill(std::vector<Expr> dims, ElementType type, Operand number, OpOptions options = {},
             Place place = std::source_location::current());
  /// A tile whose elements are all `scalar`.
  Value splat(std::vector<Expr> dims, Value scalar, OpOptions options = {},
              Place place = std::source_location::current());
  /// Each element's own index along `dim`.
  Value self_index(Expr dim, ElementType type = i32, OpOptions options = {},
                   Place place = std::source_location::current());

  /// What an expression is for each lane (Simt.h): `kernel.per_lane(thread_id() % 32)`.
  Value per_lane(Expr expr, ElementType type = i32, OpOptions options = {},
                 Place place = std::source_location::current());

  /// A loop over `axis` that carries one value from iteration to iteration; the result is the last one.
  template <typename Body>
    requires std::is_invocable_v<Body, Value>
  Value iterate(Expr axis, Value init, Body &&body, LoopOptions options = {},
                Place place = std::source_location::current()) {
    return iterateAll(
        axis, {std::move(init)}, [&](const auto &args) { return pack(body(args[0])); }, options, place)[0];
  }

  /// The same with several values: `auto [m, s] = k.iterate(N, {m0, s0}, [&](Value m, Value s) { …; return
  /// std::tuple{m, s}; })`.
  template <size_t N, typename Body>
  std::array<Value, N> iterate(Expr axis, const Value (&inits)[N], Body &&body, LoopOptions options = {},
                               Place place = std::source_location::current()) {
    auto call = [&](const std::vector<Value> &args) {
      return
          [&]<size_t... I>(std::index_sequence<I...>) { return pack(body(args[I]...)); }(std::make_index_sequence<N>());
    };
    std::vector<Value> values = iterateAll(axis, {inits, inits + N}, call, options, place);
    std::array<Value, N> results;
    for (size_t i = 0; i != N; ++i)
      results[i] = values[i];
    return results;
  }

  /// The same with a number of values known only when the kernel is traced.
  template <typename Body>
    requires std::is_invocable_v<Body, const std::vector<Value> &>
  std::vector<Value> iterate(Expr axis, const std::vector<Value> &inits, Body &&body, LoopOptions options = {},
                             Place place = std::source_location::current()) {
    return iterateAll(axis, inits, [&](const std::vector<Value> &args) { return pack(body(args)); }, options, place);
  }

  /// A loop that carries nothing and acts through what it writes.
  template <typename Body>
    requires std::is_invocable_v<Body>
  void iterate(Expr axis, Body &&body, LoopOptions options = {}, Place place = std::source_location::current()) {
    auto call = [&](const std::vector<Value> &) {
      body();
      return std::vector<Value>();
    };
    iterateAll(axis, {}, call, options, place);
  }

  /// In the body of a loop: it ends with this iteration unless `condition` holds, which is one for the whole workgroup:
  /// `k.continue_while(lt(index_of(any_left), 1))`.
  void continue_while(Expr condition, OpOptions options = {}, Place place = std::source_location::current());

  /// A loop that runs as long as a condition on what it carries holds, which is one for the whole workgroup:
  ///
  ///   auto [i, acc] = k.iterate_while({first, zero}, [&](Value i, Value) { return lt(index_of(i), N); },
  ///                                   [&](Value i, Value acc) { …; return std::tuple{i + 1, acc + x}; });
  template <size_t N, typename Condition, typename Body>
  std::array<Value, N> iterate_while(const Value (&inits)[N], Condition &&condition, Body &&body,
                                     OpOptions options = {}, Place place = std::source_location::current()) {
    auto spread = [](auto &&function, const std::vector<Value> &args) {
      return
          [&]<size_t... I>(std::index_sequence<I...>) { return function(args[I]...); }(std::make_index_sequence<N>());
    };
    std::vector<Value> values = whileAll(
        {inits, inits + N}, [&](const std::vector<Value> &args) { return spread(condition, args); },
        [&](const std::vector<Value> &args) { return pack(spread(body, args)); }, options, place);
    std::array<Value, N> results;
    for (size_t i = 0; i != N; ++i)
      results[i] = values[i];
    return results;
  }
  /// The same with a number of values known only when the kernel is traced.
  template <typename Condition, typename Body>
    requires std::is_invocable_v<Body, const std::vector<Value> &>
  std::vector<Value> iterate_while(const std::vector<Value> &inits, Condition &&condition, Body &&body,
                                   OpOptions options = {}, Place place = std::source_location::current()) {
    return whileAll(
        inits, [&](const std::vector<Value> &args) { return condition(args); },
        [&](const std::vector<Value> &args) { return pack(body(args)); }, options, place);
  }

  /// One of two branches, for the whole workgroup at once: `condition` speaks of sizes, `workgroup_id`, `iteration`
  /// and `index_of`.
  /// What both return is the result: `Value x = k.conditional(lt(iteration(K), 3), [&] { return a; }, [&] { return b;
  /// })`.
  template <typename Then, typename Else>
    requires(!std::is_void_v<std::invoke_result_t<Then>>)
  auto conditional(Expr condition, Then &&then, Else &&otherwise, OpOptions options = {},
                   Place place = std::source_location::current()) {
    std::vector<Value> values =
        conditionalAll(condition, [&] { return pack(then()); }, [&] { return pack(otherwise()); }, options, place);
    return unpack<std::invoke_result_t<Then>>(values, place);
  }
  /// Branches that act through what they write.
  template <typename Then, typename Else>
    requires std::is_void_v<std::invoke_result_t<Then>> && std::is_void_v<std::invoke_result_t<Else>>
  void conditional(Expr condition, Then &&then, Else &&otherwise, OpOptions options = {},
                   Place place = std::source_location::current()) {
    conditionalAll(condition, withoutValues(then), withoutValues(otherwise), options, place);
  }
  /// A branch, or nothing.
  template <typename Then>
    requires std::is_void_v<std::invoke_result_t<Then>>
  void conditional(Expr condition, Then &&then, OpOptions options = {}, Place place = std::source_location::current()) {
    conditionalAll(condition, withoutValues(then), [] { return std::vector<Value>(); }, options, place);
  }

  const std::string &name() const;
  /// The mistakes found so far; what needs bound symbols or a target is found at compile.
  const std::vector<Diagnostic> &diagnostics() const;
  const std::shared_ptr<frontend::Program> &program() const { return owner; }

private:
  using LoopBody = std::function<std::vector<Value>(const std::vector<Value> &)>;
  /// One result per init, poisoned where the loop is wrong.
  std::vector<Value> iterateAll(Expr axis, std::vector<Value> inits, const LoopBody &body, const LoopOptions &options,
                                const Place &place);
  using LoopCondition = std::function<Expr(const std::vector<Value> &)>;
  std::vector<Value> whileAll(std::vector<Value> inits, const LoopCondition &condition, const LoopBody &body,
                              const OpOptions &options, const Place &place);
  std::vector<Value> closeLoop(frontend::Tracer &tracer, Expr axis, uint32_t body, const std::vector<Value> &inits,
                               const std::vector<Value> &yields, bool good, const LoopOptions &options);

  using BranchBody = std::function<std::vector<Value>()>;
  /// One result for each value that the first branch returns, poisoned where the conditional is wrong.
  std::vector<Value> conditionalAll(Expr condition, const BranchBody &then, const BranchBody &otherwise,
                                    const OpOptions &options, const Place &place);
  uint32_t traceBranch(const BranchBody &body, const Place &place, std::vector<Value> &yields);

  template <typename Body>
  static BranchBody withoutValues(Body &body) {
    return [&body] {
      body();
      return std::vector<Value>();
    };
  }
  /// The results in the form in which the branches return them.
  template <typename Result>
  Result unpack(const std::vector<Value> &values, const Place &place) const {
    if constexpr (std::is_same_v<Result, Value>) {
      return values.size() == 1 ? values[0] : poisoned(place);
    } else if constexpr (std::is_same_v<Result, std::vector<Value>>) {
      return values;
    } else {
      return [&]<size_t... I>(std::index_sequence<I...>) {
        return Result{(I < values.size() ? values[I] : poisoned(place))...};
      }(std::make_index_sequence<std::tuple_size_v<Result>>());
    }
  }
  Value poisoned(const Place &place) const;

  static std::vector<Value> pack(Value value) { return {std::move(value)}; }
  static std::vector<Value> pack(std::vector<Value> values) { return values; }
  template <size_t N>
  static std::vector<Value> pack(const std::array<Value, N> &values) {
    return {values.begin(), values.end()};
  }
  template <typename... Values>
  static std::vector<Value> pack(const std::tuple<Values...> &values) {
    return std::apply([](const auto &...each) { return std::vector<Value>{each...}; }, values);
  }
  template <typename First, typename Second>
  static std::vector<Value> pack(const std::pair<First, Second> &values) {
    return {values.first, values.second};
  }

  std::shared_ptr<frontend::Program> owner;
};

} // namespace lang
} // namespace soliton
