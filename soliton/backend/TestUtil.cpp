#include "soliton/backend/TestUtil.h"

namespace soliton::backend {

Compiled compileAmd(Program &program, const Options &options) {
  Compiled result;
  auto code = program.compile(options);
  EXPECT_TRUE(succeeded(code)) << program.said();
  if (failed(code))
    return result;
  result.code = *code;
  std::string error;
  if (auto facts = readHsaco(code->bytes, error))
    result.facts = *facts;
  if (auto listing = disassembleHsaco(code->bytes, program.kernel.getTarget().str(), error))
    result.listing = *listing;
  EXPECT_EQ(error, "");
  return result;
}

std::string print(const Disassembly &listing) {
  std::string text;
  for (const Instruction &i : listing.instructions)
    text += std::to_string(i.line) + "\t" + i.text() + "\n";
  return text;
}

void expectLaunch(const Compiled &compiled, Program &program) {
  const HsacoKernel &facts = compiled.facts;
  const CodeObject &code = compiled.code;
  EXPECT_EQ(facts.name, code.entry);
  EXPECT_EQ(facts.kernargBytes, code.parameterBytes);
  ASSERT_EQ(facts.arguments.size(), code.parameters.size()) << "no hidden arguments";
  for (size_t i = 0; i < code.parameters.size(); ++i) {
    EXPECT_EQ(facts.arguments[i].name, code.parameters[i].name);
    EXPECT_EQ(facts.arguments[i].offset, code.parameters[i].offset);
    EXPECT_EQ(facts.arguments[i].size, code.parameters[i].size);
    EXPECT_EQ(facts.arguments[i].kind,
              code.parameters[i].kind == ParameterKind::pointer ? "global_buffer" : "by_value");
  }
  EXPECT_EQ(facts.groupBytes, program.kernel.getSharedBytes());
  EXPECT_EQ(facts.maxThreads, code.threads);
  EXPECT_EQ(facts.waveSize, 64u);
  EXPECT_EQ(facts.vgprSpills, 0u);
  EXPECT_EQ(facts.privateBytes, 0u);
}

static std::string mlirName(DType type) {
  switch (type) {
  case DType::f8e4m3fn:
    return "f8E4M3FN";
  case DType::f8e4m3fnuz:
    return "f8E4M3FNUZ";
  case DType::f8e5m2:
    return "f8E5M2";
  case DType::f8e5m2fnuz:
    return "f8E5M2FNUZ";
  case DType::f6e2m3fn:
    return "f6E2M3FN";
  case DType::f6e3m2fn:
    return "f6E3M2FN";
  case DType::f4e2m1fn:
    return "f4E2M1FN";
  default:
    return std::string(name(type));
  }
}

static std::string vectorName(int64_t count, const std::string &element) {
  return "vector<" + std::to_string(count) + "x" + element + ">";
}

/// Loads an operand in pieces of at most four words and casts it to its type.
static std::string loadOperand(const std::string &name, const std::string &buffer, int64_t count, DType type) {
  int64_t bytes = count * bits(type) / 8, words = bytes / 4;
  std::string text, result = vectorName(count, mlirName(type));
  if (bytes < 4)
    return "  %" + name + " = machine.load " + buffer + " [%offset] {alignment = 2 : i64} : " + result + "\n";
  text += "  %" + name + "_0 = arith.constant dense<0> : " + vectorName(words, "i32") + "\n";
  std::string last = name + "_0";
  for (int64_t begin = 0, i = 1; begin < words; ++i) {
    int64_t part = words - begin >= 4 ? 4 : words - begin >= 2 ? 2 : 1;
    std::string next = name + "_" + std::to_string(i), piece = vectorName(part, "i32");
    text += "  %" + next + "p = machine.load " + buffer + " [%offset] {immediate = " + std::to_string(begin * 4) +
            " : i64, alignment = " + std::to_string(part * 4) + " : i64} : " + piece + "\n";
    text += "  %" + next + " = vector.insert_strided_slice %" + next + "p, %" + last + " {offsets = [" +
            std::to_string(begin) + "], strides = [1]} : " + piece + " into " + vectorName(words, "i32") + "\n";
    last = next;
    begin += part;
  }
  return text + "  %" + name + " = vector.bitcast %" + last + " : " + vectorName(words, "i32") + " to " + result + "\n";
}

std::string mmaText(const Target &target, const MmaKind &kind) {
  int64_t lhs = kind.lhs.nativeRegs, rhs = kind.rhs.nativeRegs, acc = kind.acc.nativeRegs;
  std::string accType = vectorName(acc, mlirName(kind.acc.type));
  std::string body = "  %c256 = arith.constant 256 : i32\n  %zero = arith.constant 0 : i64\n"
                     "  %bytes = arith.constant 16384 : i64\n  %lane = machine.id lane\n"
                     "  %offset = arith.muli %lane, %c256 : i32\n  %pa = machine.buffer %a[%zero], %bytes\n"
                     "  %pb = machine.buffer %b[%zero], %bytes\n  %pc = machine.buffer %c[%zero], %bytes\n";
  body += loadOperand("lhs", "%pa", lhs, kind.lhs.type) + loadOperand("rhs", "%pb", rhs, kind.rhs.type) +
          loadOperand("acc", "%pc", acc, kind.acc.type);
  body += "  %d = machine.mma \"" + kind.native.instruction +
          "\" %lhs, %rhs, %acc : " + vectorName(lhs, mlirName(kind.lhs.type)) + ", " +
          vectorName(rhs, mlirName(kind.rhs.type)) + ", " + accType + "\n";
  int64_t step = 16 * 8 / bits(kind.acc.type);
  for (int64_t i = 0; i < acc; i += step) {
    std::string piece = vectorName(std::min(step, acc), mlirName(kind.acc.type));
    body += "  %d" + std::to_string(i) + " = vector.extract_strided_slice %d {offsets = [" + std::to_string(i) +
            "], sizes = [" + std::to_string(std::min(step, acc)) + "], strides = [1]} : " + accType + " to " + piece +
            "\n";
    body += "  machine.store %d" + std::to_string(i) +
            ", %pc [%offset] {immediate = " + std::to_string(i * bits(kind.acc.type) / 8) +
            " : i64, alignment = 16 : i64} : " + piece + "\n";
  }
  return kernelText(target, "%a: !machine.ptr, %b: !machine.ptr, %c: !machine.ptr", body);
}

} // namespace soliton::backend
