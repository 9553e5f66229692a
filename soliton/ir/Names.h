//===- Names.h - The MLIR names we use ---------------------------------------===//
//
// Imported into `soliton` once, so that no file needs `using namespace mlir` (which makes generated pass bases
// ambiguous).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace soliton {
using llvm::ArrayRef;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::ArrayAttr;
using mlir::Attribute;
using mlir::Block;
using mlir::BlockArgument;
using mlir::failed;
using mlir::failure;
using mlir::FailureOr;
using mlir::Location;
using mlir::LogicalResult;
using mlir::MLIRContext;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::StringAttr;
using mlir::succeeded;
using mlir::success;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;
} // namespace soliton
