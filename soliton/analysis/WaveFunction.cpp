#include "soliton/analysis/WaveFunction.h"

#include "soliton/analysis/Access.h"

namespace soliton {
using namespace wave;

namespace {
class Reader {
public:
  Reader(Operation *op, const Geometry &geometry, bool destination)
      : op(op), geometry(geometry), facts(geometry.factsAt(op)), destination(destination),
        layout(tileOf(op).layout().canonical()) {
    for (StringAttr dim : tileOf(op).getDims())
      dims.emplace_back(dim.getValue().str());
    if (auto attribute = op->getAttrOfType<ArrayAttr>("starts"); attribute && !destination)
      starts = geometry.named(attribute, cast<IndexedOpInterface>(op).getSymbols());
    else
      starts.assign(dims.size(), sym::Expr(0));
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
      if (auto loop = dyn_cast<IterateOp>(parent))
        loops.push_back(loop);
  }

  std::optional<WaveFunction> read() {
    if (!readIndices() || !readDigits(Axis::wave))
      return std::nullopt;
    if (!geometry.target().lanesInLockstep && !readDigits(Axis::lane))
      return std::nullopt;
    function.who = function.text;
    for (auto [k, start] : llvm::enumerate(starts))
      function.text += startText(k, start);
    findApart();
    function.isOneWorkgroup = isOneWorkgroup();
    nameWho();
    return std::move(function);
  }

  std::string readTeams(int64_t teamWaves) {
    if (!readIndices() || !splitWaves(teamWaves))
      return "";
    int64_t weight = 1;
    for (const Digit &digit : layout.wave) {
      bool isOfTeams = weight >= teamWaves && digit.extent > 1;
      if (isOfTeams && (!digit.dim || !readDigit(digit, "team " + std::to_string(weight / teamWaves))))
        return "";
      weight *= digit.extent;
    }
    if (weight <= teamWaves)
      return "";
    for (auto [k, start] : llvm::enumerate(starts))
      function.text += startText(k, start);
    return function.text;
  }

private:
  /// Cuts a digit of waves that counts waves of a team and teams; false where that cannot be.
  bool splitWaves(int64_t teamWaves) {
    Digits split;
    int64_t weight = 1;
    for (const Digit &digit : layout.wave) {
      int64_t inTeam = weight < teamWaves ? teamWaves / weight : 1;
      bool isCut = inTeam > 1 && digit.extent > inTeam;
      if (isCut && (teamWaves % weight != 0 || digit.extent % inTeam != 0))
        return false;
      if (isCut) {
        Digit inner = digit, outer = digit;
        inner.extent = inTeam;
        outer.extent = digit.extent / inTeam;
        outer.stride = digit.stride * inTeam;
        split.push_back(inner);
        split.push_back(outer);
      } else {
        split.push_back(digit);
      }
      weight *= digit.extent;
    }
    layout.wave = std::move(split);
    return true;
  }

  /// Which dimension of the tile each dimension of the memory is; others may be constant.
  bool readIndices() {
    memoryDim.assign(dims.size(), -1);
    auto mapping = op->getAttrOfType<ArrayAttr>("indices");
    if (!mapping || destination) {
      for (size_t k = 0; k < dims.size(); ++k)
        memoryDim[k] = static_cast<int64_t>(k);
      return true;
    }
    ValueRange symbols = cast<IndexedOpInterface>(op).getSymbols();
    for (auto [position, index] : llvm::enumerate(geometry.named(mapping, symbols))) {
      size_t k = 0;
      while (k < dims.size() && !(index == placeSymbol(k)))
        ++k;
      if (k == dims.size() ? !index.constantValue() : memoryDim[k] >= 0)
        return false;
      if (k < dims.size())
        memoryDim[k] = static_cast<int64_t>(position);
      else
        function.text += "at " + std::to_string(position) + " " + sym::toString(index) + "; ";
    }
    return true;
  }

  bool readDigits(Axis axis) {
    int64_t weight = 1;
    for (const Digit &digit : layout.digits(axis)) {
      std::string who = std::string(name(axis)) + " " + std::to_string(weight) + " x " + std::to_string(digit.extent);
      weight *= digit.extent;
      if (digit.extent == 1)
        continue;
      if (!digit.dim) {
        // Several hold the same element. All of them read it; the first one writes it. What leaves shared memory is
        // read there by nobody's lane.
        function.isOneWave &= cast<AccessOpInterface>(op).writesIndexed() && !destination;
        continue;
      }
      if (!readDigit(digit, who))
        return false;
    }
    return true;
  }

  bool readDigit(const Digit &digit, const std::string &who) {
    auto k = static_cast<size_t>(llvm::find(dims, *digit.dim) - dims.begin());
    if (k == dims.size() || memoryDim[k] < 0 || !nests(digit) || !isSteady(k, digit) || isTornBySwizzle(k))
      return false;
    function.text += who + " by " + std::to_string(memoryDim[k]) + " / " + std::to_string(digit.stride) + "; ";
    return true;
  }

  /// The digit is (place / stride) mod extent: what is below never reaches the stride, what is above is a multiple.
  bool nests(const Digit &digit) const {
    auto found = layout.offset.find(*digit.dim);
    int64_t offset = found == layout.offset.end() ? 0 : found->second, low = offset % digit.stride;
    if (offset / digit.stride % digit.extent != 0)
      return false;
    for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
      for (const Digit &other : layout.digits(axis)) {
        if (other.dim != digit.dim || &other == &digit || other.extent == 1)
          continue;
        if (other.stride < digit.stride)
          low += (other.extent - 1) * other.stride;
        else if (other.stride % (digit.stride * digit.extent) != 0)
          return false;
      }
    return low < digit.stride;
  }

