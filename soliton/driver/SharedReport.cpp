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
    const MatrixAccess *matrix = matrixAccessOf(op, geometry.target());
    int64_t bytes = tile.layout().regs() * elementBytes(tile.getElementType());
    int64_t perLane = matrix ? matrix->contiguous * matrix->elementBits / 8 : bytes;
    const SharedAccess &service = geometry.target().sharedAccess(perLane, write);
    SharedAccessPattern pattern{matrix ? matrixRowsOf(op, geometry.target()) : layoutInMemory(op),
                                matrix ? matrix->contiguous : tile.layout().regs(), service.model};
    int64_t conflicts =
        countConflicts(memory.getMap().getValue(), static_cast<int>(elementBits(tile.getElementType())), pattern);
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
