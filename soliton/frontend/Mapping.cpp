//===- Mapping.cpp - From an author's mapping to one index per memory dimension --===//
//
// Both spellings of a mapping come to the same thing: the tile's dimensions in order, and for each dimension of the
// memory an expression in `$index<k>`, the place along the tile's k-th dimension.
//
//   read b[K, N] with inputs {K: j, N: i}, outputs {N: i, K: j}
//   becomes  tile [N, K], indices ($index1, $index0)
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Tracer.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::frontend;

namespace {

Expr placeSymbol(size_t k) {
  return Expr::symbol("$index" + std::to_string(k));
}

class MappingResolver {
public:
  MappingResolver(Program &program, const Parameter &memory, const AccessOptions &options, bool isRead,
                  const Place &place)
      : program(program), memory(memory), options(options), isRead(isRead), place(place) {}

  std::optional<ResolvedMapping> run() {
    for (Expr extent : memory.shape)
      if (!extent.isDefined())
        return std::nullopt; // reported with the memory
    bool bySourceTarget = !options.source.empty() || !options.target.empty();
    if (options.mapping && bySourceTarget)
      return fail(DiagId::MappingArity, "both `mapping` and `source`/`target` are given", "use one of the two");
    if (!options.mapping && !options.mapping_dynamic_vals.empty())
      return fail(DiagId::MappingArity, "`mapping_dynamic_vals` are given without a `mapping`",
                  "add a mapping that uses `IndexMapping::dynamic_val`");
    if (options.mapping)
      return fromMapping(*options.mapping);
    if (bySourceTarget)
      return fromSourceTarget();
    return identity();
  }

private:
  std::optional<ResolvedMapping> identity() {
    for (size_t i = 0; i != memory.shape.size(); ++i)
      if (!dimInfo(memory.shape[i]))
        return fail(DiagId::MemoryDims,
                    "dimension " + std::to_string(i) + " of " + quoted(memory.name) + " is " + quoted(memory.shape[i]) +
                        ", which names no dimension of a tile",
                    "use a symbol and bind it in `subs`, or give a mapping");
    return ResolvedMapping{.dims = memory.shape, .indices = {}, .dynamicValues = {}};
  }

  std::optional<ResolvedMapping> fromMapping(const IndexMapping &mapping) {
    const DimMap &tileSide = isRead ? mapping.outputs : mapping.inputs;
    const DimMap &memorySide = isRead ? mapping.inputs : mapping.outputs;
    const char *tileWord = isRead ? "outputs" : "inputs";
    if (mapping.num_iterators != static_cast<int>(tileSide.size()))
      return fail(DiagId::MappingArity, "a mapping with " + std::to_string(mapping.num_iterators) + " iterators has " +
                                            std::to_string(tileSide.size()) + " " + tileWord +
                                            ", expected one for each iterator");
    ResolvedMapping result;
    std::vector<Expr> iterators;
    for (const auto &[dim, iterator] : tileSide) {
      bool own = iterator.isSymbol() && isIterator(iterator, mapping.num_iterators);
      if (!own || std::find(iterators.begin(), iterators.end(), iterator) != iterators.end())
        return fail(DiagId::MappingIdentity,
                    std::string("the ") + tileWord + " of a " + (isRead ? "read" : "write") + " map " + quoted(dim) +
                        " to " + quoted(iterator) + ", expected a bare iterator that is used once",
                    std::string("move the arithmetic to the ") + (isRead ? "inputs" : "outputs"));
      result.dims.push_back(dim);
      iterators.push_back(iterator);
    }
    if (!checkDims(program, DiagId::MappingDims, "the mapping's tile", result.dims, place))
      return std::nullopt;
    result.dynamicValues = options.mapping_dynamic_vals;
    if (!checkDynamic(mapping, result, iterators))
      return std::nullopt;
    std::vector<Expr> written;
    for (Expr entry : memory.shape) {
      auto found =
          std::find_if(memorySide.begin(), memorySide.end(), [&](const auto &pair) { return pair.first == entry; });
      if (found == memorySide.end() && dimInfo(entry)) {
        // Of `K/32` by the name of `K` the iterators count places of the memory, so the tile's are its.
        Expr base = baseOf(entry);
        found =
            std::find_if(memorySide.begin(), memorySide.end(), [&](const auto &pair) { return pair.first == base; });
        std::replace(result.dims.begin(), result.dims.end(), base, entry);
      }
      if (found == memorySide.end())
        return failDims(memorySide);
      written.push_back(found->second);
    }
    if (memorySide.size() != memory.shape.size())
      return failDims(memorySide);
    return rename(std::move(result), iterators, written);
  }

  /// Dynamic values are indexed by their own dimensions, so these must be dimensions of the tile; a mapping that says
  /// so explicitly is accepted.
  bool checkDynamic(const IndexMapping &mapping, const ResolvedMapping &result, const std::vector<Expr> &iterators) {
    for (const DimMap &entry : mapping.dynamic_val_mappings)
      for (const auto &[dim, expr] : entry) {
        auto at = std::find(result.dims.begin(), result.dims.end(), dim);
        if (at != result.dims.end() && iterators[at - result.dims.begin()] == expr)
          continue;
        fail(DiagId::NotSupportedHere,
             "a dynamic value indexed by " + quoted(expr) + " along " + quoted(dim) +
                 ", which is not the tile's own index; this version does not implement it",
             "read the indices with a mapping of their own");
        return false;
      }
    return checkDynamicDims(result);
  }