  /// Iterations move the tile by whole turns of the digit, so that the wave of an element does not depend on them.
  bool isSteady(size_t k, const Digit &digit) const {
    sym::Expr turn = sym::simplify(sym::mod(starts[k], digit.stride * digit.extent), facts);
    return llvm::none_of(
        loops, [&](IterateOp loop) { return sym::contains(turn, geometry.symbols().symbol(loop.iteration())); });
  }

  /// What a copy stores in a row is said by place, what others touch there by element: they differ where the tile is
  /// swizzled.
  bool isTornBySwizzle(size_t k) const {
    if (!destination || isa<CopyOutOp>(op))
      return false;
    SharedMapAttr map = cast<CopyOp>(op).getDestination().getType().getMap();
    bool isInLine = map && map.getValue().rowsPerLine() > 1 && k + 2 == dims.size();
    return isInLine || (map && map.getValue().isSwizzled() && k + 1 == dims.size());
  }

  /// A start says where along the memory's dimension; which of the tile's that is, is the access's own matter.
  std::string startText(size_t k, sym::Expr start) const {
    return "; start " + (memoryDim[k] < 0 ? "beside" : std::to_string(memoryDim[k])) + " " +
           sym::toString(sym::simplify(start, facts));
  }

  /// How many elements along the k-th dimension the tile covers while all of `others` take all of their values.
  std::optional<int64_t> reachOf(size_t k, ArrayRef<sym::Expr> others) const {
    std::optional<int64_t> reach = geometry[dims[k]].part();
    for (sym::Expr other : others) {
      if (!reach || !sym::contains(starts[k], other))
        continue;
      std::optional<int64_t> stride = sym::strideAlong(starts[k], other, facts);
      sym::Range range = sym::rangeOf(other, facts);
      // Places are below 2^31 and so are counts: what does not fit reaches everywhere.
      bool isKnown = stride && range.lo && range.hi && *range.hi - *range.lo <= INT32_MAX &&
                     std::abs(*stride) <= INT32_MAX && *reach <= INT64_MAX / 4;
      reach = isKnown ? std::optional(*reach + std::abs(*stride) * (*range.hi - *range.lo)) : std::nullopt;
    }
    return reach;
  }

  /// Different values of `symbol` move the tile off all that it covers while `others` change too.
  bool movesOff(sym::Expr symbol, ArrayRef<sym::Expr> others) const {
    for (auto [k, start] : llvm::enumerate(starts)) {
      if (memoryDim[k] < 0 || !sym::contains(start, symbol))
        continue;
      std::optional<int64_t> reach = reachOf(k, others), stride = sym::strideAlong(start, symbol, facts);
      if (stride && reach && std::abs(*stride) >= *reach)
        return true;
    }
    return false;
  }

  sym::Expr iterationOf(IterateOp loop) const { return geometry.symbols().symbol(loop.iteration()); }

  /// An iteration of a loop runs all of those inside it.
  void findApart() {
    SmallVector<sym::Expr> inside;
    for (IterateOp loop : loops) {
      if (movesOff(iterationOf(loop), inside))
        function.apart.push_back(loop);
      inside.push_back(iterationOf(loop));
    }
  }

  /// Starts at their least over all iterations: the elements of a workgroup begin there, and waves do not depend on
  /// iterations anyway.
  void nameWho() {
    for (auto [k, start] : llvm::enumerate(starts)) {
      sym::Expr least = start;
      for (IterateOp loop : loops) {
        sym::Expr iteration = iterationOf(loop);
        if (memoryDim[k] < 0 || !sym::contains(start, iteration))
          continue;
        std::optional<int64_t> stride = sym::strideAlong(start, iteration, facts);
        std::optional<int64_t> last = sym::rangeOf(iteration, facts).hi;
        if (!stride || (*stride < 0 && !last))
          return function.who.clear();
        least = sym::substitute(least, {{iteration, sym::Expr(*stride < 0 ? *last : 0)}});
      }
      if (memoryDim[k] >= 0)
        function.who += startText(k, least);
    }
  }

  bool isOneWorkgroup() const {
    for (int64_t g = 0; g < wave::kMaxGridDims; ++g) {
      if (geometry.grid()[g].constantValue() == 1)
        continue;
      SmallVector<sym::Expr> others;
      for (int64_t h = 0; h < wave::kMaxGridDims; ++h)
        if (h != g)
          others.push_back(workgroupSymbol(h));
      for (IterateOp loop : loops)
        others.push_back(iterationOf(loop));
      if (!movesOff(workgroupSymbol(g), others))
        return false;
    }
    return true;
  }

  Operation *op;
  const Geometry &geometry;
  /// What is known where the access stands.
  const sym::Facts &facts;
  bool destination;
  Layout layout;
  SmallVector<Dim> dims;
  SmallVector<sym::Expr> starts;
  SmallVector<IterateOp> loops;
  /// By dimension of the tile: the memory's; -1 if it is none.
  SmallVector<int64_t> memoryDim;
  WaveFunction function;
};
} // namespace

std::optional<WaveFunction> waveFunctionOf(Operation *op, const Geometry &geometry, bool destination) {
  return Reader(op, geometry, destination).read();
}

std::string teamFunctionOf(Operation *op, const Geometry &geometry, int64_t teamWaves, bool destination) {
  return Reader(op, geometry, destination).readTeams(teamWaves);
}

} // namespace soliton
