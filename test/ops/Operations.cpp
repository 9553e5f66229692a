#include "test/ops/Operations.h"

namespace soliton::test {
namespace {

using Unary = Value (*)(const Value &, OpOptions, Place);
using Binary = Value (*)(Operand, Operand, OpOptions, Place);
using Reduction = Value (*)(const Value &, Expr, ReduceOptions, Place);
using Atomic = Value (*)(const Value &, const MemoryRef &, AccessOptions, Place);

Operation unary(const char *name, Unary function) {
  return {name, [=](const Operands &at) { return function(at.x, {}, {}); }};
}
Operation binary(const char *name, Binary function) {
  return {name, [=](const Operands &at) { return function(at.x, at.y, {}, {}); }};
}
Operation reduction(const char *name, Reduction function) {
  return {name, [=](const Operands &at) { return function(at.x, at.N, {}, {}); }};
}
Operation atomic(const char *name, Atomic function) {
  return {name, [=](const Operands &at) {
            return function(at.x, at.kernel.memory("changed", {at.M, at.N}, global, at.type), {}, {});
          }};
}

/// Each element where its own number says.
IndexMapping byNumber(const Operands &at) {
  return {.num_iterators = 2,
          .inputs = {{at.M, IndexMapping::iterator(0)}, {at.N, IndexMapping::dynamic_val(0)}},
          .outputs = {{at.M, IndexMapping::iterator(0)}, {at.N, IndexMapping::iterator(1)}}};
}

/// The sum of products in the widest type of the kind, which is what most chips add up in.
Value product(const Operands &at) {
  auto a = at.kernel.memory("a", {at.M, at.K}, global, at.type),
       b = at.kernel.memory("b", {at.N, at.K}, global, at.type);
  ElementType sum = at.type == f64 ? f64 : isFloat(at.type) ? f32 : i32;
  return mma(read(a), read(b), at.kernel.fill({at.M, at.N}, sum, 0));
}

/// The same with scales, as deep as an instruction that scales.
Value scaledProduct(const Operands &at) {
  auto [DEPTH] = symbols<"DEPTH">();
  auto a = at.kernel.memory("a", {at.M, DEPTH}, global, at.type),
       b = at.kernel.memory("b", {at.N, DEPTH}, global, at.type);
  auto s = at.kernel.memory("s", {at.M, DEPTH / 32}, global, f8e8m0fnu),
       t = at.kernel.memory("t", {at.N, DEPTH / 32}, global, f8e8m0fnu);
  return scaled_mma(read(a), read(s), read(b), read(t), at.kernel.fill({at.M, at.N}, f32, 0));
}

std::vector<Operation> memoryOperations() {
  return {{"read", [](const Operands &at) { return at.x; }},
          {"write",
           [](const Operands &at) {
             write(at.x, at.kernel.memory("written", {at.M, at.N}, global, at.type));
             return Value();
           }},
          {"read_at", [](const Operands &at) { return broadcast(read_at(at.memory, {1, 2}), {at.M}); }},
          {"allocate",
           [](const Operands &at) {
             auto tile = at.kernel.allocate("tile", {at.M, at.N}, at.type);
             write(at.x, tile);
             return read(tile);
           }},
          atomic("atomic_add", atomic_add),
          atomic("atomic_min", atomic_min),
          atomic("atomic_max", atomic_max),
          atomic("atomic_exchange", atomic_exchange),
          atomic("atomic_and", atomic_and),
          atomic("atomic_or", atomic_or),
          atomic("atomic_xor", atomic_xor),
          {"atomic_cas",
           [](const Operands &at) {
             return atomic_cas(at.x, at.y, at.kernel.memory("changed", {at.M, at.N}, global, at.type));
           }},
          {"scatter_add",
           [](const Operands &at) {
             Value columns = broadcast(at.kernel.self_index(at.N) % 4, {at.M, at.N});
             scatter_add(at.x, columns, at.N, at.kernel.memory("changed", {at.M, at.N}, global, at.type));
             return Value();
           }},
          {"prefetch", [](const Operands &at) {
             prefetch(at.memory);
             return at.x;
           }}};
}

std::vector<Operation> valueOperations() {
  return {
      {"fill", [](const Operands &at) { return at.kernel.fill({at.M, at.N}, at.type, 1); }},
      {"scalar", [](const Operands &at) { return broadcast(at.kernel.scalar("s", at.type), {at.M}); }},
      {"splat", [](const Operands &at) { return at.kernel.splat({at.M}, at.kernel.scalar("s", at.type)); }},
      {"self_index", [](const Operands &at) { return at.kernel.self_index(at.N, at.type); }},
      {"index_of",
       [](const Operands &at) {
         Expr row = index_of(read_at(at.memory, {1, 2}));
         return read(at.memory, {.bounds = {{{at.M, row}, {at.N, at.N}}}});
       }},
      {"set_symbol",
       [](const Operands &at) {
         auto [ROWS] = symbols<"ROWS">();
         set_symbol(ROWS, read_at(at.memory, {1, 2}));
         return read(at.memory, {.bounds = {{{at.M, ROWS}, {at.N, at.N}}}});
       }},
      {"apply_expr", [](const Operands &at) { return apply_expr(at.x, [](Expr x) { return 2 * x + 1; }); }},
      {"apply_expr (relation)",
       [](const Operands &at) { return select(apply_expr(at.x, [](Expr x) { return sym::lt(x, 2); }), at.x, at.y); }},
      {"broadcast",
       [](const Operands &at) {
         return broadcast(read(at.kernel.memory("row", {at.M}, global, at.type)), {at.M, at.N});
       }},
      {"permute", [](const Operands &at) { return permute(at.x, {at.N, at.M}); }},
      {"select", [](const Operands &at) { return select(at.kernel.self_index(at.N) < 7, at.x, at.y); }},
      {"dynamic_val",
       [](const Operands &at) { return read(at.memory, {.mapping = byNumber(at), .mapping_dynamic_vals = {at.x}}); }},
      {"iterate",
       [](const Operands &at) {
         auto a = at.kernel.memory("a", {at.M, at.K}, global, at.type);
         return at.kernel.iterate(at.K, at.x, [&](Value carried) {
           return at.kernel.conditional(sym::eq(iteration(at.K), 1), [&] { return at.y; }, [&] { return carried; });
         });
       }},
      {"conditional", [](const Operands &at) {
         return at.kernel.conditional(sym::eq(workgroup_id(0), 0), [&] { return at.x; }, [&] { return at.y; });
       }}};
}

/// Elements that move, and rows in order.
std::vector<Operation> movingOperations() {
  auto [few, many] = symbols<"FEW MANY">();
  Expr FEW = few, MANY = many;
  return {{"reshape", [=](const Operands &at) { return reshape(at.x, {FEW, MANY}); }},
          {"slice", [=](const Operands &at) { return slice(at.x, at.N, FEW, {.start = 4, .stride = 2}); }},
          {"extract", [](const Operands &at) { return extract(at.x, at.N, 3); }},
          {"concatenate", [=](const Operands &at) { return concatenate({{at.x, at.N}, {at.y, at.N}}, MANY); }},
          {"sort", [](const Operands &at) { return sort(at.x, at.N).value; }},
          {"sort_by",
           [](const Operands &at) {
             return sort_by(at.kernel.self_index(at.N) % 5 + cast(at.x == at.y, i32), {at.x}, at.N)[1];
           }},
          {"topk", [=](const Operands &at) { return topk(at.x, FEW, at.N).value; }},
          {"topk_by", [=](const Operands &at) {
             return topk_by(at.kernel.self_index(at.N) % 5 + cast(at.x == at.y, i32), {at.x}, FEW, at.N)[1];
           }}};
}

/// What one lane says.
std::vector<Operation> laneOperations() {
  auto here = [](const Operands &at) { return at.memory(thread_id()); };
  return {{"load", [](const Operands &at) { return at.x; }, true},
          {"load (vector)", [](const Operands &at) { return load(at.memory(4 * thread_id()), {.vector = 4}); }, true},
          {"store",
           [](const Operands &at) {
             auto [MANY] = symbols<"MANY">();
             store(at.x, at.kernel.memory("stored", {MANY}, global, at.type)(thread_id()));
             return Value();
           },
           true},
          {"shared_array",
           [](const Operands &at) {
             auto part = at.kernel.shared_array("part", {64}, at.type);
             store(at.x, part(thread_id()));
             return load(part(63 - thread_id()));
           },
           true},
          {"shuffle", [](const Operands &at) { return shuffle(at.x, 3); }, true},
          {"shuffle_xor", [](const Operands &at) { return shuffle_xor(at.x, 5); }, true},
          {"rotate", [](const Operands &at) { return rotate(at.x, 1); }, true},
          {"vote_any", [](const Operands &at) { return vote_any(at.x); }, true},
          {"vote_count", [](const Operands &at) { return vote_count(at.x); }, true},
          {"ballot", [](const Operands &at) { return ballot(at.x); }, true},
          {"atomic_add (lane)", [=](const Operands &at) { return atomic_add(at.y, here(at)); }, true},
          {"atomic_max (lane)", [=](const Operands &at) { return atomic_max(at.y, here(at)); }, true}};
}

std::vector<Operation> castOperations() {
  std::vector<Operation> list;
  for (DType to : allDTypes())
    list.push_back({"cast to " + std::string(name(to)), [to](const Operands &at) { return cast(at.x, to); }});
  for (DType to : {DType::i8, DType::i16, DType::i32, DType::i64})
    list.push_back({"bitcast to " + std::string(name(to)), [to](const Operands &at) { return bitcast(at.x, to); }});
  return list;
}

std::vector<Operation> elementwiseOperations() {
  return {{"operator+", [](const Operands &at) { return at.x + at.y; }},
          {"operator-", [](const Operands &at) { return at.x - at.y; }},
          {"operator*", [](const Operands &at) { return at.x * at.y; }},
          {"operator/", [](const Operands &at) { return at.x / at.y; }},
          {"operator%", [](const Operands &at) { return at.x % at.y; }},
          {"operator&", [](const Operands &at) { return at.x & at.y; }},
          {"operator|", [](const Operands &at) { return at.x | at.y; }},
          {"operator^", [](const Operands &at) { return at.x ^ at.y; }},
          {"operator- (of one)", [](const Operands &at) { return -at.x; }},
          {"operator~", [](const Operands &at) { return ~at.x; }},
          binary("floordiv", floordiv),
          binary("maximum", maximum),
          binary("minimum", minimum),
          binary("pow", pow),
          binary("atan2", atan2),
          binary("lt", lt),
          binary("le", le),
          binary("gt", gt),
          binary("ge", ge),
          binary("eq", eq),
          binary("ne", ne),
          unary("abs", abs),
          unary("exp", exp),
          unary("exp2", exp2),
          unary("log", log),
          unary("log2", log2),
          unary("log10", log10),
          unary("sqrt", sqrt),
          unary("rsqrt", rsqrt),
          unary("reciprocal", reciprocal),
          unary("sin", sin),
          unary("cos", cos),
          unary("sinh", sinh),
          unary("tanh", tanh),
          unary("erf", erf),
          unary("cbrt", cbrt),
          unary("floor", floor),
          unary("ceil", ceil),
          unary("round", round),
          unary("roundeven", roundeven),
          unary("tanh_approx", tanh_approx),
          {"softsign", [](const Operands &at) { return softsign(at.x); }}};
}

std::vector<Operation> alongOperations() {
  return {reduction("sum", sum),
          reduction("max", max),
          reduction("min", min),
          reduction("prod", prod),
          reduction("any", any),
          reduction("all", all),
          reduction("cumsum", cumsum),
          reduction("cumprod", cumprod),
          reduction("cummax", cummax),
          reduction("cummin", cummin),
          {"argmax", [](const Operands &at) { return argmax(at.x, at.N).index; }},
          {"argmin", [](const Operands &at) { return argmin(at.x, at.N).index; }},
          {"mma", product},
          {"scaled_mma", scaledProduct}};
}

} // namespace

const std::vector<Operation> &operations() {
  static const std::vector<Operation> list = [] {
    std::vector<Operation> all;
    for (const std::vector<Operation> &some :
         {memoryOperations(), valueOperations(), movingOperations(), castOperations(), elementwiseOperations(),
          alongOperations(), laneOperations()})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return list;
}

static Kernel buildOfLanes(const Operation &operation, DType type) {
  auto [M, N, K, MANY] = symbols<"M N K MANY">();
  Kernel kernel{"op", {Simt(64, {1})}};
  MemoryRef x = kernel.memory("x", {N}, global, type), y = kernel.memory("y", {N}, global, type);
  Value result = operation.make({kernel, type, M, N, K, load(x(thread_id())), load(y(thread_id())), x});
  if (!result.program())
    return kernel;
  MemoryRef results = kernel.memory("result", {4 * MANY}, global, result.type());
  store(result, results(result.dims().size() > 2 ? 4 * thread_id() : thread_id()));
  return kernel;
}

Kernel build(const Operation &operation, DType type) {
  if (operation.ofLanes)
    return buildOfLanes(operation, type);
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"op", {WorkgroupConstraint(M, 16, 0), TilingConstraint(K, 16), HardwareConstraint{}}};
  // A product that no loop walks sees all of K at once.
  if (operation.name == "mma")
    kernel = Kernel{"op", {WorkgroupConstraint(M, 16, 0), HardwareConstraint{}}};
  MemoryRef x = kernel.memory("x", {M, N}, global, type), y = kernel.memory("y", {M, N}, global, type);
  Value result = operation.make({kernel, type, M, N, K, read(x), read(y), x});
  if (result.program())
    write(result, kernel.memory("result", result.dims(), global, result.type()));
  return kernel;
}

lang::Substitutions sizes() {
  auto [M, N, K, FEW, MANY, DEPTH] = symbols<"M N K FEW MANY DEPTH">();
  return {{M, 16}, {N, 32}, {K, 32}, {FEW, 8}, {MANY, 64}, {DEPTH, 128}};
}

} // namespace soliton::test
