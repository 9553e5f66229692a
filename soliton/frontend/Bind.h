//===- Bind.h - A recorded kernel against numbers and a target ------------------===//
//
// Binds the symbols of a kernel and finds the mistakes that need them: unbound symbols, divisions that leave a rest,
// tiles that waves cannot share, matrix instructions that the target lacks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Program.h"
#include "soliton/target/Target.h"

#include <map>

namespace soliton::frontend {

/// What a compile says about a kernel's symbols.
struct BindOptions {
  Substitutions subs = {};
  /// Symbols known only at launch.
  std::vector<Expr> dynamic = {};
  /// Empty: no target is checked.
  std::string target = {};
  /// Where the compile was asked for.
  Place place = {};
};

/// A kernel's symbols, bound. Only those that it uses.
struct Bindings {
  std::map<std::string, int64_t> values;
  /// What stands for an expression of dynamic symbols: `T` for `ceildiv(K, 32)`.
  std::map<std::string, Expr> formulas;
  /// What must hold for these to have a value.
  std::vector<Expr> assumptions;
  std::vector<std::string> dynamic;
  std::map<std::string, AddressSpace::Kind> spaces;
  const Target *target = nullptr;

  /// The number that `expr` stands for; nothing if it depends on a dynamic symbol or is undefined.
  std::optional<int64_t> evaluate(Expr expr) const;
  /// The element type on the target.
  DType resolve(ElementType type) const { return type.resolve(target ? target->fp8e4m3 : DType::f8e4m3fn); }
};

/// Binds `program`; appends what is wrong to `diagnostics`.
Bindings bindProgram(const Program &program, const BindOptions &options, std::vector<Diagnostic> &diagnostics);

} // namespace soliton::frontend
