#include "soliton/backend/common/Pressure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace soliton::backend {

namespace {
/// Places in the order of the text: an op has one where it begins and one where its regions end.
class Lifetimes {
public:
  int64_t most(machine::KernelOp kernel) {
    number(kernel);
    kernel.getBody().walk([&](mlir::Operation *op) {
      for (mlir::Value result : op->getResults())
        add(result, ends.lookup(op));
      for (mlir::Region &region : op->getRegions())
        for (mlir::Value argument : region.getArguments())
          add(argument, begins.lookup(op));
    });
    int64_t alive = 0, largest = 0;
    for (int64_t change : changes)
      largest = std::max(largest, alive += change);
    return largest / 32;
  }

private:
  void number(mlir::Operation *op) {
    begins[op] = next++;
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::Operation &inner : block)
          number(&inner);
    ends[op] = next++;
    changes.resize(static_cast<size_t>(next) + 1);
  }

  /// What is made outside a loop and used in it lives until the loop ends.
  int64_t endOf(mlir::Value value, mlir::Operation *user) const {
    int64_t end = begins.lookup(user);
    mlir::Region *home = value.getParentRegion();
    for (mlir::Operation *around = user->getParentOp(); around && home->isAncestor(around->getParentRegion());
         around = around->getParentOp())
      if (llvm::isa<mlir::scf::ForOp>(around))
        end = std::max(end, ends.lookup(around));
    return end;
  }

  void add(mlir::Value value, int64_t from) {
    auto type = llvm::dyn_cast<mlir::VectorType>(value.getType());
    // Constants are made again wherever they are used.
    if (!type || value.use_empty() || value.getDefiningOp<mlir::arith::ConstantOp>())
      return;
    int64_t last = from;
    for (mlir::Operation *user : value.getUsers())
      last = std::max(last, endOf(value, user));
    // Halves that are loaded one by one share registers later.
    int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
    changes[static_cast<size_t>(from)] += bits;
    changes[static_cast<size_t>(last) + 1] -= bits;
  }

  int64_t next = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> begins, ends;
  /// By place: bits that are alive from there on, less those that are not any more.
  std::vector<int64_t> changes;
};
} // namespace

int64_t registersAlive(machine::KernelOp kernel) {
  return Lifetimes().most(kernel);
}

} // namespace soliton::backend
