//===- Convolution.cpp - conv2d_nhwc, conv2d_nchw, conv1d, conv1d_ncw -------------------------------===//
//
// A convolution is the matrix product of its windows, one a row, with its filters. The windows are never stored: a
// mapping says where element k of window m lies in the image, and places outside of the image read 0, which is padding.
//
//   M = B·HO·WO windows,   K = R·S·C elements,   x[b, p·STRIDE - PAD + r·DILATION, …] for m = (b, p, q), k = (r, s, c)
//
//===----------------------------------------------------------------------===//
#include "kernels/Entries.h"
#include "kernels/Mappings.h"

#include <cmath>

using namespace soliton;
using namespace soliton::kernels;

namespace {

struct ConvolutionOptions {
  /// Images have rows and columns; a line of samples has columns only.
  bool twoDimensional = true;
  /// Channels are the innermost dimension: NHWC, otherwise NCHW.
  bool channelsLast = true;
};

/// How many windows there are along a dimension.
Expr windows(Expr size, Expr filter) {
  auto [stride, pad, dilation] = symbols<"STRIDE PAD DILATION">();
  return sym::floordiv(size + 2 * pad - dilation * (filter - 1) - 1, stride) + 1;
}

/// Channels among the other dimensions of a tensor.
std::vector<Expr> shapeOf(const ConvolutionOptions &options, Expr first, Expr row, Expr column, Expr channel) {
  std::vector<Expr> shape{first};
  if (!options.channelsLast)
    shape.push_back(channel);
  if (options.twoDimensional)
    shape.push_back(row);
  shape.push_back(column);
  if (options.channelsLast)
    shape.push_back(channel);
  return shape;
}

/// The tensors of a convolution and the numbers of its windows and their elements.
struct Shapes {
  explicit Shapes(const ConvolutionOptions &options) {
    auto [B, H, W, C, F, R, S] = symbols<"B H W C F R S">();
    rows = options.twoDimensional ? windows(H, R) : Expr(1);
    columns = windows(W, S);
    x = shapeOf(options, B, H, W, C);
    w = shapeOf(options, F, R, S, C);
    y = shapeOf(options, B, rows, columns, F);
    count = B * rows * columns;
    depth = options.twoDimensional ? R * S * C : S * C;
  }
  Expr rows, columns, count, depth;
  std::vector<Expr> x, w, y;
};

//===- The kernel -----------------------------------------------------------------------===//

/// Image, row and column of a window.
struct WindowPlace {
  Expr image, row, column;
};
WindowPlace windowPlace(const Shapes &shapes, Expr m) {
  return {sym::floordiv(m, shapes.rows * shapes.columns), sym::mod(sym::floordiv(m, shapes.columns), shapes.rows),
          sym::mod(m, shapes.columns)};
}

/// Row, column and channel of an element of a filter, numbered as it lies in memory.
struct FilterPlace {
  Expr row, column, channel;
};
FilterPlace filterPlace(const ConvolutionOptions &options, Expr k) {
  auto [C, R, S] = symbols<"C R S">();
  Expr rows = options.twoDimensional ? R : Expr(1);
  if (options.channelsLast)
    return {sym::floordiv(k, S * C), sym::mod(sym::floordiv(k, C), S), sym::mod(k, C)};
  return {sym::mod(sym::floordiv(k, S), rows), sym::mod(k, S), sym::floordiv(k, rows * S)};
}

/// The places for the dimensions that the tensor has.
DimMap placesIn(const std::vector<Expr> &shape, const DimMap &places) {
  DimMap list;
  for (Expr dim : shape)
    for (const auto &place : places)
      if (place.first == dim)
        list.push_back(place);
  return list;
}

Kernel buildConvolution(const std::string &name, const ConvolutionOptions &options, const Variant &variant) {
  auto [B, H, W, C, F, R, S] = symbols<"B H W C F R S">();
  auto [M, K, BM, BF, BK, WM, WF] = symbols<"M K BLOCK_M BLOCK_F BLOCK_K WAVES_M WAVES_F">();
  auto [stride, pad, dilation] = symbols<"STRIDE PAD DILATION">();
  Shapes shapes(options);
  Kernel kernel{name,
                {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(F, BF, 1), TilingConstraint(K, BK),
                 WaveConstraint(M, BM / WM), WaveConstraint(F, BF / WF), HardwareConstraint{}}};
  auto x = kernel.memory("x", shapes.x, shared, variant.input), w = kernel.memory("w", shapes.w, shared, variant.input);
  auto y = kernel.memory("y", shapes.y, global, variant.output);

  std::vector<Expr> image{M, K}, filters{F, K}, result{M, F};
  WindowPlace window = windowPlace(shapes, placeIn(image, M)), written = windowPlace(shapes, placeIn(result, M));
  FilterPlace inside = filterPlace(options, placeIn(image, K)), weight = filterPlace(options, placeIn(filters, K));
  DimMap ofImage{{B, window.image},
                 {H, window.row * stride - pad + inside.row * dilation},
                 {W, window.column * stride - pad + inside.column * dilation},
                 {C, inside.channel}};
  DimMap ofFilters{{F, placeIn(filters, F)}, {R, weight.row}, {S, weight.column}, {C, weight.channel}};
  DimMap ofResult{
      {B, written.image}, {shapes.rows, written.row}, {shapes.columns, written.column}, {F, placeIn(result, F)}};

  auto body = [&](Value acc) {
    Value left = read(x, {.mapping = mappingOf(image, placesIn(shapes.x, ofImage)), .tag = "read_x"});
    Value right = read(w, {.mapping = mappingOf(filters, placesIn(shapes.w, ofFilters)), .tag = "read_w"});
    return mma(left, right, acc, {.tag = "mma"});
  };
  Value sum = kernel.iterate(K, kernel.fill({M, F}, f32, 0.0), body, {.tag = "k_loop"});
  write(sum, y, {.mapping = mappingOf(result, placesIn(shapes.y, ofResult), /*isWrite=*/true), .tag = "write_y"});
  return kernel;
}

//===- Reference ------------------------------------------------------------------------===//

/// A tensor by image (or filter), row, column and channel; reading outside of the image gives 0.
class View {
public:
  View(const ConvolutionOptions &options, const Array &array) : options(options), array(array) {}