  bool checkDynamicDims(const ResolvedMapping &result) {
    for (const Value &value : result.dynamicValues) {
      if (value.program().get() != &program || value.isPoisoned())
        continue; // the tracer reports foreign values
      const TileInfo &tile = program.values[value.id()].tile;
      if (isSubset(tile.dims, result.dims) && isInteger(tile.type) && tile.type != i1)
        continue;
      fail(DiagId::MappingDims,
           "a dynamic value is " + quoted(toString(tile)) + ", expected integers with dimensions among " +
               quoted(toString(result.dims)),
           "", {{program.values[value.id()].place, "it is made here"}});
      return false;
    }
    return true;
  }

  std::optional<ResolvedMapping> fromSourceTarget() {
    const std::vector<IndexEntry> &tileSide = isRead ? options.target : options.source;
    const std::vector<IndexEntry> &memorySide = isRead ? options.source : options.target;
    const char *tileWord = isRead ? "target" : "source";
    const char *memoryWord = isRead ? "source" : "target";
    auto *bindings = program.findAny<IteratorBindings>();
    if (!bindings)
      return fail(DiagId::MappingIdentity, "`source`/`target` without iterator bindings",
                  "add `IteratorBindings({{i, M}, {j, N}})` to the constraints");
    if (memorySide.size() != memory.shape.size())
      return fail(DiagId::MappingArity, std::string("`") + memoryWord + "` has " + std::to_string(memorySide.size()) +
                                            " entries, expected one for each of the " +
                                            std::to_string(memory.shape.size()) + " dimensions of " +
                                            quoted(memory.name));
    ResolvedMapping result;
    std::vector<Expr> iterators;
    for (const IndexEntry &entry : tileSide) {
      auto bound = std::find_if(bindings->bindings.begin(), bindings->bindings.end(),
                                [&](const auto &pair) { return pair.first == entry.expr; });
      if (entry.value.program() || bound == bindings->bindings.end())
        return fail(DiagId::MappingIdentity,
                    std::string("`") + tileWord + "` contains " +
                        (entry.value.program() ? "a tile" : quoted(entry.expr)) + ", expected a bound iterator",
                    "bind it in `IteratorBindings`", {{bindings->place, "the bindings"}});
      iterators.push_back(entry.expr);
      result.dims.push_back(bound->second);
    }
    if (!checkDims(program, DiagId::MappingDims, std::string("`") + tileWord + "`", result.dims, place))
      return std::nullopt;
    std::vector<Expr> written;
    for (const IndexEntry &entry : memorySide) {
      written.push_back(entry.value.program() ? IndexMapping::dynamic_val(static_cast<int>(result.dynamicValues.size()))
                                              : entry.expr);
      if (entry.value.program())
        result.dynamicValues.push_back(entry.value);
    }
    if (!checkDynamicDims(result))
      return std::nullopt;
    return rename(std::move(result), iterators, written);
  }

  /// Replaces the author's iterators by the places of the tile's dimensions.
  std::optional<ResolvedMapping> rename(ResolvedMapping result, const std::vector<Expr> &iterators,
                                        const std::vector<Expr> &written) {
    sym::Substitution names;
    for (size_t k = 0; k != iterators.size(); ++k)
      names.set(iterators[k], placeSymbol(k));
    result.indices.emplace();
    for (Expr expr : written) {
      for (Expr used : sym::symbolsOf(expr))
        if (!checkSymbol(used, iterators, result.dynamicValues.size()))
          return std::nullopt;
      try {
        result.indices->push_back(sym::substitute(expr, names));
      } catch (const sym::ExprError &error) {
        return fail(DiagId::ExpressionInvalid, "the mapping's index " + quoted(expr) + " is wrong: " + error.what());
      }
    }
    return result;
  }

  bool checkSymbol(Expr used, const std::vector<Expr> &iterators, size_t numDynamic) {
    std::string_view name = used.symbolName();
    bool iterator = std::find(iterators.begin(), iterators.end(), used) != iterators.end();
    if (iterator)
      return true;
    for (size_t k = 0; k != numDynamic; ++k)
      if (used == IndexMapping::dynamic_val(static_cast<int>(k)))
        return true;
    if (!name.starts_with("$index") && !name.starts_with("$dynamic_val"))
      return true; // a size of the kernel
    fail(DiagId::MappingArity, "the mapping uses " + quoted(used) + ", but it has " + std::to_string(iterators.size()) +
                                   " iterators and " + std::to_string(numDynamic) + " dynamic values");
    return false;
  }

  static bool isIterator(Expr symbol, int count) {
    for (int k = 0; k != count; ++k)
      if (symbol == IndexMapping::iterator(k))
        return true;
    return false;
  }

  std::optional<ResolvedMapping> failDims(const DimMap &memorySide) {
    std::vector<Expr> given;
    for (const auto &[dim, expr] : memorySide)
      given.push_back(dim);
    return fail(DiagId::MappingDims,
                std::string("the ") + (isRead ? "inputs" : "outputs") + " of the mapping index " +
                    quoted(toString(given)) + ", expected the dimensions " + quoted(toString(memory.shape)) + " of " +
                    quoted(memory.name),
                "", {{memory.place, quoted(memory.name) + " is declared here"}});
  }

  std::nullopt_t fail(DiagId id, std::string message, std::string hint = {}, std::vector<Note> notes = {}) {
    report(program, id, place, std::move(message), std::move(hint), std::move(notes));
    return std::nullopt;
  }

  Program &program;
  const Parameter &memory;
  const AccessOptions &options;
  bool isRead;
  const Place &place;
};

} // namespace

std::optional<ResolvedMapping> frontend::resolveMapping(Program &program, const Parameter &memory,
                                                        const AccessOptions &options, bool isRead, const Place &place) {
  if (options.places)
    return *options.places;
  return MappingResolver(program, memory, options, isRead, place).run();
}
