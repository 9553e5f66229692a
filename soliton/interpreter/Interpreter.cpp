//===- Interpreter.cpp - Runs a kernel op by op --------------------------------===//

#include "soliton/interpreter/Interpreter.h"

#include "soliton/interpreter/Access.h"
#include "soliton/interpreter/Compute.h"
#include "soliton/interpreter/Failure.h"
#include "soliton/interpreter/Noise.h"
#include "soliton/interpreter/Numbers.h"
#include "soliton/ir/Rearrange.h"

#include "llvm/ADT/TypeSwitch.h"

namespace soliton::interp {
using namespace wave;

void fail(mlir::Location loc, DiagId id, std::string message, std::string hint) {
  Diagnostic diagnostic;
  diagnostic.id = id;
  diagnostic.place = placeOf(loc);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  throw Failure{std::move(diagnostic)};
}

namespace {
using TilePtr = std::shared_ptr<const Tile>;

class Executor {
public:
  Executor(KernelOp kernel, const Inputs &inputs) : kernel(kernel), geometry(kernel, inputs.symbols) {
    if (geometry.form() >= Form::Machine)
      fail(kernel.getLoc(), DiagId::NotSupportedHere, "a kernel in the form `Machine` is executed by the emulator");
    bindArguments(inputs);
    if (inputs.noise != NoiseKind::none)
      noise.emplace(inputs.noise, inputs.noiseSeed);
  }

  void run() {
    Geometry::Grid grid = geometry.grid(), ids = {};
    if (llvm::any_of(grid, [](int64_t size) { return size <= 0; }))
      return;
    auto inCluster = static_cast<size_t>(kernel.getCluster() ? grid[kClusterDim] : 1);
    size_t dims = kernel.getCluster() ? static_cast<size_t>(kClusterDim) : ids.size();
    while (true) {
      runCluster(ids, inCluster);
      size_t dim = 0;
      while (dim < dims && ++ids[dim] == grid[dim])
        ids[dim++] = 0;
      if (dim == dims)
        return;
    }
  }

  /// The workgroups of a cluster take turns, op by op: they meet between any two of the kernel's outermost ops, inside
  /// which none speaks of another.
  void runCluster(Geometry::Grid ids, size_t size) {
    if (size == 1) {
      geometry.enterWorkgroup(ids);
      return runBlock(kernel.block());
    }
    cluster.assign(size, Held{.tiles = tiles});
    for (mlir::Operation &op : kernel.block())
      for (now = 0; now < size; ++now) {
        ids[kClusterDim] = static_cast<int64_t>(now);
        geometry.enterWorkgroup(ids);
        exchange(cluster[now]);
        execute(&op);
        exchange(cluster[now]);
      }
  }

  std::vector<Bytes> arguments(const Inputs &inputs) {
    std::vector<Bytes> result = inputs.arguments;
    for (auto [index, argument] : llvm::enumerate(kernel.block().getArguments()))
      if (auto found = global.find(argument); found != global.end())
        result[index] = found->second->bytes();
    return result;
  }

private:
  using Shared = llvm::DenseMap<mlir::Value, std::vector<Memory>>;
  /// What a workgroup of a cluster has while it is another's turn.
  struct Held {
    llvm::DenseMap<mlir::Value, TilePtr> tiles;
    llvm::DenseMap<mlir::Value, int64_t> indices = llvm::DenseMap<mlir::Value, int64_t>();
    Shared shared = Shared();
  };

  void exchange(Held &other) {
    std::swap(tiles, other.tiles);
    std::swap(indices, other.indices);
    std::swap(shared, other.shared);
  }

  /// The shared memory that the op speaks of: the workgroup's own, or that of another one of its cluster.
  Shared &sharedOf(mlir::Operation *op) {
    auto read = llvm::dyn_cast<ReadOp>(op);
    bool isRemote = read && read.getWorkgroup() && *read.getWorkgroup() != now;
    return isRemote ? cluster[*read.getWorkgroup()].shared : shared;
  }

  //===-- Arguments -----------------------------------------------------------===//

