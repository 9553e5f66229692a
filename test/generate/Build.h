//===- Build.h - The state of a kernel in the making ------------------------------------------===//
//
// The pieces of the generator share one Builder: the dimensions and what they are for, the block that ops go to, the
// pool of values that may be used there, and for each value how large its elements can be. Sums are only made of
// integers that stay exact in the type they are summed in, so that their order does not show.
//
//   BuildDims.cpp    dimensions, constraints          BuildAccess.cpp  reads, writes, shared tiles
//   BuildSteps.cpp   element by element, reductions   BuildLoops.cpp   loops, branches, matrix products
//   BuildRows.cpp    rows in order                    BuildMoves.cpp   elements that move, bits under another type
//   BuildLanes.cpp   what one lane says               BuildControl.cpp elements that go different ways, whiles, grids
//   BuildStrides.cpp how far elements lie apart
//
// Which phrase has what the language has (docs/language.md), beyond arithmetic:
//
//   read, write, mappings, bounds                       readFresh, writeOut, mapRead, mapWrite, chooseBounds
//   gather, scatter, set_symbol, index_of, read_at      gather, scatter, stepNumber, chooseBounds, chooseCount
//   atomics, atomic_cas, scatter_add                    atomicOut, mapAtomic, changeTile, laneAtomic
//   allocate, shared arrays, barriers, waits            stepSharedTile, stepArray, authorSync
//   prefetch, debug_log, debug_print                    stepPrefetch, stepLog, stepPrint
//   strides, also known at launch and of formulas       chooseStrides, repeatElements
//   waits, priorities, hints to the scheduler           stepHint
//   reshape, slice, extract, concatenate                stepReshape, stepSlice, stepExtract, stepConcatenate
//   sort, sort_by, topk, topk_by                        stepSort, stepTopk
//   bitcast of one and of two widths, scaled dimensions stepBitcast, scaledContract
//   reductions, scans, arg-reductions                   stepReduce, stepOtherReduce, stepScan, stepArgReduce
//   mma, scaled_mma, chains, batches                    chooseMatrixBody
//   iterate, nested, counts from data, early exit       loopOver, chooseCount, chooseExit
//   iterate_while; lane_while                           stepWhile; stepElementWhile
//   conditional, with and without else, nested          stepConditional, stepBranches
//   when                                                stepWhen
//   persistent grids                                    stepPersistent
//   Simt: ids, places, vectors, shuffles, votes         stepLanes and what it calls
//   constraints, five workgroup dimensions, aliases     BuildDims.cpp
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Choose.h"

namespace soliton::generate {

/// What is known about the elements of a value.
struct Known {
  /// No element has a larger magnitude.
  double bound = 0;
  /// All are integers that their type holds exactly.
  bool exact = false;
};

class Builder {
public:
  Builder(uint64_t seed, const RandomOptions &options, uint64_t draw) : choose(seed, options, draw) {
    program.seed = seed;
  }

  void chooseDims();
  void chooseConstraints();
  void chooseBody();
  void chooseSchedule();
  Program finish();

private:
  using Dims = std::vector<std::string>;

  //===-- Dimensions ------------------------------------------------------------===//
  bool wants(std::initializer_list<const char *> features) const;
  std::pair<size_t, size_t> chooseDimCounts();
  void chooseMatrixDims();
  void chooseScaledDims();
  void choosePlainDims();
  void addDim(const std::string &name, int64_t tile, bool distributed, bool isSerial);
  int64_t chooseSize(int64_t tile, int64_t most);
  void limitWork();
  void chooseWorkgroups();
  /// True for a rotation, which is made when all constraints of its workgroup dimension are known.
  bool chooseApply(WorkgroupConstraint &constraint);
  /// After how many workgroups a rotation begins again: of constraints that multiply, after all of them, so that no two
  /// have one part.
  Formula turnOf(const WorkgroupConstraint &constraint) const;
  void chooseWaves();
  void chooseTilings();
  void chooseReordering();
  void chooseAlias();
  void chooseAssumptions();
  int64_t countOf(const WorkgroupConstraint &constraint) const;
  bool isDistributed(const std::string &dim) const;
  bool isLooped(const std::string &dim) const;
  bool isSerial(const std::string &dim) const { return std::ranges::count(serial, dim) > 0; }
  Dim &dim(const std::string &name) { return *std::ranges::find(program.dims, name, &Dim::name); }

