#include "soliton/driver/AutoMatrix.h"
#include "soliton/driver/AutoRows.h"
#include "soliton/driver/AutoSolver.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace soliton {
using frontend::OpKind;
using frontend::OpRecord;
using frontend::Program;

namespace {
/// A tile of a product by matrix instructions of four waves, and how fast it is beside the fastest one where every
/// compute unit has work to the end: measured with f16 on an H200 (bench/results/h200-gemm.md).
struct ProductTile {
  int64_t rows, columns;
  double speed;
  /// The columns lie on the instruction's rows, of which it has 64: for products with few rows.
  bool exchanged = false;
  /// What an iteration takes of K, in rows of 128 bytes, within which shared memory exchanges chunks.
  int64_t panels = 1;
  /// Workgroups that sum it together.
  int64_t cluster = 1;
  /// Instructions beside each other: where sums begin anew, those of one are added while another is under way.
  int64_t pieces = 1;
  /// Measured to be faster where a workgroup walks several of them.
  bool walks = false;
  /// Waves beside those that compute have tiles copied for them.
  bool served = false;
  /// Measured to be faster where tiles that a workgroup walks overlap.
  bool overlaps = false;
};
// Speeds of the exchanged ones are their rows' share of 64, as the straight 64 by 64 has it: all of them wait for
// memory. Those of clusters are a little below, so that they are taken where they fill more of the machine. So they
// order the tiles as an H200 did at 16, 64 and 128 rows (docs/decisions/0040-few-rows.md).
constexpr ProductTile kProductTiles[] = {
    {128, 256, 1.0, /*exchanged=*/false, /*panels=*/1, /*cluster=*/1, /*pieces=*/1, /*walks=*/true},
    {128, 192, 0.98},
    {128, 128, 0.79},
    {64, 128, 0.7},
    {128, 64, 0.61},
    {64, 64, 0.5},
    {32, 64, 0.35, /*exchanged=*/true, /*panels=*/2},
    {16, 64, 0.25, /*exchanged=*/true, /*panels=*/2},
    {128, 64, 0.6, /*exchanged=*/false, /*panels=*/1, /*cluster=*/2},
    {64, 64, 0.48, /*exchanged=*/false, /*panels=*/1, /*cluster=*/2},
    {32, 64, 0.34, /*exchanged=*/true, /*panels=*/2, /*cluster=*/2},
    {16, 64, 0.24, /*exchanged=*/true, /*panels=*/2, /*cluster=*/2},
};
/// The same where sums go on in f32 after every tile: those and the accumulator are 192 registers at 128 by 192
/// (docs/decisions/0039-sums-of-bytes.md), which two groups of waves have where a third one copies for them and leaves
/// its registers (docs/decisions/0053-service-waves.md). Without it a third group of waves has products under way while
/// two add, or two groups have them by pieces in turn, whose left factor is read once for each
/// (docs/decisions/0048-turns-and-tiles.md).
constexpr ProductTile kRestartedTiles[] = {
    {128, 192, 1.01, /*exchanged=*/false, /*panels=*/1, /*cluster=*/1, /*pieces=*/1, /*walks=*/true, /*served=*/true,
     /*overlaps=*/true},
    {192, 128, 1.0, /*exchanged=*/false, /*panels=*/1, /*cluster=*/1, /*pieces=*/1, /*walks=*/true},
    {128, 192, 0.98, /*exchanged=*/false, /*panels=*/1, /*cluster=*/1, /*pieces=*/2},
    {128, 128, 0.81},
    {64, 128, 0.7},
    {64, 64, 0.5}};
/// What a workgroup of a cluster has to sum, in iterations, before it is worth to meet the others.
constexpr int64_t kIterationsToShare = 8;
constexpr int64_t kRowBytes = 128;
/// How much faster large tiles are where workgroups walk several of them, and up to how many: their tiles lie apart in
/// the end, and the second cache holds less of what they share (docs/decisions/0048-turns-and-tiles.md).
constexpr double kWalking = 1.02;
constexpr int64_t kMostWalked = 32;
/// Tiles of a band: their rows and columns stay in the second cache.
constexpr int64_t kRaster = 8;

/// The one product of a kernel, in a loop along its contracted dimension, or several of one left factor.
struct Product {
  Expr rows, columns, depth;
  /// How many there are beside each other: they share the columns of a tile.
  int64_t count = 1;
  /// Of the factors' elements, which are as wide as each other.
  DType lhs = DType::f16, rhs = DType::f16;
  /// How many neighbours along the contracted dimension its factors keep side by side in memory, where a mapping says
  /// so: channels of a pixel.
  std::vector<Expr> runs = {};
};

/// What the innermost index of the factor's memory counts up to before it begins again: `C` of `mod($index1, C)`.
std::optional<Expr> runOf(const Program &program, frontend::ValueId value) {
  const OpRecord &read = program.ops[*program.values[value].op];
  if (!read.indices || read.indices->empty())
    return std::nullopt;
  Expr last = read.indices->back();
  bool isRest = last.kind() == sym::Kind::mod && last.operand(0).isSymbol();
  return isRest ? std::optional(last.operand(1)) : std::nullopt;
}

/// Whether the products take the same left factor and give sums of their own, of the same shape: a gate and what it
/// lets through.
bool areSiblings(const Program &program, const OpRecord &one, const OpRecord &other) {
  if (&one == &other)
    return true;
  if (one.operands[2] == other.results[0] || other.operands[2] == one.results[0])
    return false;
  auto dims = [&](const OpRecord &mma) { return program.values[mma.results[0]].tile.dims; };
  auto type = [&](const OpRecord &mma) { return program.values[mma.operands[1]].tile.type; };
  return one.operands[0] == other.operands[0] && dims(one) == dims(other) && type(one) == type(other);
}

/// Products that every iteration of a loop adds to; empty where there are some in other loops, or in none.
std::vector<const OpRecord *> productsOfLoop(const Program &program) {
  std::vector<const OpRecord *> found;
  const frontend::Region *loop = nullptr;
  for (const frontend::Region &region : program.regions)
    for (uint32_t op : region.ops)
      if (program.ops[op].kind == OpKind::mma) {
        if (!region.axis || (loop && loop != &region))
          return {};
        loop = &region;
        found.push_back(&program.ops[op]);
      }
  return found;
}

/// The product of the kernel's loop, or its siblings; nothing where there are several others, or one of another shape.
std::optional<Product> findProduct(const Program &program) {
  const std::vector<const OpRecord *> products = productsOfLoop(program);
  auto fits = [&](const OpRecord *each) {
    return each->operands.size() == 3 && !each->mma && isStaged(program, each->operands[0]) &&
           isStaged(program, each->operands[1]) && areSiblings(program, *products.front(), *each);
  };
  if (products.empty() || !std::ranges::all_of(products, fits))
    return std::nullopt;
  const OpRecord &first = *products.front();
  const frontend::TileInfo &lhs = program.values[first.operands[0]].tile, &rhs = program.values[first.operands[1]].tile;
  const std::vector<Expr> &acc = program.values[first.results[0]].tile.dims;
  DType left = lhs.type.resolve(), right = rhs.type.resolve();
  if (acc.size() < 2 || bits(left) != bits(right))
    return std::nullopt;
  Product product{acc[acc.size() - 2], acc.back(), {}, static_cast<int64_t>(products.size()), left, right};
  for (Expr dim : lhs.dims)
    if (std::find(acc.begin(), acc.end(), dim) == acc.end())
      product.depth = dim;
  for (const OpRecord *each : products)
    for (size_t factor : {0, 1})
      if (std::optional<Expr> run = runOf(program, each->operands[factor]))
        product.runs.push_back(*run);
  return product;
}

std::string instructionOf(int64_t columns, DType type) {
  std::string depth = type == DType::i8 ? "x32_I8" : bits(type) == 8 ? "x32_F8" : "x16_F16";
  return (type == DType::i8 ? "I32_64x" : "F32_64x") + std::to_string(columns) + depth;
}

/// The tile as each of several products beside each other has it: together they have its columns, and so its registers
/// and its bytes of shared memory. Nothing where a tile is for one product only.
std::optional<ProductTile> tileOfEach(ProductTile tile, const Product &product) {
  if (product.count == 1)
    return tile;
  constexpr int64_t leastColumns = 8; // of a matrix instruction
  if (tile.exchanged || tile.cluster > 1 || tile.pieces > 1 || tile.columns % (product.count * leastColumns) != 0)
    return std::nullopt;
  tile.columns /= product.count;
  return tile;
}

/// How many problems the grid has beside the product's rows and columns: batches, parts of K. Sizes that are not known
/// count once.
int64_t countProblems(const Program &program, const Product &product, const Solver &solver) {
  int64_t count = 1;
  for (const frontend::AnyConstraint &constraint : program.constraints)
    if (const auto *along = std::get_if<WorkgroupConstraint>(&constraint);
        along && along->dim != product.rows && along->dim != product.columns) {
      std::optional<int64_t> size = solver.sizeOf(along->dim), tile = solver.sizeOf(along->tile);
      if (size && tile && *size > 0 && *tile > 0)
        count *= (*size + *tile - 1) / *tile;
    }
  return count;
}

/// Tiles of all problems, if the product's sizes are known.
std::optional<int64_t> countTiles(const Program &program, const Product &product, const ProductTile &tile,
                                  const Solver &solver) {
  std::optional<int64_t> m = solver.sizeOf(product.rows), n = solver.sizeOf(product.columns);
  if (!m || !n || *m < 1 || *n < 1)
    return std::nullopt;
  return ((*m + tile.rows - 1) / tile.rows) * ((*n + tile.columns - 1) / tile.columns) *
         countProblems(program, product, solver);
}

/// How much of the machine the tiles keep busy: of whole rounds of all compute units, the part that has a tile.
double roundsFilled(const Program &program, const Product &product, const ProductTile &tile, const Solver &solver,
                    const Target &target) {
  std::optional<int64_t> tiles = countTiles(program, product, tile, solver);
  if (!tiles)
    return 1;
  int64_t workgroups = *tiles * tile.cluster, rounds = (workgroups + target.computeUnits - 1) / target.computeUnits;
  // Rows and columns of tiles beyond the tensor are computed for nothing.
  auto insideAlong = [&](Expr dim, int64_t each) {
    int64_t size = *solver.sizeOf(dim), covered = (size + each - 1) / each * each;
    return static_cast<double>(size) / static_cast<double>(covered);
  };
  double inside = insideAlong(product.rows, tile.rows) * insideAlong(product.columns, tile.columns);
  return inside * static_cast<double>(workgroups) / static_cast<double>(rounds * target.computeUnits);
}

/// The elements of the tile's rows of shared memory.
int64_t wholeDepthOf(const ProductTile &tile, const Product &product) {
  return tile.panels * kRowBytes * 8 / bits(product.lhs);
}

/// What an iteration takes of K: the tile's rows of shared memory, or as much of one as factors keep side by side, so
/// that it is copied in boxes. Where they keep less than an instruction takes, nothing is to be gained.
int64_t depthOf(const ProductTile &tile, const Product &product, const Solver &solver) {
  int64_t whole = wholeDepthOf(tile, product), deep = whole;
  const int64_t least = 32 * 8 / bits(product.lhs);
  for (Expr run : product.runs)
    if (std::optional<int64_t> count = solver.sizeOf(run); count && *count > 0)
      while (deep >= least && *count % deep != 0)
        deep /= 2;
  return deep >= least ? deep : whole;
}

/// Whether the tile's workgroups are as many as were asked for; where nobody asked, several need much to sum.
bool maySplit(const ProductTile &tile, std::optional<int64_t> contracted, int64_t deep, const CompileOptions &options) {
  if (options.cluster > 0)
    return tile.cluster == options.cluster;
  return tile.cluster == 1 || (contracted && *contracted >= kIterationsToShare * deep * tile.cluster);
}

/// The product by this tile, if the constraints leave it open or say it.
std::optional<AutoRow> productBy(const ProductTile &tile, const Product &product, const Program &program,
                                 const CompileOptions &options, const Target &target) {
  auto *rows = program.findFor<WorkgroupConstraint>(product.rows),
       *columns = program.findFor<WorkgroupConstraint>(product.columns);
  auto *depth = program.findFor<TilingConstraint>(product.depth);
  auto *rowWaves = program.findFor<WaveConstraint>(product.rows),
       *columnWaves = program.findFor<WaveConstraint>(product.columns);
  if (!rows || !columns || !depth || !rowWaves)
    return std::nullopt;
  Solver solver(options);
  int64_t deep = depthOf(tile, product, solver);
  constexpr int64_t perWave = 16;
  if (!solver.require(rows->tile, tile.rows) || !solver.require(columns->tile, tile.columns) ||
      !solver.require(depth->tile, deep) || !solver.require(rowWaves->tile, tile.exchanged ? tile.rows : perWave))
    return std::nullopt;
  // Columns on the instruction's rows have waves of their own.
  if (columnWaves ? !solver.require(columnWaves->tile, tile.exchanged ? perWave : tile.columns) : tile.exchanged)
    return std::nullopt;
  if (!maySplit(tile, solver.sizeOf(product.depth), wholeDepthOf(tile, product), options) ||
      (tile.served && !canBeServed(program, options)))
    return std::nullopt;
  double filled = roundsFilled(program, product, tile, solver, target);
  AutoChoice choice{options, ""};
  for (const auto &[name, value] : solver.found())
    choice.options.subs.emplace_back(symbol(name), value);
  choice.options.mma = instructionOf(tile.exchanged ? tile.rows : tile.columns / tile.pieces, product.lhs);
  choice.options.directCopies = true;
  // What a cluster exchanges comes back in whole rows.
  choice.options.stagedWrites = tile.cluster == 1;
  if (choice.options.raster == 0)
    choice.options.raster = kRaster;
  choice.options.cluster = tile.cluster;
  if (tile.served && !options.serviceWaves)
    choice.options.serviceWaves = kServiceWaves;
  choice.options.schedule.name = "ring";
  choice.why = (product.count > 1 ? std::to_string(product.count) + " products, " : "") + "tiles of " +
               std::to_string(tile.rows) + " by " + std::to_string(tile.columns) + " by " + std::to_string(deep) +
               ", `" + choice.options.mma + "`" + (tile.exchanged ? " with exchanged operands" : "") +
               (tile.cluster > 1 ? ", K shared by clusters of " + std::to_string(tile.cluster) : "") +
               (tile.served ? ", waves that copy" : "") + ", direct copies in a ring, bands of " +
               std::to_string(choice.options.raster) + " tiles: fills " + std::to_string(std::lround(100 * filled)) +
               " % of whole rounds, relative speed " + std::to_string(tile.speed).substr(0, 4);
  return std::pair(tile.speed * filled, std::move(choice));
}

/// The same with a workgroup for each compute unit, which walks several tiles; nothing where the author said how many,
/// where each has one, or where they would have too many.
std::optional<AutoRow> persistently(const AutoRow &row, const Program &program, const Product &product,
                                    const ProductTile &tile, const Target &target) {
  if (row.second.options.persistent > 0 || !tile.walks)
    return std::nullopt;
  std::optional<int64_t> tiles = countTiles(program, product, tile, Solver(row.second.options));
  if (!tiles || *tiles <= target.computeUnits || *tiles > kMostWalked * target.computeUnits)
    return std::nullopt;
  AutoRow walking = row;
  walking.first *= kWalking;
  walking.second.options.persistent = target.computeUnits;
  walking.second.why += ", " + std::to_string(target.computeUnits) + " workgroups that walk them";
  return walking;
}

/// Tiles for the instructions of several waves that multiply such elements; none where there are none.
std::span<const ProductTile> tilesFor(const Product &product, const Target &target, bool shortSums) {
  auto kind = std::ranges::find_if(target.mmas, [&](const MmaKind &each) {
    return each.async && each.lhs.type == product.lhs && each.rhs.type == product.rhs;
  });
  if (kind == target.mmas.end())
    return {};
  return kind->sumBits && !shortSums ? std::span<const ProductTile>(kRestartedTiles) : kProductTiles;
}
} // namespace

std::optional<std::vector<AutoRow>> chooseProducts(const Program &program, const CompileOptions &options,
                                                   const Target &target) {
  std::optional<Product> product = findProduct(program);
  if (!product)
    return std::nullopt;
  std::vector<AutoRow> rows;
  for (const ProductTile &each : tilesFor(*product, target, options.shortSums)) {
    std::optional<ProductTile> tile = tileOfEach(each, *product);
    auto row = tile ? productBy(*tile, *product, program, options, target) : std::nullopt;
    if (!row)
      continue;
    if (auto walking = persistently(*row, program, *product, *tile, target)) {
      if (auto faster = tile->overlaps ? overlapping(*walking) : std::nullopt)
        rows.push_back(std::move(*faster));
      rows.push_back(std::move(*walking));
    }
    rows.push_back(std::move(*row));
  }
  return rows;
}

} // namespace soliton