  void bindArguments(const Inputs &inputs) {
    if (inputs.arguments.size() != kernel.block().getNumArguments())
      fail(kernel.getLoc(), DiagId::ReferenceInput,
           "found " + std::to_string(inputs.arguments.size()) + " arguments, expected " +
               std::to_string(kernel.block().getNumArguments()));
    for (auto [argument, bytes] : llvm::zip(kernel.block().getArguments(), inputs.arguments)) {
      if (auto type = llvm::dyn_cast<MemoryType>(argument.getType()))
        bindMemory(argument, type, bytes);
      else
        bindScalar(argument, bytes);
    }
  }

  void checkSize(mlir::BlockArgument argument, size_t found, size_t expected) {
    if (found == expected)
      return;
    auto name = llvm::cast<mlir::StringAttr>(kernel.getArgNames()[argument.getArgNumber()]);
    fail(kernel.getLoc(), DiagId::ReferenceInput,
         "argument `" + name.str() + "` has " + std::to_string(found) + " bytes, expected " + std::to_string(expected));
  }

  void bindMemory(mlir::BlockArgument argument, MemoryType type, const Bytes &bytes) {
    DType element = *dtypeOf(type.getElementType());
    std::vector<int64_t> extents;
    int64_t elements = 1;
    for (ExprAttr extent : type.getShape()) {
      extents.push_back(geometry.evaluate(extent.getValue(), kernel.getLoc()));
      if (extents.back() < 0 || __builtin_mul_overflow(elements, extents.back(), &elements) || elements >> 40)
        fail(kernel.getLoc(), DiagId::ReferenceInput, "a memory has no possible size");
    }
    checkSize(argument, bytes.size(), Packing(element, extents).bytes());
    global[argument] = std::make_shared<Memory>(element, std::move(extents), bytes);
  }

  void bindScalar(mlir::BlockArgument argument, const Bytes &bytes) {
    DType type = *dtypeOf(argument.getType());
    Packing packing(type, {1});
    checkSize(argument, bytes.size(), packing.bytes());
    Tile tile(Domain(), type);
    if (isFloat(type))
      tile.as<double>()[0] = decodeFloat(type, packing.load(bytes, 0));
    else
      tile.as<int64_t>()[0] = decodeInteger(type, packing.load(bytes, 0));
    define(argument, std::move(tile));
  }

  //===-- Values --------------------------------------------------------------===//

  void define(mlir::Value value, Tile tile) { tiles[value] = std::make_shared<const Tile>(std::move(tile)); }
  const Tile &tile(mlir::Value value) { return *tiles.at(value); }
  /// What an op sums up along `dim`, in the type of `sum`.
  TilePtr terms(mlir::Value value, llvm::StringRef dim, mlir::Value sum) {
    if (!noise)
      return tiles.at(value);
    return std::make_shared<const Tile>(noise->beforeSum(tile(value), Dim(dim.str()), typeOf(sum)));
  }
  std::vector<const Tile *> tilesOf(mlir::ValueRange values) {
    std::vector<const Tile *> result;
    for (mlir::Value value : values)
      result.push_back(&tile(value));
    return result;
  }
  Domain domainOf(mlir::Value value) { return geometry.domain(llvm::cast<TileType>(value.getType()), value.getLoc()); }
  DType typeOf(mlir::Value value) { return *dtypeOf(llvm::cast<TileType>(value.getType()).getElementType()); }

  //===-- Control -------------------------------------------------------------===//

  void runBlock(mlir::Block &block) {
    for (mlir::Operation &op : block)
      execute(&op);
  }

  /// The numbers that the op's expressions speak of.
  void enterOp(mlir::Operation *op) {
    auto indexed = llvm::dyn_cast<IndexedOpInterface>(op);
    if (!indexed || indexed.getSymbols().empty())
      return;
    std::vector<int64_t> values;
    for (mlir::Value symbol : indexed.getSymbols())
      values.push_back(indices.lookup(symbol));
    geometry.setOperands(values);
  }

