// Each form accepts what is in it and says what is missing at the op that lacks it.
#include "soliton/ir/Forms.h"

#include "soliton/ir/Diagnose.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace soliton {
namespace {

class Forms : public ::testing::Test {
protected:
  Forms() : collector(&context) { context.loadDialect<wave::WaveDialect>(); }

  /// The messages of verifying a kernel of that body in that form.
  std::vector<std::string> violations(Form form, const std::string &body) {
    std::string text = R"mlir(
wave.kernel @k attributes {arg_names = ["a", "s"], constraints = [], subs = {}, dynamic = [], form = 0 : i32} {
^bb0(%a: !wave.memory<["M", "K"], f16, global>, %s: !wave.memory<["M", "K"], f16, shared>):
)mlir" + body + "}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context), "k.mlir");
    EXPECT_TRUE(module) << format(collector.diagnostics());
    if (!module)
      return {"did not parse"};
    bool failed = mlir::failed(verifyForm(*module->getOps<wave::KernelOp>().begin(), form));
    std::vector<std::string> messages;
    for (const Diagnostic &diagnostic : collector.take()) {
      EXPECT_EQ(diagnostic.id, DiagId::FormViolated);
      messages.push_back(diagnostic.message);
    }
    EXPECT_EQ(failed, !messages.empty());
    return messages;
  }
  using Messages = std::vector<std::string>;

  mlir::MLIRContext context;
  DiagnosticCollector collector;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

const std::string kRow = R"mlir(!wave.tile<[M, K], f16, "reg = (8 K 1), lane = (4 K 8)(16 M 1)">)mlir";
const std::string kGlobal = R"mlir(!wave.memory<["M", "K"], f16, global>)mlir";
const std::string kStarts = R"mlir(starts = [#wave.expr<"0">, #wave.expr<"0">])mlir";
const std::string kOrigin = "origin = #wave.origin<op = 0, role = global_load>";

TEST_F(Forms, KernelCarriesItsForm) {
  violations(Form::Traced, "");
  wave::KernelOp kernel = *module->getOps<wave::KernelOp>().begin();
  EXPECT_EQ(getForm(kernel), Form::Traced);
  setForm(kernel, Form::Placed);
  EXPECT_EQ(getForm(kernel), Form::Placed);
  EXPECT_EQ(formName(getForm(kernel)), "Placed");
}

TEST_F(Forms, TracedAcceptsWhatTheAuthorWrites) {
  EXPECT_EQ(violations(Form::Traced, "%0 = wave.read %a : " + kGlobal + " -> !wave.tile<[M, K], f16>"), Messages{});
}

TEST_F(Forms, IndexedNeedsLayoutsStartsAndCounts) {
  EXPECT_EQ(violations(Form::Indexed, "%0 = wave.read %a : " + kGlobal + " -> !wave.tile<[M, K], f16>"),
            (Messages{"`wave.read` is not in the form `Indexed`: its result has no layout",
                      "`wave.read` is not in the form `Indexed`: it has no `starts`"}));
  EXPECT_EQ(violations(Form::Indexed, "%0 = wave.self_index \"M\" : !wave.tile<[M], i32, \"lane = (64 M 1)\">"),
            Messages{"`wave.self_index` is not in the form `Indexed`: it has no `start`"});
  EXPECT_EQ(violations(Form::Indexed, "wave.iterate \"M\" () : () -> () {}"),
            Messages{"`wave.iterate` is not in the form `Indexed`: it has no `count`"});
  EXPECT_EQ(violations(Form::Indexed, "%0 = wave.read %a {" + kStarts + "} : " + kGlobal + " -> " + kRow), Messages{});
}

TEST_F(Forms, PlacedNeedsPlaces) {
  EXPECT_EQ(
      violations(Form::Placed,
                 "%0 = wave.read %s {" + kStarts + R"mlir(} : !wave.memory<["M", "K"], f16, shared> -> )mlir" + kRow),
      Messages{"`wave.read` is not in the form `Placed`: its memory is a parameter of the kernel and still marked as "
               "shared"});
  EXPECT_EQ(violations(Form::Placed, R"mlir(%0 = wave.allocate : !wave.memory<["M"], f16, shared>)mlir"),
            (Messages{"`wave.allocate` is not in the form `Placed`: it has no address map",
                      "`wave.allocate` is not in the form `Placed`: it has no `offset`"}));
  EXPECT_EQ(violations(Form::Placed,
                       R"mlir(%0 = wave.allocate {offset = 0 : i64} : !wave.memory<["M"], f16, shared, "[M 64]">)mlir"),
            Messages{});
}

