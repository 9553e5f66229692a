#include "soliton/driver/SharedReport.h"

#include "soliton/analysis/Access.h"
#include "soliton/ir/Diagnose.h"

namespace soliton {

std::vector<BankConflicts> countSharedConflicts(wave::KernelOp kernel, const Geometry &geometry) {
  std::vector<BankConflicts> list;
  kernel.walk([&](wave::AccessOpInterface op) {
    auto memory = llvm::cast<wave::MemoryType>(op.getIndexedMemory().getType());
    if (!memory.isShared())
      return;
    wave::TileType tile = op.getMovedTile();
    bool write = op.writesIndexed();
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
