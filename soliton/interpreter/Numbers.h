//===- Numbers.h - The functions of one element ------------------------------===//
//
// What each kind of element-wise op does to numbers, and how results are rounded. Floats are doubles, integers int64.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Wave.h"
#include "soliton/support/DType.h"

namespace soliton::interp {

/// The nearest number of the type, ties to even.
double round(DType type, double value);
/// The integer modulo 2^bits, as the type reads it (`i1` is 0 or 1).
int64_t wrap(DType type, int64_t value);
/// Float to integer: toward zero, then modulo 2^bits; `i1` is `!= 0`.
int64_t toInteger(DType type, double value);
/// Integer to float, rounded once.
double toFloat(DType type, int64_t value);

/// Results before rounding. Nothing for a kind that the number's sort does not have.
std::optional<double> apply(wave::UnaryKind kind, double value);
std::optional<int64_t> apply(wave::UnaryKind kind, int64_t value);
/// Nothing also for an integer division by zero.
std::optional<double> apply(wave::BinaryKind kind, double lhs, double rhs);
std::optional<int64_t> apply(wave::BinaryKind kind, int64_t lhs, int64_t rhs);

template <typename T>
bool compare(wave::ComparePredicate predicate, T lhs, T rhs) {
  switch (predicate) {
  case wave::ComparePredicate::eq:
    return lhs == rhs;
  case wave::ComparePredicate::ne:
    return lhs != rhs;
  case wave::ComparePredicate::lt:
    return lhs < rhs;
  case wave::ComparePredicate::le:
    return lhs <= rhs;
  case wave::ComparePredicate::gt:
    return lhs > rhs;
  case wave::ComparePredicate::ge:
    return lhs >= rhs;
  }
  return false;
}

/// What a reduction of nothing gives.
double identity(wave::ReduceKind kind, DType type, double);
int64_t identity(wave::ReduceKind kind, DType type, int64_t);

/// One step of a reduction, not rounded.
double combine(wave::ReduceKind kind, double a, double b);
int64_t combine(wave::ReduceKind kind, int64_t a, int64_t b);

/// What an atomic leaves where it found `old`.
double updated(wave::AtomicKind kind, DType type, double old, double value);
int64_t updated(wave::AtomicKind kind, DType type, int64_t old, int64_t value);

} // namespace soliton::interp