TEST_F(Forms, PlacedNeedsPlansWithoutMemory) {
  auto convert = [&](const std::string &attributes) {
    return violations(
        Form::Placed,
        R"mlir(%0 = wave.fill 0.0 : f32 -> !wave.tile<[M], f32, "lane = (32 M 1)">
      %1 = wave.convert %0 )mlir" +
            attributes +
            R"mlir( : !wave.tile<[M], f32, "lane = (32 M 1)"> -> !wave.tile<[M], f32, "reg = (32 M 1), lane = (32 _ 0)">)mlir");
  };
  EXPECT_EQ(convert(""), Messages{"`wave.convert` is not in the form `Placed`: it has no `plan`"});
  EXPECT_EQ(convert("{plan = 2 : i32}"),
            Messages{"`wave.convert` is not in the form `Placed`: its plan goes through shared memory, "
                     "which is a write and a read by now"});
  EXPECT_EQ(convert("{plan = 1 : i32}"), Messages{});
}

TEST_F(Forms, ExpandedNeedsOriginsAndInstructions) {
  EXPECT_EQ(violations(Form::Expanded, "%0 = wave.read %a {" + kStarts + "} : " + kGlobal + " -> " + kRow),
            Messages{"`wave.read` is not in the form `Expanded`: it has no `origin`"});
  EXPECT_EQ(
      violations(Form::Expanded, "%0 = wave.read %a {" + kStarts + ", " + kOrigin + "} : " + kGlobal + " -> " + kRow),
      Messages{});
  EXPECT_EQ(violations(Form::Synchronized, "%0 = wave.read %a {" + kStarts + ", " + kOrigin + "} : " + kGlobal +
                                               R"mlir( -> !wave.tile<[M, K], f16, "reg = (16 K 1), lane = (64 M 1)">
      wave.barrier)mlir"),
            Messages{"`wave.read` is not in the form `Synchronized`: it moves 256 bits a lane, expected at most 128"});
}

TEST_F(Forms, ExpandedNeedsContiguousAccesses) {
  auto read = [&](const std::string &extra, const std::string &layout) {
    return violations(Form::Expanded, "%0 = wave.read %a {" + kStarts + ", " + kOrigin + extra + "} : " + kGlobal +
                                          " -> !wave.tile<[M, K], f16, \"" + layout + "\">");
  };
  const Messages scattered{
      "`wave.read` is not in the form `Expanded`: its registers do not lie one after the other in memory"};
  EXPECT_EQ(read("", "reg = (4 M 1), lane = (64 K 1)"), scattered);
  EXPECT_EQ(read("", "reg = (4 K 2), lane = (64 M 1)"), scattered);
  EXPECT_EQ(read("", "reg = (4 K 1), lane = (64 M 1)"), Messages{});
  // Transposed: the memory's fastest dimension is the tile's first.
  const std::string turned = R"mlir(, indices = [#wave.expr<"$index1">, #wave.expr<"$index0 + 3">])mlir";
  EXPECT_EQ(read(turned, "reg = (4 M 1), lane = (64 K 1)"), Messages{});
  EXPECT_EQ(read(turned, "reg = (4 K 1), lane = (64 M 1)"), scattered);
  // Whether it does depends on a size.
  const std::string sized = R"mlir(, indices = [#wave.expr<"$index0">, #wave.expr<"$index1 * G">])mlir";
  EXPECT_EQ(read(sized, "reg = (4 K 1), lane = (64 M 1)"), Messages{});
}

TEST_F(Forms, RowsOfASharedTileFollowEachOtherUnlessTheyArePadded) {
  auto read = [&](const std::string &map) {
    std::string type = "!wave.memory<[\"M\", \"K\"], f16, shared, \"" + map + "\">";
    return violations(Form::Expanded, "%rows = wave.allocate {offset = 0 : i64} : " + type +
                                          "\n%0 = wave.read %rows {" + kStarts + ", " + kOrigin + "} : " + type +
                                          " -> !wave.tile<[M, K], f16, \"reg = (2 K 1)(2 M 1), lane = (64 M 2)\">");
  };
  EXPECT_EQ(read("[M 128, K 2]"), Messages{});
  const Messages scattered{
      "`wave.read` is not in the form `Expanded`: its registers do not lie one after the other in memory"};
  EXPECT_EQ(read("[M 128, K 2] pad 2"), scattered);
  EXPECT_EQ(read("[M 128, K 4]"), scattered);
}