  //===-- Values ----------------------------------------------------------------===//
  const ValueType &type(int value) const { return program.values[static_cast<size_t>(value)]; }
  Known knownOf(int value) const { return known[static_cast<size_t>(value)]; }
  int addValue(ValueType type, Known facts);
  /// Appends the op to the current block; its one result joins the pool.
  int emit(Op op, ValueType type, Known facts);
  void append(Op op) {
    op.features = choose.take();
    block->ops.push_back(std::move(op));
  }
  int64_t elementsOf(const Dims &dims) const;
  Dims chooseSubset(const Dims &dims, size_t least);
  static Dims unionOf(const Dims &a, const Dims &b);
  /// A value of the pool, or a new one if there is none.
  int anyValue();
  /// One whose element type satisfies the predicate; a fresh read otherwise.
  template <typename Predicate>
  int valueWhere(Predicate predicate, Element otherwise);
  Known clipped(Element type, double bound, bool exact) const;

  //===-- Steps -----------------------------------------------------------------===//
  void step();
  Element chooseElement();
  Element chooseArithmetic();
  bool isArithmetic(Element type) const;
  int fill(const Dims &dims, Element type, double number);
  int unary(const std::string &word, int value);
  int binary(const std::string &word, int a, int b);
  int cast(int value, Element to);
  int partnerFor(int value);
  void stepUnary();
  void stepBinary();
  void stepDivision();
  void stepBits();
  void stepSelect();
  void stepCast();
  void stepBroadcast();
  void stepPermute();
  void stepIndex();
  void stepApply();
  void stepReduce();
  void stepOtherReduce();
  void stepScan();
  int scan(const std::string &word, int value, const std::string &along, int init);
  void stepArgReduce();
  int smallValue();
  void stepSort();
  void stepRearrange();
  void argReduce(const std::string &word, int value, const std::string &along, std::vector<int> inits, Element index);
  int reduce(const std::string &word, int value, const std::string &along, int init);
  void stepSplat();
  void stepFunction();
  int clampTo(int value, double limit);

  //===-- Memory ----------------------------------------------------------------===//
  Dims readableDims();
  int readForProduct(const Dims &dims, Element type, int64_t low, int64_t high);
  /// A read of a memory of its own. Where the order of sums cannot show it may hold any numbers, not only integers.
  int readFresh(const Dims &dims, Element type, bool plain = false, bool mayBeReal = false);
  bool packsWhole(const Dims &dims, Element type) const;
  Element unpacked(Element type) const;
  int newMemory(std::vector<Formula> shape, Element type, Data data);
  /// Whether a launch takes a memory of one more dimension, beside that of workgroups which have all places in common.
  bool hasRoom(const std::vector<Formula> &shape) const;
  void chooseStrides(Memory &memory);
  void repeatElements(Memory &memory);
  std::string strideSymbol(int64_t size);
  void chooseRange(Memory &memory);
  void mapRead(Op &op, const Dims &dims, std::vector<Formula> &shape);
  void permute(std::vector<Formula> &indices, const Dims &dims, std::vector<Formula> &shape);
  void chooseBounds(Op &op, const Dims &dims, bool isWrite);
  /// Where this workgroup or iteration is.
  Formula choosePlace();
  /// Loops whose iterations have a name: those of `iterate_while` have none.
  Dims namedLoops() const;
  void gather(Op &op, const Dims &dims, std::vector<Formula> &shape);
  /// `ulps` and `slack`: how far a result may be off, in units of its last place and absolutely.
  void writeOut(int value, double ulps = 0, double slack = 0);
  bool mapWrite(Op &op, const Dims &dims, std::vector<Formula> &shape);
  /// Changes a memory of its own by the value, at places where elements, waves and workgroups may meet.
  void atomicOut(int value);
  Element atomicElement(int value);
  bool mapAtomic(Op &op, const Dims &dims, std::vector<Formula> &shape);
  void scatter(Op &op, const Dims &dims, std::vector<Formula> &shape);
  Dims requiredDims() const;
  int withRequiredDims(int value);
  void stepSharedTile();
  Known changeTile(int value, int memory);
  void stepRoundTrip();
  void stepInPlace();
  void authorSync(bool shared);

  //===-- Control ---------------------------------------------------------------===//
  void stepLoop();
  void loopOver(const std::string &axis);
  int nextCarried(int argument, int init, const std::string &axis, Known &result);
  void stepConditional();
  Formula chooseCondition();
  /// Takes a number from data, of which formulas in this block may speak from here on.
  void stepNumber();
  Formula anyNumber() { return Formula::symbol(choose.from(numbers)); }
  void chooseCount(Op &loop);
  void chooseExit(const std::string &axis);
  void chooseMatrixBody();
  int mmaOperand(const Dims &dims, Element type, double bound);
  std::string chooseMmaKind(const Dims &outer, const std::string &contracted);
  int64_t waveTileOf(const std::string &dim) const;
  double slackOfProduct(const std::string &contracted) const;
  int scaledContract(const Dims &left, const Dims &right, int acc);
  int contract(const Dims &outer, const std::string &contracted, int acc, int lhs);
  Element matrixAccumulator() const;
  int matrixProduct(const Dims &outer, const std::string &contracted, int lhs);
  void attention();

