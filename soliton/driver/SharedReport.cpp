#include "soliton/driver/SharedReport.h"

#include "soliton/analysis/Access.h"
#include "soliton/ir/Diagnose.h"

namespace soliton {

std::vector<BankConflicts> countSharedConflicts(wave::KernelOp kernel, const Geometry &geometry) {
  std::vector<BankConflicts> list;
  kernel.walk([&](mlir::Operation *op) {
    if (!llvm::isa<wave::ReadOp, wave::WriteOp>(op))
      return;
    auto memory = llvm::cast<wave::MemoryType>(memoryOf(op).getType());
    if (!memory.isShared())
      return;
    wave::TileType tile = tileOf(op);
    bool write = llvm::isa<wave::WriteOp>(op);
    int64_t bytes = tile.layout().regs() * elementBytes(tile.getElementType());
    const SharedAccess &service = geometry.target().sharedAccess(bytes, write);
    int64_t conflicts = countConflicts(memory.getMap().getValue(), static_cast<int>(elementBits(tile.getElementType())),
                                       {layoutInMemory(op), tile.layout().regs(), service.model});
    Place place = placeOf(op->getLoc());
    auto same = llvm::find_if(list, [&](const BankConflicts &entry) {
      return entry.place == place && entry.write == write && entry.bytesPerLane == bytes;
    });
    if (same == list.end())
      list.push_back({place, write, bytes, conflicts});
    else
      same->conflicts += conflicts;
  });
  return list;
}

} // namespace soliton
