//===- MachineDialect.cpp - Registration -----------------------------------===//

#include "soliton/ir/Machine.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "soliton/ir/MachineDialect.cpp.inc"
#include "soliton/ir/MachineEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "soliton/ir/MachineTypes.cpp.inc"

namespace soliton::machine {

void MachineDialect::initialize() {
  registerAttributes();
  addTypes<
#define GET_TYPEDEF_LIST
#include "soliton/ir/MachineTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "soliton/ir/MachineOps.cpp.inc"
      >();
}

} // namespace soliton::machine
