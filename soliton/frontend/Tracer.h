//===- Tracer.h - Recording one op with its checks --------------------------------===//
//
// Every public function of the language makes a `Tracer`, hands it its operands and records an op. A tracer never
// throws and never stops: what is wrong becomes a diagnostic of the kernel and a poisoned value.
//
//   Tracer tracer(place, {lhs, rhs});
//   if (!tracer.ok())
//     return tracer.poison();
//   return tracer.record({.kind = OpKind::binary, .function = "add"}, {{M, N}, f32});
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Program.h"

namespace soliton::frontend {

class Tracer {
public:
  /// The kernel is `program`, or that of the first operand that has one. Checks that all belong to it, that they may be
  /// used here and that none is poisoned; `what` names the op in messages.
  Tracer(std::string what, Place place, std::vector<Value> operands, std::shared_ptr<Program> program = nullptr);
  /// For ops without operands.
  Tracer(std::string what, Place place, std::shared_ptr<Program> program);

  /// Nothing is wrong so far.
  bool ok() const { return good; }
  Program &program() { return *owner; }
  const TileInfo &tile(size_t operand) const { return owner->values[operands[operand].id()].tile; }
  const ValueInfo &info(size_t operand) const { return owner->values[operands[operand].id()]; }
  const Value &operand(size_t index) const { return operands[index]; }
  const std::string &what() const { return op; }

  /// Reports a mistake at the op's place.
  void error(DiagId id, std::string message, std::string hint = {}, std::vector<Note> notes = {});
  /// Reports an expression that was a mistake where the author wrote it; `what` it is said to be.
  bool checkDefined(const std::string &what, Expr expr);
  /// "`x` is made here", for notes.
  Note noteOn(size_t operand) const;

  Value poison();
  /// Appends the op (operands, place and tag are filled in) with one result.
  Value record(OpRecord op, TileInfo result, const std::string &tag = {});
  /// The same with several results.
  std::vector<Value> recordAll(OpRecord op, std::vector<TileInfo> results, const std::string &tag = {});
  /// Appends an op without results; returns its number.
  uint32_t recordEffect(OpRecord op, const std::string &tag = {});

private:
  void checkOperand(const Value &operand);
  void checkNumbers(const OpRecord &op);
  void checkNumber(const std::string &name);
  void useSetSymbols(OpRecord &op);
  void useSetPlaces(OpRecord &op);
  uint32_t append(OpRecord op, const std::string &tag);

  std::string op;
  Place place;
  std::shared_ptr<Program> owner;
  std::vector<Value> operands;
  /// The dimensions of what is being recorded.
  std::vector<Expr> resultDims;
  bool good = true;
};

/// Barriers that are signalled and never waited for.
void checkSplitBarriers(const Program &program, std::vector<Diagnostic> &diagnostics);

/// Adds a diagnostic to a program.
void report(Program &program, DiagId id, const Place &place, std::string message, std::string hint = {},
            std::vector<Note> notes = {});

/// A new value of the program.
ValueId addValue(Program &program, ValueInfo info);
Value poisonedValue(const std::shared_ptr<Program> &program, const Place &place);

/// A tile of one number with `type`; reports `constant-range` and returns a poisoned value if the type cannot hold it.
Value constantTile(const std::shared_ptr<Program> &program, const std::vector<Expr> &dims, ElementType type,
                   const Operand &number, const std::string &tag, const Place &place);

/// The value with `neutral` for elements that lie beyond what `set_symbol` has made of `dim`, or before where data
/// begin its loop; the value itself where nothing has.
Value maskedAlong(const Value &value, Expr dim, const Operand &neutral, const Place &place);

/// Letters, digits and `_`, not starting with a digit.
bool isIdentifier(std::string_view text);

/// True if each of `inner` is among `outer`.
bool isSubset(const std::vector<Expr> &inner, const std::vector<Expr> &outer);
bool hasDim(const std::vector<Expr> &dims, Expr dim);

/// The same outside an op.
bool checkDefined(Program &program, const std::string &what, Expr expr, const Place &place);

/// Checks dimensions named by the author: symbols, none twice. Reports under `id`.
bool checkDims(Program &program, DiagId id, const std::string &what, const std::vector<Expr> &dims, const Place &place);

/// Constraints against each other; reports into the program.
void checkConstraints(Program &program);

/// `function` of `argument`; nothing if it is not set or makes no expression.
std::optional<Expr> applied(const ExprFunction &function, Expr argument);

/// What a mapping or `source`/`target` says about an access.
struct ResolvedMapping {
  /// Dimensions of the tile, in order.
  std::vector<Expr> dims;
  /// One per dimension of the memory, in `$index<k>` of the tile's k-th dimension and `$dynamic_val<k>`.
  std::optional<std::vector<Expr>> indices;
  std::vector<Value> dynamicValues;
};
/// Resolves the options of a `read` (or `write`) of `memory`; reports and returns nothing if they make no sense.
std::optional<ResolvedMapping> resolveMapping(Program &program, const Parameter &memory, const AccessOptions &options,
                                              bool isRead, const Place &place);

} // namespace soliton::frontend
