//===- LineTable.cpp - Which op an instruction comes from ---------------------===//

#include "soliton/backend/common/LineTable.h"

#include "soliton/ir/Diagnose.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Module.h"

namespace soliton::backend {

/// The name as it was given, in one piece: a folder of its own would become that of the whole unit, and relative names
/// of other files would be looked for there.
llvm::DIFile *LineTable::fileOf(llvm::StringRef path) {
  return builder->createFile(path, "");
}

void LineTable::begin(llvm::Function &function, mlir::Location loc, bool directivesOnly) {
  llvm::Module &module = *function.getParent();
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  builder = std::make_unique<llvm::DIBuilder>(module);
  Place place = placeOf(loc);
  std::string path = place.known() ? place.file : std::string("kernel");
  auto emission = directivesOnly ? llvm::DICompileUnit::DebugDirectivesOnly : llvm::DICompileUnit::LineTablesOnly;
  llvm::DIFile *file = fileOf(path);
  llvm::DICompileUnit *unit = builder->createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), file,
                                                         "soliton", true, "", 0, "", emission);
  auto *type = builder->createSubroutineType(builder->getOrCreateTypeArray({}));
  subprogram = builder->createFunction(file, function.getName(), function.getName(), file, std::max(place.line, 1),
                                       type, std::max(place.line, 1), llvm::DINode::FlagZero,
                                       llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  (void)unit;
  function.setSubprogram(subprogram);
  scopes[path] = subprogram;
}

llvm::DebugLoc LineTable::at(mlir::Location loc) {
  if (!subprogram)
    return {};
  auto [entry, isNew] = known.try_emplace(loc);
  if (!isNew)
    return entry->second;
  Place place = placeOf(loc);
  if (!place.known()) // a call without a location is not allowed in a function that has lines
    return entry->second = llvm::DILocation::get(subprogram->getContext(), 0, 0, subprogram);
  llvm::DIScope *&scope = scopes[place.file];
  if (!scope)
    scope = builder->createLexicalBlockFile(subprogram, fileOf(place.file));
  return entry->second = llvm::DILocation::get(subprogram->getContext(), static_cast<unsigned>(place.line),
                                               static_cast<unsigned>(place.column), scope);
}

void LineTable::finish() {
  if (builder)
    builder->finalize();
}

} // namespace soliton::backend
