//===- Norms.h - What references of norms share ------------------------------------------------===//
#pragma once

#include "kernels/Kernels.h"

namespace soliton::kernels {

/// 1 / N for each row, of a size that may be known only at launch.
Value oneOverColumns(Kernel &kernel);

/// What a norm takes from a row, and how far off an implementation may be: its mean (0 where it is not `centred`) and
/// the factor 1 / sqrt(variance + epsilon).
struct RowStatistics {
  RowStatistics(const double *row, size_t columns, double epsilon, bool centred);
  /// Of the distance from the mean, and of its product with the factor.
  double distanceError(double distance) const;
  double normalError(double distance) const;

  double mean = 0, meanError = 0, factor = 0, factorError = 0;
  bool centred;
};

} // namespace soliton::kernels