  void iterate(IterateOp loop) {
    int64_t count = geometry.iterations(loop);
    std::vector<TilePtr> carried;
    for (mlir::Value init : loop.getInits())
      carried.push_back(tiles.at(init));
    mlir::Operation *yield = loop.block().getTerminator();
    ended.erase(loop);
    for (int64_t number = 0; number < count && !ended.contains(loop); ++number) {
      geometry.setIteration(loop, number);
      indices[loop.iteration()] = number;
      for (auto [argument, value] : llvm::zip(loop.carried(), carried))
        tiles[argument] = value;
      runBlock(loop.block());
      for (auto [value, next] : llvm::zip(yield->getOperands(), carried))
        next = tiles.at(value);
    }
    for (auto [result, value] : llvm::zip(loop.getResults(), carried))
      tiles[result] = value;
  }

  void conditional(ConditionalOp op) {
    bool holds = geometry.evaluate(op.getCondition().getValue(), op.getLoc()) != 0;
    mlir::Block &taken = holds ? op.thenBlock() : op.elseBlock();
    runBlock(taken);
    for (auto [result, value] : llvm::zip(op.getResults(), taken.getTerminator()->getOperands())) {
      TilePtr yielded = tiles.at(value); // a new entry may move the others
      tiles[result] = yielded;
    }
  }

  //===-- Memory --------------------------------------------------------------===//

  Memory &memoryOf(mlir::Operation *op, mlir::Value value) {
    if (auto found = global.find(value); found != global.end())
      return *found->second;
    Shared &blocks = sharedOf(op);
    if (auto found = blocks.find(value); found != blocks.end()) {
      auto buffer = op->getAttrOfType<ExprAttr>("buffer");
      int64_t index = buffer ? geometry.evaluate(buffer.getValue(), op->getLoc()) : 0;
      if (index < 0 || index >= static_cast<int64_t>(found->second.size()))
        fail(op->getLoc(), DiagId::ReferenceUndefined,
             "touches buffer " + std::to_string(index) + " of a shared memory that has " +
                 std::to_string(found->second.size()));
      return found->second[index];
    }
    fail(op->getLoc(), DiagId::ReferenceUndefined, "the memory is neither a parameter nor allocated here");
  }

  void allocate(AllocateOp op) {
    MemoryType type = op.getResult().getType();
    std::vector<int64_t> extents;
    size_t elements = 1;
    for (auto [index, extent] : llvm::enumerate(type.getShape())) {
      extents.push_back(sharedExtent(op, type, index, extent.getValue()));
      elements *= static_cast<size_t>(extents.back());
      if (elements >> 26)
        fail(op.getLoc(), DiagId::ReferenceUndefined, "a shared memory has too many elements");
    }
    elements *= op.getBuffers();
    if (elements >> 26)
      fail(op.getLoc(), DiagId::ReferenceUndefined, "a shared memory has too many elements");
    shared[op.getResult()].assign(op.getBuffers(), Memory(*dtypeOf(type.getElementType()), extents));
  }

  /// Elements of a shared memory along a dimension: what its address map says, otherwise the dimension's tile.
  int64_t sharedExtent(AllocateOp op, MemoryType type, size_t index, sym::Expr extent) {
    if (!type.getMap())
      return geometry.extent(Dim(sym::toString(extent)), op.getLoc());
    const std::vector<DimExtent> &dims = type.getMap().getValue().dims;
    for (const DimExtent &each : dims)
      if (each.dim.name() == sym::toString(extent))
        return each.extent;
    return dims[index].extent;
  }

  void read(ReadOp op) {
    Memory &memory = memoryOf(op, op.getMemory());
    Tile result(domainOf(op.getResult()), memory.type());
    Access access(op, memory, global.count(op.getMemory()), result.domain, tilesOf(op.getDynamicValues()), geometry);
    auto load = [&](auto zero) {
      using T = decltype(zero);
      std::vector<T> &values = result.as<T>();
      access.forEach([&](size_t position, size_t element) {
        if (!memory.isDefined(element))
          fail(op.getLoc(), DiagId::ReferenceUndefined, "reads an element of shared memory that was never written");
        values[position] = memory.load<T>(element);
      });
    };
    if (isFloat(memory.type()))
      load(double());
    else
      load(int64_t());
    define(op.getResult(), std::move(result));
  }

