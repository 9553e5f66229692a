// Diagnostics on their way from MLIR to values.
#include "soliton/ir/Diagnose.h"

#include "soliton/ir/Wave.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace soliton {
namespace {

class Diagnose : public ::testing::Test {
protected:
  Diagnose() : collector(&context) { context.loadDialect<wave::WaveDialect>(); }
  mlir::Location at(int line, int column) { return mlir::FileLineColLoc::get(&context, "gemm.py", line, column); }

  mlir::MLIRContext context;
  DiagnosticCollector collector;
};

llvm::LogicalResult failing(mlir::Location loc, mlir::Location other) {
  return report(loc, DiagId::FormViolated).hint("do this").note(other, "made here")
         << "found " << 3 << ", expected `x`";
}

TEST_F(Diagnose, ReportBecomesADiagnosticWithItsParts) {
  EXPECT_TRUE(mlir::failed(failing(at(31, 11), at(28, 9))));
  ASSERT_EQ(collector.diagnostics().size(), 1u);
  EXPECT_TRUE(collector.hasErrors());
  EXPECT_EQ(format(collector.diagnostics()[0]), "gemm.py:31:11: error: found 3, expected `x` [form-violated]\n"
                                                "gemm.py:28:9: note: made here\n"
                                                "  hint: do this");
}

TEST_F(Diagnose, ReportEndsInItsIdForOtherHandlers) {
  std::string text;
  std::vector<std::string> notes;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    text = diagnostic.str();
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      notes.push_back(note.str());
    return mlir::success();
  });
  EXPECT_TRUE(mlir::failed(failing(at(1, 1), at(2, 2))));
  EXPECT_EQ(text, "found 3, expected `x` [form-violated]");
  EXPECT_EQ(notes, (std::vector<std::string>{"made here", "hint: do this"}));
  EXPECT_TRUE(collector.diagnostics().empty());
}

TEST_F(Diagnose, WarningsAndRemarksAreNoErrors) {
  reportWarning(at(1, 1), DiagId::FormViolated) << "careful";
  reportRemark(at(2, 1), DiagId::FormViolated) << "by the way";
  ASSERT_EQ(collector.diagnostics().size(), 2u);
  EXPECT_FALSE(collector.hasErrors());
  EXPECT_EQ(collector.diagnostics()[0].severity, Severity::warning);
  EXPECT_EQ(collector.diagnostics()[1].severity, Severity::remark);
  EXPECT_EQ(collector.take().size(), 2u);
  EXPECT_TRUE(collector.diagnostics().empty());
}

TEST_F(Diagnose, FindsThePlaceInsideWrappedLocations) {
  mlir::Location name = mlir::NameLoc::get(mlir::StringAttr::get(&context, "acc"), at(5, 6));
  mlir::Location fused = mlir::FusedLoc::get(&context, {mlir::UnknownLoc::get(&context), name});
  mlir::Location call = mlir::CallSiteLoc::get(fused, at(90, 1));
  EXPECT_EQ(placeOf(call), Place("gemm.py", 5, 6));
  EXPECT_FALSE(placeOf(mlir::UnknownLoc::get(&context)).known());
}

TEST_F(Diagnose, OtherTextsAreInvalidIr) {
  EXPECT_FALSE(
      mlir::parseSourceString<mlir::ModuleOp>("wave.nothing [no-such-id]", mlir::ParserConfig(&context), "k.mlir"));
  ASSERT_EQ(collector.diagnostics().size(), 1u);
  EXPECT_EQ(collector.diagnostics()[0].id, DiagId::InvalidIr);
  EXPECT_EQ(collector.diagnostics()[0].place, Place("k.mlir", 1, 1));
}

} // namespace
} // namespace soliton
