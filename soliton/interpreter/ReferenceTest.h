//===- ReferenceTest.h - Runs a kernel's text on numbers ----------------------===//
#pragma once

#include "soliton/interpreter/Interpreter.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/support/Float.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace soliton::interp {

inline Bytes encodeAll(DType type, const std::vector<double> &values) {
  size_t width = bits(type) / 8;
  Bytes bytes(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t raw = encode(type, values[i]);
    std::memcpy(bytes.data() + i * width, &raw, width);
  }
  return bytes;
}

inline std::vector<double> decodeAll(DType type, const Bytes &bytes) {
  size_t width = bits(type) / 8;
  std::vector<double> values(bytes.size() / width);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t raw = 0;
    std::memcpy(&raw, bytes.data() + i * width, width);
    values[i] = decode(type, raw);
  }
  return values;
}

/// Small whole numbers, different for each seed.
inline std::vector<double> integers(size_t count, unsigned seed, int low = -4, int high = 4) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> next(low, high);
  std::vector<double> values(count);
  for (double &value : values)
    value = next(random);
  return values;
}

inline std::vector<double> ramp(size_t count) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(i % 1000);
  return values;
}

inline const double kNaN = std::nan("");

class Reference : public ::testing::Test {
protected:
  Reference() : collector(&context) { context.loadDialect<wave::WaveDialect, mlir::arith::ArithDialect>(); }

  wave::KernelOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context), "kernel.mlir");
    EXPECT_TRUE(module) << format(collector.take());
    return module ? *module->getOps<wave::KernelOp>().begin() : wave::KernelOp();
  }

  Result execute(const std::string &text, Inputs inputs) {
    wave::KernelOp kernel = parse(text);
    return kernel ? interp::run(kernel, inputs) : Result();
  }

  /// The last argument, decoded, of a run that must succeed.
  std::vector<double> output(const std::string &text, DType type, Inputs inputs) {
    Result result = execute(text, std::move(inputs));
    EXPECT_TRUE(result.ok()) << format(result.diagnostics);
    return result.ok() ? decodeAll(type, result.arguments.back()) : std::vector<double>();
  }

  mlir::MLIRContext context;
  DiagnosticCollector collector;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace soliton::interp