  void write(WriteOp op) {
    Memory &memory = memoryOf(op, op.getMemory());
    const Tile &value = tile(op.getValue());
    Access access(op, memory, global.count(op.getMemory()), value.domain, tilesOf(op.getDynamicValues()), geometry);
    std::visit(
        [&](const auto &values) {
          access.forEach([&](size_t position, size_t element) { memory.store(element, values[position]); });
        },
        value.values);
  }

  void atomic(AtomicOp op) {
    Memory &memory = memoryOf(op, op.getMemory());
    const Tile &value = tile(op.getValue());
    Tile old(value.domain, memory.type());
    // A value lies where its own says, which has the same type.
    const Tile *expected = op.getExpected() ? &tile(op.getExpected()) : nullptr;
    Access access(op, memory, global.count(op.getMemory()), value.domain, tilesOf(op.getDynamicValues()), geometry);
    std::visit(
        [&]<typename T>(const std::vector<T> &values) {
          access.forEach([&](size_t position, size_t element) {
            if (!memory.isDefined(element))
              fail(op.getLoc(), DiagId::ReferenceUndefined,
                   "changes an element of shared memory that was never written");
            T found = old.as<T>()[position] = memory.load<T>(element);
            if (!expected || expected->as<T>()[position] == found)
              memory.store(element, updated(op.getKind(), memory.type(), found, values[position]));
          });
        },
        value.values);
    define(op.getResult(), std::move(old));
  }

  /// A swizzle exchanges chunks of a row, or of a line of several, so a tile that is closed under it holds the
  /// coordinates of its own places.
  void checkWholeChunks(CopyOp op, const Domain &places) {
    SharedMapAttr map = op.getDestination().getType().getMap();
    if (!map || !map.getValue().isSwizzled())
      return;
    const Swizzle &swizzle = map.getValue().swizzle;
    auto isClosed = [](const Places &along, int64_t unit, int64_t count) {
      for (int64_t place : along)
        for (int64_t bit = 1; bit < count; bit *= 2)
          if (!std::ranges::binary_search(along, ((place / unit) ^ bit) * unit + place % unit))
            return false;
      return true;
    };
    int64_t rows = map.getValue().rowsPerLine();
    if (!isClosed(places.places.back(), swizzle.chunk, swizzle.allPhases() / rows) ||
        (rows > 1 && !isClosed(places.places[places.places.size() - 2], 1, rows)))
      fail(op.getLoc(), DiagId::ReferenceUndefined, "copies a part of what the destination's swizzle exchanges");
  }

  void copy(CopyOp op) {
    Memory &source = memoryOf(op, op.getSource()), &destination = memoryOf(op, op.getDestination());
    Tile moved(geometry.domain(op.getTile(), op.getLoc()), source.type());
    checkWholeChunks(op, moved.domain);
    Access access(op, source, /*isArgument=*/true, moved.domain, {}, geometry);
    std::visit(
        [&](auto &values) {
          using T = typename std::decay_t<decltype(values)>::value_type;
          access.forEach([&](size_t position, size_t element) { values[position] = source.load<T>(element); });
          storeWhole(op, moved.domain, values, destination);
        },
        moved.values);
  }

  /// Boxes end where the destination does.
  void copyOut(CopyOutOp op) {
    Memory &source = memoryOf(op, op.getSource()), &destination = memoryOf(op, op.getDestination());
    Domain domain = geometry.domain(op.getTile(), op.getLoc());
    Access access(op, destination, /*isArgument=*/true, domain, {}, geometry);
    auto store = [&](auto zero) {
      access.forEach([&](size_t position, size_t element) {
        std::optional<size_t> from = elementAt(domain, position, source);
        if (!from || !source.isDefined(*from))
          fail(op.getLoc(), DiagId::ReferenceUndefined, "copies an element of shared memory that was never written");
        destination.store(element, source.load<decltype(zero)>(*from));
      });
    };
    isFloat(source.type()) ? store(double()) : store(int64_t());
  }

