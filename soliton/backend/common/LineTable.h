//===- LineTable.h - Which op an instruction comes from -----------------------===//
//
// The locations of machine ops as LLVM debug locations: one subprogram for the kernel, line tables only, so that a
// disassembled instruction or a PTX line can be mapped to its op.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugLoc.h"

namespace soliton::backend {

class LineTable {
public:
  /// `directivesOnly`: nothing but `.loc` lines (PTX); otherwise a DWARF line section.
  void begin(llvm::Function &function, mlir::Location loc, bool directivesOnly);
  /// An empty location where there is none or the table was not begun.
  llvm::DebugLoc at(mlir::Location loc);
  void finish();

private:
  llvm::DIFile *fileOf(llvm::StringRef path);

  std::unique_ptr<llvm::DIBuilder> builder;
  llvm::DISubprogram *subprogram = nullptr;
  llvm::StringMap<llvm::DIScope *> scopes;
  llvm::DenseMap<mlir::Location, llvm::DebugLoc> known;
};

} // namespace soliton::backend