TEST_F(Forms, ExpandedMmaNamesItsInstruction) {
  const std::string body = R"mlir(
    %a0 = wave.fill 0.0 : f16 -> !wave.tile<[M, K], f16, "lane = (4 M 1)(4 K 1)">
    %c = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32, "lane = (4 M 1)(4 N 1)">
    %b0 = wave.fill 0.0 : f16 -> !wave.tile<[N, K], f16, "lane = (4 N 1)(4 K 1)">
    %d = wave.mma %a0, %b0, %c {origin = #wave.origin<op = 0, role = compute>} : !wave.tile<[M, K], f16, "lane = (4 M 1)(4 K 1)">, !wave.tile<[N, K], f16, "lane = (4 N 1)(4 K 1)">, !wave.tile<[M, N], f32, "lane = (4 M 1)(4 N 1)">)mlir";
  EXPECT_EQ(violations(Form::Expanded, body),
            Messages{"`wave.mma` is not in the form `Expanded`: it names no matrix instruction"});
}

TEST_F(Forms, AWaveKernelIsNeverInMachineForm) {
  EXPECT_EQ(violations(Form::Machine, ""),
            Messages{"`k` is a `wave.kernel`, expected a `machine.kernel` in the form `Machine`"});
}

TEST_F(Forms, CopiesSayWhoWritesWhatByOneInstruction) {
  auto copy = [](const std::string &attributes, const std::string &layout, const std::string &map = "") {
    return "%0 = wave.allocate {offset = 0 : i64} : !wave.memory<[\"M\", \"K\"], f16, shared" + map +
           ">\nwave.copy %a, %0 {" + attributes + "} : !wave.tile<[M, K], f16" + layout + ">, " + kGlobal +
           ", !wave.memory<[\"M\", \"K\"], f16, shared" + map + ">\n";
  };
  const std::string eight = "elements_per_thread = 8 : i64",
                    lanes = R"mlir(, "reg = (8 K 1), lane = (4 K 8)(16 M 1)")mlir",
                    map = R"mlir(, "[M 16, K 32] swizzle(8, 1, 4)")mlir",
                    narrow = R"mlir(, "[M 16, K 32] swizzle(4, 1, 4)")mlir";
  EXPECT_EQ(violations(Form::Indexed, copy(eight, "")),
            (Messages{"`wave.copy` is not in the form `Indexed`: it has no `starts`",
                      "`wave.copy` is not in the form `Indexed`: its tile has no layout"}));
  EXPECT_EQ(violations(Form::Placed, copy(eight + ", " + kStarts, lanes, map)), Messages{});
  EXPECT_EQ(violations(Form::Placed, copy(eight + ", " + kStarts, lanes, narrow)),
            Messages{"`wave.copy` is not in the form `Placed`: its 8 elements a lane are torn by a swizzle of 4"});
  EXPECT_EQ(violations(Form::Expanded, copy(eight + ", " + kStarts, lanes, map)),
            Messages{"`wave.copy` is not in the form `Expanded`: it has no `origin`"});
  EXPECT_EQ(violations(Form::Expanded, copy(eight + ", " + kStarts + ", " + kOrigin, lanes, map)), Messages{});
  EXPECT_EQ(violations(Form::Expanded, copy("elements_per_thread = 4 : i64, " + kStarts + ", " + kOrigin, lanes, map)),
            Messages{"`wave.copy` is not in the form `Expanded`: it has 8 registers a lane, expected the 4 of one "
                     "instruction"});
  EXPECT_EQ(violations(Form::Expanded, copy("elements_per_thread = 16 : i64, " + kStarts + ", " + kOrigin,
                                            R"mlir(, "reg = (16 K 1), lane = (2 K 16)(16 M 1)")mlir")),
            (Messages{"`wave.allocate` is not in the form `Expanded`: it has no address map",
                      "`wave.copy` is not in the form `Expanded`: it moves 256 bits a lane, expected at most 128"}));
}

} // namespace
} // namespace soliton