  /// Which element of a shared tile the domain has at a position; nothing where the tile does not have it.
  static std::optional<size_t> elementAt(const Domain &domain, size_t position, const Memory &memory) {
    size_t element = 0, stride = 1;
    for (size_t d = domain.rank(); d-- > 0;) {
      int64_t place = domain.places[d][position % domain.places[d].size()];
      position /= domain.places[d].size();
      if (place >= memory.extents()[d])
        return std::nullopt;
      element += static_cast<size_t>(place) * stride;
      stride *= static_cast<size_t>(memory.extents()[d]);
    }
    return element;
  }

  /// Every place of the domain is an element of the shared tile. Lanes may hold more than an odd tile has, and the tile
  /// has room for them or not once it has an address map; before, they copy nothing.
  template <typename T>
  void storeWhole(CopyOp op, const Domain &domain, const std::vector<T> &values, Memory &memory) {
    bool isPlaced = bool(op.getDestination().getType().getMap());
    std::vector<size_t> index(domain.rank(), 0);
    for (const T &value : values) {
      int64_t element = 0;
      bool isInside = true;
      for (size_t d = 0; d < domain.rank(); ++d) {
        int64_t place = domain.places[d][index[d]];
        isInside &= place < memory.extents()[d];
        if (!isInside && isPlaced)
          fail(op.getLoc(), DiagId::ReferenceUndefined,
               "copies to " + std::to_string(place) + " along dimension " + std::to_string(d) + " of a tile of " +
                   std::to_string(memory.extents()[d]));
        element = element * memory.extents()[d] + place;
      }
      if (isInside)
        memory.store(static_cast<size_t>(element), value);
      for (size_t d = domain.rank(); d-- > 0;) {
        if (++index[d] < domain.places[d].size())
          break;
        index[d] = 0;
      }
    }
  }

  //===-- Compute -------------------------------------------------------------===//

  void fill(FillOp op) {
    Tile result(domainOf(op.getResult()), typeOf(op.getResult()));
    if (auto number = llvm::dyn_cast<mlir::FloatAttr>(op.getValue()))
      std::ranges::fill(result.as<double>(), round(result.type, number.getValueAsDouble()));
    else if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(op.getValue()))
      std::ranges::fill(result.as<int64_t>(), wrap(result.type, integer.getValue().getSExtValue()));
    else
      fail(op.getLoc(), DiagId::ReferenceUndefined, "`wave.fill` has a value that is no number");
    define(op.getResult(), std::move(result));
  }

  void selfIndex(SelfIndexOp op) {
    Tile result(domainOf(op.getResult()), typeOf(op.getResult()));
    Dim dim(op.getDim().str());
    int64_t start = op.getStart() ? geometry.evaluate(op.getStart()->getValue(), op.getLoc()) : geometry.start(dim, op);
    std::vector<int64_t> &values = result.as<int64_t>();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = wrap(result.type, start + result.domain.places[0][i]);
    define(op.getResult(), std::move(result));
  }

  /// Which coordinates along `dim` are within its size and the workgroup's part; from the form `stated` on only where
  /// `start` is stated.
  std::function<bool(int64_t)> insideOf(mlir::Operation *op, Dim dim, Form stated, std::optional<ExprAttr> start) {
    if (!start && geometry.form() >= stated)
      return [](int64_t) { return true; };
    int64_t first = start ? geometry.evaluate(start->getValue(), op->getLoc()) : geometry.start(dim, op);
    int64_t size = geometry.size(dim, op->getLoc()), extent = geometry.extent(dim, op->getLoc());
    return [=](int64_t place) { return place < extent && first + place >= 0 && first + place < size; };
  }

  void rearrange(RearrangeOp op) {
    std::vector<sym::Expr> indices;
    if (op.getIndices())
      for (sym::Expr index : exprsOf(*op.getIndices()))
        indices.push_back(geometry.bind(index, op.getLoc()));
    std::vector<int64_t> extents;
    std::vector<std::function<bool(int64_t)>> inside;
    for (auto [k, name] : llvm::enumerate(op.getOperand().getType().getDims())) {
      Dim dim(name.str());
      extents.push_back(geometry.extent(dim, op.getLoc()));
      inside.push_back(staysInPlace(op, k) ? [](int64_t) { return true; }
                                           : insideOf(op, dim, Form::Indexed, std::nullopt));
    }
    define(op.getResult(),
           interp::rearrange(op, tile(op.getOperand()), indices, extents, inside, domainOf(op.getResult())));
  }

