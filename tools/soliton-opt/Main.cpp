//===- Main.cpp - soliton-opt: runs passes on the text of a program ---------===//
//
//   soliton-opt kernel.mlir --wave-assign-layouts
//
// Knows the dialects `wave` and `machine`, those that the machine form computes with, and every pass of the compiler.
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Machine.h"
#include "soliton/ir/Wave.h"
#ifdef SOLITON_HAS_TRANSFORMS
#include "soliton/transforms/Passes.h"
#endif
#ifdef SOLITON_HAS_DRIVER
#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/Pipelines.h"
#endif

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry
      .insert<soliton::wave::WaveDialect, soliton::machine::MachineDialect, mlir::arith::ArithDialect,
              mlir::func::FuncDialect, mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
#ifdef SOLITON_HAS_TRANSFORMS
  soliton::registerSolitonPasses();
#endif
#ifdef SOLITON_HAS_DRIVER
  soliton::registerPipelines();
  soliton::registerPassCheck();
#endif
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Soliton's passes on wave and machine programs\n", registry));
}
