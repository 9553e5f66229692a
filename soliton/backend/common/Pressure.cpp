#include "soliton/backend/common/Pressure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace soliton::backend {

namespace vector = mlir::vector;

namespace {
/// Places in the order of the text: an op has one where it begins and one where its regions end.
class Lifetimes {
public:
  Pressure most(machine::KernelOp kernel) {
    number(kernel);
    kernel.getBody().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) { visit(op); });
    std::vector<int64_t> changes(static_cast<size_t>(next) + 1);
    for (const Number &number : numbers) {
      changes[static_cast<size_t>(number.from)] += number.bits;
      changes[static_cast<size_t>(number.to) + 1] -= number.bits;
    }
    int64_t alive = 0, largest = 0, place = 0;
    for (size_t i = 0; i < changes.size(); ++i)
      if ((alive += changes[i]) > largest) {
        largest = alive;
        place = static_cast<int64_t>(i);
      }
    return {largest / 32, largest > 0 ? opAt(place) : nullptr};
  }

private:
  /// What one element is: made at a place, needed until another.
  struct Number {
    mlir::Region *home;
    int64_t bits, from, to;
  };
  /// Numbers by element; `kFree` where it is a constant, which is made again wherever it is used.
  using Elements = llvm::SmallVector<int32_t, 4>;
  static constexpr int32_t kFree = -1;

  mlir::Operation *opAt(int64_t place) const {
    for (const auto *places : {&begins, &ends})
      for (const auto &[op, at] : *places)
        if (at == place)
          return op;
    return nullptr;
  }

  void number(mlir::Operation *op) {
    begins[op] = next++;
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::Operation &inner : block)
          number(&inner);
    ends[op] = next++;
  }

  void visit(mlir::Operation *op) {
    // What a loop begins with ends where its arguments begin: one register carries both.
    for (mlir::Region &region : op->getRegions())
      for (mlir::Value argument : region.getArguments())
        make(argument, begins.lookup(op) + 1);
    if (moves(op)) {
      pack(op);
      return;
    }
    for (mlir::Value operand : op->getOperands())
      for (int32_t each : elements.lookup(operand))
        if (each != kFree)
          use(numbers[static_cast<size_t>(each)], op);
    for (mlir::Value result : op->getResults())
      make(result, ends.lookup(op));
  }

  void make(mlir::Value value, int64_t from) {
    auto type = llvm::dyn_cast<mlir::VectorType>(value.getType());
    if (!type || value.use_empty())
      return;
    // A half that stays alone has a register to itself.
    int64_t count = type.getNumElements(), bits = type.getElementTypeBitWidth();
    Elements &list = elements[value];
    for (int64_t i = 0; i < count; ++i) {
      list.push_back(static_cast<int32_t>(numbers.size()));
      numbers.push_back({value.getParentRegion(), count == 1 ? std::max<int64_t>(bits, 32) : bits, from, from});
    }
  }

  /// What is made outside a loop and used in it lives until the loop ends.
  void use(Number &number, mlir::Operation *user) const {
    number.to = std::max(number.to, begins.lookup(user));
    for (mlir::Operation *around = user->getParentOp(); around && number.home->isAncestor(around->getParentRegion());
         around = around->getParentOp())
      if (llvm::isa<mlir::scf::ForOp, mlir::scf::WhileOp>(around))
        number.to = std::max(number.to, ends.lookup(around));
  }

  //===-- Ops that only move elements, for which there are no new registers -------------===//

  /// Those of a vector; of a scalar one, which counts from where it becomes part of a vector.
  Elements of(mlir::Value value) {
    auto known = elements.find(value);
    if (known != elements.end())
      return known->second;
    auto type = llvm::dyn_cast<mlir::VectorType>(value.getType());
    if (type || value.getDefiningOp<mlir::arith::ConstantOp>() || !value.getType().isIntOrFloat())
      return Elements(static_cast<size_t>(type ? type.getNumElements() : 1), kFree);
    int64_t from = value.getDefiningOp() ? ends.lookup(value.getDefiningOp()) : 0;
    numbers.push_back({value.getParentRegion(), value.getType().getIntOrFloatBitWidth(), from, from});
    return elements[value] = {static_cast<int32_t>(numbers.size() - 1)};
  }

  static size_t firstOf(mlir::ArrayAttr attribute) {
    return static_cast<size_t>(llvm::cast<mlir::IntegerAttr>(attribute[0]).getInt());
  }

  bool moves(mlir::Operation *op) {
    if (llvm::isa<mlir::arith::ConstantOp>(op))
      return true;
    if (auto slice = llvm::dyn_cast<vector::ExtractStridedSliceOp>(op)) {
      Elements from = of(slice.getSource());
      llvm::ArrayRef<int32_t> part(from);
      elements[slice] = Elements(part.slice(firstOf(slice.getOffsets()), firstOf(slice.getSizes())));
    } else if (auto slice = llvm::dyn_cast<vector::InsertStridedSliceOp>(op)) {
      Elements into = of(slice.getDest());
      llvm::copy(of(slice.getValueToStore()), into.begin() + static_cast<ptrdiff_t>(firstOf(slice.getOffsets())));
      elements[slice] = std::move(into);
    } else if (auto extract = llvm::dyn_cast<vector::ExtractOp>(op); extract && isStatic(extract)) {
      elements[extract] = {of(extract.getSource())[static_cast<size_t>(extract.getStaticPosition()[0])]};
    } else if (auto insert = llvm::dyn_cast<vector::InsertOp>(op); insert && isStatic(insert)) {
      Elements into = of(insert.getDest());
      into[static_cast<size_t>(insert.getStaticPosition()[0])] = of(insert.getValueToStore())[0];
      elements[insert] = std::move(into);
    } else if (auto shuffle = llvm::dyn_cast<vector::ShuffleOp>(op)) {
      Elements both = of(shuffle.getV1()), mixed;
      both.append(of(shuffle.getV2()));
      for (int64_t from : shuffle.getMask())
        mixed.push_back(from < 0 ? kFree : both[static_cast<size_t>(from)]);
      elements[shuffle] = std::move(mixed);
    } else if (auto broadcast = llvm::dyn_cast<vector::BroadcastOp>(op)) {
      elements[broadcast] =
          Elements(static_cast<size_t>(broadcast.getResultVectorType().getNumElements()), of(broadcast.getSource())[0]);
    } else if (auto list = llvm::dyn_cast<vector::FromElementsOp>(op)) {
      Elements all;
      for (mlir::Value element : list.getElements())
        all.push_back(of(element)[0]);
      elements[list] = std::move(all);
    } else {
      return false;
    }
    return true;
  }

  /// Halves that are loaded one by one share registers where they become one vector.
  void pack(mlir::Operation *op) {
    auto type = llvm::dyn_cast<mlir::VectorType>(op->getResult(0).getType());
    Elements list = elements.lookup(op->getResult(0));
    bool isSpread = llvm::all_equal(list);
    if (!type || type.getNumElements() == 1 || isSpread)
      return;
    for (int32_t each : list)
      if (each != kFree)
        numbers[static_cast<size_t>(each)].bits = type.getElementTypeBitWidth();
  }

  template <typename Op>
  static bool isStatic(Op op) {
    return op.getStaticPosition().size() == 1 && op.getDynamicPosition().empty();
  }

  int64_t next = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> begins, ends;
  std::vector<Number> numbers;
  llvm::DenseMap<mlir::Value, Elements> elements;
};
} // namespace

Pressure pressureOf(machine::KernelOp kernel) {
  return Lifetimes().most(kernel);
}

int64_t registersAlive(machine::KernelOp kernel) {
  return pressureOf(kernel).registers;
}

} // namespace soliton::backend
