//===- Interpreter.cpp - Runs a kernel op by op --------------------------------===//

#include "soliton/interpreter/Interpreter.h"

#include "soliton/interpreter/Access.h"
#include "soliton/interpreter/Compute.h"
#include "soliton/interpreter/Failure.h"
#include "soliton/interpreter/Numbers.h"

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
  }

  void run() {
    std::array<int64_t, 3> grid = geometry.grid();
    for (int64_t z = 0; z < grid[2]; ++z)
      for (int64_t y = 0; y < grid[1]; ++y)
        for (int64_t x = 0; x < grid[0]; ++x) {
          geometry.enterWorkgroup(x, y, z);
          runBlock(kernel.block());
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
    checkSize(argument, bytes.size(), bytesNeeded(element, elements));
    global[argument] = std::make_shared<Memory>(element, std::move(extents), bytes);
  }

  void bindScalar(mlir::BlockArgument argument, const Bytes &bytes) {
    DType type = *dtypeOf(argument.getType());
    checkSize(argument, bytes.size(), bytesNeeded(type, 1));
    Tile tile(Domain(), type);
    if (isFloat(type))
      tile.as<double>()[0] = decodeFloat(type, bytes, 0);
    else
      tile.as<int64_t>()[0] = decodeInteger(type, bytes, 0);
    define(argument, std::move(tile));
  }

  //===-- Values --------------------------------------------------------------===//

  void define(mlir::Value value, Tile tile) { tiles[value] = std::make_shared<const Tile>(std::move(tile)); }
  const Tile &tile(mlir::Value value) { return *tiles.at(value); }
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

  void iterate(IterateOp loop) {
    int64_t count = geometry.iterations(loop);
    std::vector<TilePtr> carried;
    for (mlir::Value init : loop.getInits())
      carried.push_back(tiles.at(init));
    mlir::Operation *yield = loop.block().getTerminator();
    for (int64_t number = 0; number < count; ++number) {
      geometry.setIteration(loop, number);
      for (auto [argument, value] : llvm::zip(loop.block().getArguments(), carried))
        tiles[argument] = value;
      runBlock(loop.block());
      for (auto [value, next] : llvm::zip(yield->getOperands(), carried))
        next = tiles.at(value);
    }
    for (auto [result, value] : llvm::zip(loop.getResults(), carried))
      tiles[result] = value;
  }

  //===-- Memory --------------------------------------------------------------===//

  Memory &memoryOf(mlir::Operation *op, mlir::Value value) {
    if (auto found = global.find(value); found != global.end())
      return *found->second;
    if (auto found = shared.find(value); found != shared.end())
      return *found->second;
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
    shared[op.getResult()] = std::make_shared<Memory>(*dtypeOf(type.getElementType()), std::move(extents));
  }

  /// Elements of a shared memory along a dimension: what its address map says, otherwise the dimension's tile.
  int64_t sharedExtent(AllocateOp op, MemoryType type, size_t index, sym::Expr extent) {
    if (!type.getMap())
      return geometry.extent(Dim(sym::toString(extent)), op.getLoc());
    const std::vector<DimExtent> &dims = type.getMap().getValue().dims;
    for (const DimExtent &each : dims)
      if (each.dim.name() == extent.symbolName())
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

  /// Which coordinates along `dim` are within its size; from `Placed` on only where `start` is stated.
  std::function<bool(int64_t)> insideOf(mlir::Operation *op, Dim dim, std::optional<ExprAttr> start) {
    if (!start && geometry.form() >= Form::Placed)
      return [](int64_t) { return true; };
    int64_t first = start ? geometry.evaluate(start->getValue(), op->getLoc()) : geometry.start(dim, op);
    int64_t size = geometry.size(dim, op->getLoc());
    return [=](int64_t place) { return first + place < size; };
  }

  void execute(mlir::Operation *op) {
    llvm::TypeSwitch<mlir::Operation *>(op)
        .Case([&](ReadOp each) { read(each); })
        .Case([&](WriteOp each) { write(each); })
        .Case([&](AllocateOp each) { allocate(each); })
        .Case([&](IterateOp each) { iterate(each); })
        .Case<YieldOp, BarrierOp, WaitOp>([](auto) {})
        .Case([&](FillOp each) { fill(each); })
        .Case([&](SelfIndexOp each) { selfIndex(each); })
        .Case<SplatOp, BroadcastOp, PermuteOp, ConvertOp, SliceOp>([&](auto each) {
          define(each.getResult(), reindex(op, tile(op->getOperand(0)), domainOf(each.getResult())));
        })
        .Default([&](mlir::Operation *) { compute(op); });
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
        .Case([&](ApplyExprOp each) {
          sym::Expr expr = geometry.bind(each.getExpr().getValue(), op->getLoc());
          define(each.getResult(), applyExpr(each, expr, tilesOf(each.getOperands()), typeOf(each.getResult()),
                                             domainOf(each.getResult())));
        })
        .Case([&](JoinOp each) {
          define(each.getResult(), join(each, tilesOf(each.getPieces()), domainOf(each.getResult())));
        })
        .Case([&](MmaOp each) {
          define(each.getResult(), mma(each, tile(each.getLhs()), tile(each.getRhs()), tile(each.getAcc()),
                                       insideOf(op, Dim(each.getContractedDim().str()), std::nullopt)));
        })
        .Case([&](ReduceOp each) {
          define(each.getResult(),
                 reduce(each, tile(each.getSource()), each.getInit() ? &tile(each.getInit()) : nullptr,
                        domainOf(each.getResult()), insideOf(op, Dim(each.getDim().str()), each.getStart())));
        })
        .Default([&](mlir::Operation *) {
          fail(op->getLoc(), DiagId::NotSupportedHere,
               "the reference interpreter does not know `" + op->getName().getStringRef().str() + "`");
        });
  }

  KernelOp kernel;
  Geometry geometry;
  llvm::DenseMap<mlir::Value, TilePtr> tiles;
  llvm::DenseMap<mlir::Value, std::shared_ptr<Memory>> global, shared;
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
