//===- Regression.h - Costs from counted features --------------------------===//
//
// Linear least squares with a ridge (Hoerl, Kennard 1970), learned one observation after the other. Features are scaled
// to their spread, so that their units do not matter, and a feature that never changed says nothing.
//
//   Regression model(2);
//   model.add({1, 5}, 10); model.add({2, 5}, 20); model.add({3, 5}, 30);
//   model.fit();
//   model.predict({4, 5});                      // near 40
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace soliton::tune {

class Regression {
public:
  explicit Regression(size_t features, double ridge = 1e-2);

  void add(std::span<const double> features, double value);
  /// Finds the weights for all that was added.
  void fit();
  double predict(std::span<const double> features) const;
  size_t observations() const { return static_cast<size_t>(count); }

private:
  double covariance(size_t a, size_t b) const;

  size_t size;
  double ridge, count = 0, valueSum = 0;
  /// Sums of features, of their products, and of their products with the value.
  std::vector<double> sums, products, valueProducts;
  std::vector<double> weights;
  double offset = 0;
};

} // namespace soliton::tune
