#include "soliton/tuner/Regression.h"

#include <cmath>

namespace soliton::tune {

Regression::Regression(size_t features, double ridge)
    : size(features), ridge(ridge), sums(features, 0), products(features * features, 0), valueProducts(features, 0),
      weights(features, 0) {}

void Regression::add(std::span<const double> features, double value) {
  ++count;
  valueSum += value;
  for (size_t a = 0; a < size; ++a) {
    sums[a] += features[a];
    valueProducts[a] += features[a] * value;
    for (size_t b = 0; b <= a; ++b)
      products[a * size + b] += features[a] * features[b];
  }
}

/// For b <= a.
double Regression::covariance(size_t a, size_t b) const {
  return products[a * size + b] / count - sums[a] / count * (sums[b] / count);
}

void Regression::fit() {
  if (count == 0)
    return;
  std::vector<double> spread(size), factor(size * size, 0), solution(size);
  for (size_t a = 0; a < size; ++a) {
    double variance = covariance(a, a);
    spread[a] = variance > 1e-9 ? std::sqrt(variance) : 0;
  }
  auto scaled = [&](size_t a, double value) { return spread[a] > 0 ? value / spread[a] : 0; };
  // Cholesky; the ridge keeps every pivot above zero.
  for (size_t a = 0; a < size; ++a)
    for (size_t b = 0; b <= a; ++b) {
      double sum = scaled(a, scaled(b, covariance(a, b))) + (a == b ? ridge : 0);
      for (size_t k = 0; k < b; ++k)
        sum -= factor[a * size + k] * factor[b * size + k];
      factor[a * size + b] = a == b ? std::sqrt(std::fmax(sum, ridge * 1e-3)) : sum / factor[b * size + b];
    }
  for (size_t a = 0; a < size; ++a) {
    double sum = scaled(a, valueProducts[a] / count - sums[a] / count * (valueSum / count));
    for (size_t k = 0; k < a; ++k)
      sum -= factor[a * size + k] * solution[k];
    solution[a] = sum / factor[a * size + a];
  }
  for (size_t a = size; a-- > 0;) {
    for (size_t k = a + 1; k < size; ++k)
      solution[a] -= factor[k * size + a] * solution[k];
    solution[a] /= factor[a * size + a];
  }
  offset = valueSum / count;
  for (size_t a = 0; a < size; ++a) {
    weights[a] = scaled(a, solution[a]);
    offset -= weights[a] * sums[a] / count;
  }
}

double Regression::predict(std::span<const double> features) const {
  double value = offset;
  for (size_t a = 0; a < size; ++a)
    value += weights[a] * features[a];
  return value;
}

} // namespace soliton::tune