  int64_t rows() const { return options.twoDimensional ? array.shape[options.channelsLast ? 1 : 2] : 1; }
  int64_t columns() const { return array.shape[array.shape.size() - (options.channelsLast ? 2 : 1)]; }
  int64_t channels() const { return options.channelsLast ? array.shape.back() : array.shape[1]; }
  size_t at(int64_t n, int64_t row, int64_t column, int64_t channel) const {
    int64_t place = options.channelsLast ? ((n * rows() + row) * columns() + column) * channels() + channel
                                         : ((n * channels() + channel) * rows() + row) * columns() + column;
    return static_cast<size_t>(place);
  }
  double value(int64_t n, int64_t row, int64_t column, int64_t channel) const {
    bool isInside = row >= 0 && row < rows() && column >= 0 && column < columns();
    return isInside ? array.values[at(n, row, column, channel)] : 0;
  }

private:
  const ConvolutionOptions &options;
  const Array &array;
};

Expected convolutionReference(const ConvolutionOptions &options, const Problem &problem) {
  View x(options, problem["x"]), w(options, problem["w"]), y(options, problem.output());
  int64_t stride = problem.size("STRIDE"), pad = problem.size("PAD"), dilation = problem.size("DILATION");
  int64_t padRows = options.twoDimensional ? pad : 0;
  size_t elements = static_cast<size_t>(problem.size("B") * y.rows() * y.columns() * y.channels());
  std::vector<double> values(elements), errors(elements);
  double depth = static_cast<double>(w.rows() * w.columns() * w.channels());
  for (int64_t b = 0; b != problem.size("B"); ++b)
    for (int64_t p = 0; p != y.rows(); ++p)
      for (int64_t q = 0; q != y.columns(); ++q)
        for (int64_t f = 0; f != y.channels(); ++f) {
          double sum = 0, magnitude = 0;
          for (int64_t r = 0; r != w.rows(); ++r)
            for (int64_t s = 0; s != w.columns(); ++s)
              for (int64_t c = 0; c != w.channels(); ++c) {
                double product = w.value(f, r, s, c) *
                                 x.value(b, p * stride - padRows + r * dilation, q * stride - pad + s * dilation, c);
                sum += product;
                magnitude += std::abs(product);
              }
          values[y.at(b, p, q, f)] = sum;
          errors[y.at(b, p, q, f)] = 2 * depth * kF32Roundoff * magnitude;
        }
  return roundedOutput(problem, std::move(values), std::move(errors), /*exact=*/true);
}

//===- Entries --------------------------------------------------------------------------===//

std::vector<std::string> textOf(const std::vector<Expr> &shape) {
  std::vector<std::string> text;
  for (Expr extent : shape)
    text.push_back(sym::toString(extent));
  return text;
}

KernelEntry entryOf(std::string name, std::string description, const ConvolutionOptions &options) {
  Shapes shapes(options);
  std::vector<DefaultSize> sizes{{"B", 1}, {"W", 28},     {"C", 32},     {"F", 64},
                                 {"S", 3}, {"STRIDE", 1}, {"PAD", 1, 0}, {"DILATION", 1}};
  if (options.twoDimensional) {
    sizes.insert(sizes.begin() + 1, {"H", 28});
    sizes.insert(sizes.begin() + 5, {"R", 3});
  }
  std::vector<std::string> fixed;
  for (const DefaultSize &size : sizes)
    if (size.name != "F")
      fixed.push_back(size.name);
  return {.name = name,
          .family = "convolution",
          .description = std::move(description),
          .sizes = sizes,
          .fixedSizes = fixed,
          .derivedSizes = {{"M", sym::toString(shapes.count)}, {"K", sym::toString(shapes.depth)}},
          .tiles = {{"BLOCK_M", 64}, {"BLOCK_F", 64}, {"BLOCK_K", 32}, {"WAVES_M", 2}, {"WAVES_F", 2}},
          .variants = {{"f16", f16, f16}, {"bf16", bf16, bf16}},
          .arguments = [shapes](const Variant &variant) -> std::vector<ArgumentInfo> {
            return {{"x", textOf(shapes.x), variant.input},
                    {"w", textOf(shapes.w), variant.input},
                    {"y", textOf(shapes.y), variant.output, true}};
          },
          .build = [name, options](const Variant &variant) { return buildConvolution(name, options, variant); },
          .reference = [options](const Problem &problem) { return convolutionReference(options, problem); }};
}

} // namespace

const std::vector<KernelEntry> &kernels::convolutionEntries() {
  static const std::vector<KernelEntry> entries{
      entryOf("conv2d_nhwc", "y[B, HO, WO, F] = x[B, H, W, C] * w[F, R, S, C]", {}),
      entryOf("conv2d_nchw", "y[B, F, HO, WO] = x[B, C, H, W] * w[F, C, R, S]", {.channelsLast = false}),
      entryOf("conv1d", "y[B, WO, F] = x[B, W, C] * w[F, S, C]", {.twoDimensional = false}),
      entryOf("conv1d_ncw", "y[B, F, WO] = x[B, C, W] * w[F, C, S]", {.twoDimensional = false, .channelsLast = false})};
  return entries;
}