  void concatenate(ConcatenateOp op) {
    std::vector<std::function<bool(int64_t)>> inside;
    for (mlir::StringAttr name : op.getAlong().getAsRange<mlir::StringAttr>())
      inside.push_back(insideOf(op, Dim(name.str()), Form::Indexed, std::nullopt));
    Domain result = domainOf(op.getResult());
    size_t dim = *result.find(Dim(op.getDim().str()));
    define(op.getResult(), interp::concatenate(tilesOf(op.getPieces()), dim, inside, result));
  }

  void sort(SortOp op) {
    std::vector<Tile> sorted = interp::sort(op, tilesOf(op.getOperands()), domainOf(op.getResult(0)),
                                            insideOf(op, Dim(op.getDim().str()), Form::Indexed, std::nullopt));
    for (auto [result, rows] : llvm::zip(op.getResults(), sorted))
      define(result, std::move(rows));
  }

  void argReduce(ArgReduceOp op) {
    Dim dim(op.getDim().str());
    Extremes before;
    if (!op.getInits().empty())
      before = {tile(op.getInits()[0]), tile(op.getInits()[1])};
    Extremes found =
        interp::argReduce(op, tile(op.getSource()), op.getInits().empty() ? nullptr : &before, typeOf(op.getIndex()),
                          geometry.start(dim, op), insideOf(op, dim, Form::Indexed, std::nullopt));
    define(op.getValue(), std::move(found.value));
    define(op.getIndex(), std::move(found.index));
  }

  void execute(mlir::Operation *op) {
    enterOp(op);
    llvm::TypeSwitch<mlir::Operation *>(op)
        .Case([&](ReadOp each) { read(each); })
        .Case([&](WriteOp each) { write(each); })
        .Case([&](AtomicOp each) { atomic(each); })
        .Case([&](CopyOp each) { copy(each); })
        .Case([&](CopyOutOp each) { copyOut(each); })
        .Case([&](WorkgroupIdOp each) {
          indices[each.getResult()] = geometry.workgroupId(static_cast<int64_t>(each.getDim()));
        })
        .Case([&](IndexOfOp each) { indices[each.getResult()] = tile(each.getTile()).as<int64_t>()[0]; })
        .Case([&](WhileOp each) {
          if (geometry.evaluate(each.getCondition().getValue(), each.getLoc()) == 0)
            ended.insert(each->getParentOp());
        })
        .Case([&](AllocateOp each) { allocate(each); })
        .Case([&](IterateOp each) { iterate(each); })
        .Case([&](ConditionalOp each) { conditional(each); })
        .Case<YieldOp, BarrierOp, CommitOp, WaitOp, ReleaseOp, AwaitOp, PriorityOp, SchedBarrierOp, SchedGroupOp>(
            [](auto) {})
        .Case([&](FillOp each) { fill(each); })
        .Case([&](SelfIndexOp each) { selfIndex(each); })
        .Case([&](PrefetchOp) {}) // changes nothing
        .Case([&](RearrangeOp each) { rearrange(each); })
        .Case([&](ConcatenateOp each) { concatenate(each); })
        .Case([&](SortOp each) { sort(each); })
        .Case<SplatOp, BroadcastOp, PermuteOp, ConvertOp, SliceOp, PrintOp>([&](auto each) {
          define(each.getResult(), reindex(op, tile(op->getOperand(0)), domainOf(each.getResult())));
        })
        .Default([&](mlir::Operation *) {
          compute(op);
          if (noise)
            define(op->getResult(0), noise->afterOp(op, tile(op->getResult(0))));
        });
  }