  //===-- Elements that move ------------------------------------------------------===//
  /// A dimension that only the phrase has which makes it.
  std::string ownDim(const std::string &kind, int64_t size);
  void stepMove();
  int sliceOf(int value, const std::string &along, const std::string &into);
  void stepSlice();
  void stepExtract();
  void stepReshape();
  void stepConcatenate();
  void stepTopk();
  void stepBitcast();
  void bitcastOfWidth(Element narrow, Element wide);

  //===-- Elements and iterations that go different ways ----------------------------===//
  /// Takes one of the phrases that only the last seeds have.
  bool stepEverything();
  /// What `make` makes lies in a block of its own, and is known only there.
  template <typename Make>
  Block inBlock(Make make);
  /// Elements that are not there name a place outside the memory.
  void applyMask(Op &op, const Dims &dims, size_t firstDynamic);
  int truthOf(int value);
  int anyOf(int truth);
  void stepWhen();
  int whileLoop(int counter, int value, const Formula &limit);
  void stepWhile();
  /// What `lane_while` carries: a state, how many steps were taken, and which elements are still there.
  struct Going {
    int state, steps, live;
  };
  int isBelow(int steps, int most);
  Formula someAreLeft(int live);
  Going goOn(const Going &before, int most);
  Going elementLoop(const Going &first, int most);
  void stepElementWhile();
  void stepBranches();
  void branchBody(int budget);
  void stepPrefetch();
  void stepLog();
  void stepPrint();
  void stepHint();
  void choosePersistent();
  void stepPersistent();
  void stepFunctionOfTwo();
  /// A number from the one integer of a tile without dimensions.
  void takeNumber(int value);
  /// How many workgroups have all places in common; each writes to its own.
  int64_t sharers() const;
  void ownPlace(Op &op, const Dims &dims, std::vector<Formula> &shape) const;

  //===-- Lanes -------------------------------------------------------------------===//
  void chooseLanes();
  void distributeLanes();
  void stepLanes();
  void laneStep();
  Formula chooseThread(bool each);
  int laneLoad(const Dims &dims, Element type);
  void laneStore(int value, double ulps);
  void laneAtomic(int value);
  int laneValue();
  void stepIds();
  void stepShuffle();
  void stepVote();
  void storeVector(int vector);
  int componentOf(int vector);
  void stepVector();
  int newArray(Element type);
  void changeArray(int array, int value);
  bool meetInArray(int array, int value);
  void stepArray();
  void stepAnyThread();

  Choose choose;
  Program program;
  std::vector<Known> known;
  Block *block = &program.body;
  std::vector<int> pool;
  /// Symbols of numbers from data that are known here.
  std::vector<std::string> numbers;
  /// Dimensions of results, and those that are summed over.
  Dims parallel, serial;
  /// Axes of the loops around the current block.
  Dims loops;
  int depth = 0;
  bool usesMatrix = false, realProduct = false, mustWrite = false;
  /// The product is one of blocks with scales.
  bool scaledProduct = false;
  /// Some lanes have half a byte of a packed tile, in whatever layout that spreads to.
  bool splitsBytes = false;
  /// Of the left factor, and of the right one where that has another.
  Element matrixType = Element::f16;
  std::optional<Element> rightType = {};
  int names = 0;
  /// Whether one lane is spoken of, and the i32 that is positive for elements that are there; -1: all are.
  bool ofLanes = false;
  int mask = -1;
};

template <typename Make>
Block Builder::inBlock(Make make) {
  Block body, *outer = block;
  std::vector<int> outerPool = pool;
  std::vector<std::string> outerNumbers = numbers;
  block = &body;
  make(body);
  block = outer;
  pool = std::move(outerPool);
  numbers = std::move(outerNumbers);
  return body;
}

template <typename Predicate>
int Builder::valueWhere(Predicate predicate, Element otherwise) {
  std::vector<int> fit;
  for (int value : pool)
    if (predicate(value))
      fit.push_back(value);
  return fit.empty() ? readFresh(readableDims(), otherwise) : choose.from(fit);
}

} // namespace soliton::generate