  void compute(mlir::Operation *op) {
    llvm::TypeSwitch<mlir::Operation *>(op)
        .Case([&](UnaryOp each) {
          define(each.getResult(), unary(each, tile(each.getOperand()), domainOf(each.getResult())));
        })
        .Case([&](BinaryOp each) {
          define(each.getResult(), binary(each, tile(each.getLhs()), tile(each.getRhs()), domainOf(each.getResult())));
        })
        .Case([&](CompareOp each) {
          define(each.getResult(), compare(each, tile(each.getLhs()), tile(each.getRhs()), domainOf(each.getResult())));
        })
        .Case([&](SelectOp each) {
          define(each.getResult(), select(each, tile(each.getCondition()), tile(each.getIfTrue()),
                                          tile(each.getIfFalse()), domainOf(each.getResult())));
        })
        .Case([&](CastOp each) {
          define(each.getResult(),
                 cast(each, tile(each.getOperand()), typeOf(each.getResult()), domainOf(each.getResult())));
        })
        .Case([&](BitcastOp each) {
          define(each.getResult(),
                 bitcast(each, tile(each.getOperand()), typeOf(each.getResult()), domainOf(each.getResult())));
        })
        .Case([&](ApplyExprOp each) {
          sym::Expr expr = geometry.bind(each.getExpr().getValue(), op->getLoc());
          define(each.getResult(), applyExpr(each, expr, tilesOf(each.getInputs()), typeOf(each.getResult()),
                                             domainOf(each.getResult())));
        })
        .Case([&](JoinOp each) {
          define(each.getResult(), join(each, tilesOf(each.getPieces()), domainOf(each.getResult())));
        })
        .Case([&](MmaOp each) {
          define(each.getResult(), mma(each, *terms(each.getLhs(), each.getContractedDim(), each.getAcc()),
                                       tile(each.getRhs()), tile(each.getAcc()), tilesOf(each.getScales()),
                                       insideOf(op, Dim(each.getContractedDim().str()), Form::Placed, std::nullopt)));
        })
        .Case([&](ReduceOp each) {
          define(each.getResult(), reduce(each, *terms(each.getSource(), each.getDim(), each.getResult()),
                                          each.getInit() ? &tile(each.getInit()) : nullptr, domainOf(each.getResult()),
                                          insideOf(op, Dim(each.getDim().str()), Form::Indexed, each.getStart())));
        })
        .Case([&](ShuffleOp each) {
          define(each.getResult(),
                 shuffle(each, tile(each.getSource()), each.getIndex() ? &tile(each.getIndex()) : nullptr,
                         domainOf(each.getResult())));
        })
        .Case([&](ScanOp each) {
          define(each.getResult(),
                 scan(each, *terms(each.getSource(), each.getDim(), each.getResult()),
                      each.getInit() ? &tile(each.getInit()) : nullptr,
                      each.getTotals() ? &tile(each.getTotals()) : nullptr, domainOf(each.getResult()),
                      insideOf(op, Dim(each.getDim().str()), Form::Indexed, each.getStart())));
        })
        .Case([&](ArgReduceOp each) { argReduce(each); })
        .Default([&](mlir::Operation *) {
          fail(op->getLoc(), DiagId::NotSupportedHere,
               "the reference interpreter does not know `" + op->getName().getStringRef().str() + "`");
        });
  }

  KernelOp kernel;
  Geometry geometry;
  std::optional<Noise> noise;
  llvm::DenseMap<mlir::Value, TilePtr> tiles;
  llvm::DenseMap<mlir::Value, int64_t> indices;
  /// Loops whose present iteration is their last.
  llvm::DenseSet<mlir::Operation *> ended;
  llvm::DenseMap<mlir::Value, std::shared_ptr<Memory>> global;
  /// One memory per buffer.
  Shared shared;
  std::vector<Held> cluster;
  /// Whose turn it is.
  size_t now = 0;
};
} // namespace

Result run(KernelOp kernel, const Inputs &inputs) {
  Result result;
  try {
    Executor executor(kernel, inputs);
    executor.run();
    result.arguments = executor.arguments(inputs);
  } catch (const Failure &failure) {
    result.diagnostics.push_back(failure.diagnostic);
  }
  return result;
}

} // namespace soliton::interp
