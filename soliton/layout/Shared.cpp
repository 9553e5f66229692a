#include "soliton/layout/Shared.h"

#include <algorithm>
#include <limits>

namespace soliton {
namespace {
struct Point {
  int64_t row = 0, column = 0;
};

int64_t panelOf(const SharedMap &map) {
  return map.panel > 0 ? map.panel : map.dims.empty() ? 1 : map.dims.back().extent;
}

int64_t valueOf(const Coordinates &coordinate, Dim dim) {
  auto found = coordinate.find(dim);
  return found == coordinate.end() ? 0 : found->second;
}

Point pointOf(const SharedMap &map, const Coordinates &coordinate) {
  Point point;
  for (size_t i = 0; i + 1 < map.dims.size(); ++i)
    point.row = point.row * map.dims[i].extent + valueOf(coordinate, map.dims[i].dim);
  if (!map.dims.empty())
    point.column = valueOf(coordinate, map.dims.back().dim);
  return point;
}

int64_t offsetOf(const SharedMap &map, Point point) {
  int64_t panel = panelOf(map);
  int64_t row = point.row, inside = point.column % panel;
  const Swizzle &swizzle = map.swizzle;
  if (map.isSwizzled()) {
    int64_t perRow = map.chunksPerRow(), rows = map.rowsPerLine();
    int64_t chunk = (row % rows * perRow + inside / swizzle.chunk) ^ swizzle.phaseOf(row);
    row = row / rows * rows + chunk / perRow;
    inside = chunk % perRow * swizzle.chunk + inside % swizzle.chunk;
  }
  return (point.column / panel * map.rows() + row) * map.pitch() + inside;
}

bool isPowerOfTwo(int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

/// Whether the phases are those of lines of several rows: whole ones, of whole chunks, whose rows have one phase.
bool hasWholeLines(const SharedMap &map) {
  const Swizzle &swizzle = map.swizzle;
  int64_t row = panelOf(map), rows = map.rowsPerLine();
  if (rows < 2 || row % swizzle.chunk != 0 || !isPowerOfTwo(row / swizzle.chunk))
    return false;
  bool isOnePiece = map.padding == 0 && row == map.dims.back().extent;
  return isOnePiece && map.dims.size() > 1 && map.dims[map.dims.size() - 2].extent % rows == 0 &&
         swizzle.rowsPerPhase % rows == 0 && (swizzle.farPhases == 1 || swizzle.farRowsPerPhase % rows == 0);
}

/// Words that one phase reads, each once, and the number in its fullest bank.
struct PhaseLoad {
  int64_t words = 0, worst = 0;
};

PhaseLoad loadOf(const BankModel &model, const std::vector<int> &lanes, std::span<const int64_t> addresses,
                 int64_t width) {
  std::vector<int64_t> words;
  for (int lane : lanes) {
    if (static_cast<size_t>(lane) >= addresses.size() || addresses[static_cast<size_t>(lane)] < 0)
      continue;
    int64_t begin = addresses[static_cast<size_t>(lane)] / 4;
    int64_t end = (addresses[static_cast<size_t>(lane)] + width - 1) / 4;
    for (int64_t word = begin; word <= end; ++word)
      words.push_back(word);
  }
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::vector<int64_t> banks(static_cast<size_t>(model.banks));
  PhaseLoad load{static_cast<int64_t>(words.size()), 0};
  for (int64_t word : words)
    load.worst = std::max(load.worst, ++banks[static_cast<size_t>(word % model.banks)]);
  return load;
}
} // namespace

std::optional<std::string> SharedMap::verify() const {
  constexpr int64_t kLimit = int64_t(1) << 40;
  int64_t total = 1;
  for (const DimExtent &entry : dims) {
    if (entry.extent < 1)
      return "the extent of `" + entry.dim.name() + "` is " + std::to_string(entry.extent) + ", expected at least 1";
    if (entry.extent > kLimit / total)
      return "the map has more than 2^40 elements";
    if (std::ranges::count(dims, entry.dim, &DimExtent::dim) > 1)
      return "`" + entry.dim.name() + "` appears twice";
    total *= entry.extent;
  }
  if (padding < 0 || padding > kLimit / total)
    return "padding is " + std::to_string(padding) + ", expected 0 to " + std::to_string(kLimit / total);
  int64_t row = panelOf(*this);
  if (panel < 0 || (panel > 0 && (dims.empty() || dims.back().extent % panel != 0)))
    return "panels of " + std::to_string(panel) + " elements do not divide the row";
  if (swizzle.chunk < 1 || swizzle.rowsPerPhase < 1 || swizzle.farRowsPerPhase < 1 || !isPowerOfTwo(swizzle.phases) ||
      !isPowerOfTwo(swizzle.farPhases))
    return "a swizzle needs a chunk and rows per phase of at least 1 and a power of two of phases";
  if (isSwizzled() && row % (swizzle.chunk * swizzle.allPhases()) != 0 && !hasWholeLines(*this))
    return "a swizzle of " + std::to_string(swizzle.allPhases()) + " phases of " + std::to_string(swizzle.chunk) +
           " elements divides neither a row of " + std::to_string(row) + " nor rows of one phase";
  return std::nullopt;
}

int64_t SharedMap::chunksPerRow() const {
  return panelOf(*this) / swizzle.chunk;
}

int64_t SharedMap::rowsPerLine() const {
  return isSwizzled() ? std::max<int64_t>(1, swizzle.allPhases() / std::max<int64_t>(1, chunksPerRow())) : 1;
}

int64_t SharedMap::pitch() const {
  return panelOf(*this) + padding;
}

int64_t SharedMap::rows() const {
  int64_t count = 1;
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    count *= dims[i].extent;
  return count;
}

int64_t SharedMap::elements() const {
  int64_t panels = dims.empty() ? 1 : dims.back().extent / panelOf(*this);
  return panels * rows() * pitch();
}

int64_t SharedMap::bytes(int elementBits) const {
  return (elements() * elementBits + 7) / 8;
}

int64_t SharedMap::offset(const Coordinates &coordinate) const {
  return offsetOf(*this, pointOf(*this, coordinate));
}

std::string SharedMap::str() const {
  std::string text = "[";
  for (const DimExtent &entry : dims)
    text += (text.size() > 1 ? ", " : "") + entry.dim.name() + " " + std::to_string(entry.extent);
  text += "]";
  if (padding)
    text += " pad " + std::to_string(padding);
  if (isSwizzled())
    text += " swizzle(" + std::to_string(swizzle.chunk) + ", " + std::to_string(swizzle.rowsPerPhase) + ", " +
            std::to_string(swizzle.phases);
  if (isSwizzled() && swizzle.farPhases > 1)
    text += ", " + std::to_string(swizzle.farRowsPerPhase) + ", " + std::to_string(swizzle.farPhases);
  if (isSwizzled())
    text += ")";
  if (panel)
    text += " panel " + std::to_string(panel);
  return text;
}

int64_t serviceClocks(const BankModel &model, std::span<const int64_t> addresses, int64_t widthBytes) {
  int64_t clocks = 0;
  for (const std::vector<int> &lanes : model.phases)
    clocks += loadOf(model, lanes, addresses, widthBytes).worst;
  return clocks;
}

int64_t countConflicts(const BankModel &model, std::span<const int64_t> addresses, int64_t widthBytes) {
  int64_t conflicts = 0;
  for (const std::vector<int> &lanes : model.phases) {
    PhaseLoad load = loadOf(model, lanes, addresses, widthBytes);
    conflicts += load.worst - (load.words + model.banks - 1) / model.banks;
  }
  return conflicts;
}

//===----------------------------------------------------------------------===//
// Choosing a map
//===----------------------------------------------------------------------===//

namespace {
/// The points that each instruction of a pattern touches, one per lane: independent of padding and swizzle.
struct PatternPoints {
  std::vector<std::vector<Point>> instructions;
  int64_t width;
  const BankModel *model;
};

PatternPoints pointsOf(const SharedMap &map, int elementBits, const SharedAccessPattern &pattern) {
  PatternPoints result{{}, std::max<int64_t>(1, pattern.elementsPerAccess * elementBits / 8), &pattern.model};
  const Layout &layout = pattern.layout;
  for (int64_t wave = 0; wave < layout.waves(); ++wave)
    for (int64_t reg = 0; reg < layout.regs(); reg += pattern.elementsPerAccess) {
      std::vector<Point> &points = result.instructions.emplace_back();
      for (int64_t lane = 0; lane < layout.lanes(); ++lane)
        points.push_back(pointOf(map, layout.coordinates(reg, lane, wave)));
    }
  return result;
}

/// Counts until there are `most`.
int64_t conflictsOf(const SharedMap &map, int elementBits, const PatternPoints &pattern, int64_t most) {
  int64_t conflicts = 0;
  std::vector<int64_t> addresses;
  for (const std::vector<Point> &points : pattern.instructions) {
    if (conflicts >= most)
      break;
    addresses.clear();
    for (Point point : points)
      addresses.push_back(offsetOf(map, point) * elementBits / 8);
    conflicts += countConflicts(*pattern.model, addresses, pattern.width);
  }
  return conflicts;
}

/// The first of the candidates with the fewest conflicts.
class Chooser {
public:
  Chooser(const SharedMap &map, int elementBits, const std::vector<SharedAccessPattern> &patterns)
      : elementBits(elementBits) {
    for (const SharedAccessPattern &pattern : patterns)
      points.push_back(pointsOf(map, elementBits, pattern));
  }

  /// True when nothing better can come.
  bool consider(const SharedMap &map) {
    int64_t conflicts = 0, most = best ? best->conflicts : std::numeric_limits<int64_t>::max();
    for (const PatternPoints &pattern : points)
      if (conflicts < most)
        conflicts += conflictsOf(map, elementBits, pattern, most - conflicts);
    if (!best || conflicts < best->conflicts)
      best = SharedChoice{map, conflicts};
    return best->conflicts == 0;
  }

  int64_t widest() const {
    int64_t width = 1;
    for (const PatternPoints &pattern : points)
      width = std::max(width, pattern.width);
    return width;
  }

  bool hasResult() const { return best.has_value(); }
  SharedChoice result() const { return *best; }

private:
  int elementBits;
  std::vector<PatternPoints> points;
  std::optional<SharedChoice> best;
};
} // namespace

int64_t countConflicts(const SharedMap &map, int elementBits, const SharedAccessPattern &pattern) {
  return conflictsOf(map, elementBits, pointsOf(map, elementBits, pattern), std::numeric_limits<int64_t>::max());
}

SharedChoice choosePadding(SharedMap map, int elementBits, const std::vector<SharedAccessPattern> &patterns) {
  Chooser chooser(map, elementBits, patterns);
  int64_t widest = chooser.widest();
  // A whole turn of 64 banks brings nothing new.
  for (map.padding = 0; map.padding * elementBits <= 256 * 8; ++map.padding) {
    bool aligned = map.pitch() * elementBits % (8 * widest) == 0;
    if (aligned && chooser.consider(map))
      break;
  }
  if (!chooser.hasResult()) {
    map.padding = 0;
    chooser.consider(map);
  }
  return chooser.result();
}

/// Swizzles of those chunks, simple ones first. More than 256 bytes are a whole turn of 64 banks.
static std::vector<Swizzle> swizzlesOf(int64_t chunk, int64_t chunkBytes) {
  std::vector<Swizzle> list;
  for (int64_t phases : {2, 4, 8, 16, 32})
    for (int64_t rows : {1, 2, 4, 8})
      list.push_back({chunk, rows, phases});
  for (int64_t phases : {2, 4, 8})
    for (int64_t farPhases : {2, 4, 8})
      for (int64_t rows : {1, 2, 4})
        for (int64_t farRows : {2, 4, 8, 16})
          // Rows that the far stride counts begin where the near one's end, or beyond.
          if (farRows > rows * phases && phases * farPhases * chunkBytes <= 256)
            list.push_back({chunk, rows, phases, farRows, farPhases});
  return list;
}

SharedChoice chooseSwizzle(SharedMap map, int elementBits, const std::vector<SharedAccessPattern> &patterns) {
  Chooser chooser(map, elementBits, patterns);
  map.swizzle = {};
  if (chooser.consider(map))
    return chooser.result();
  int64_t widest = std::max<int64_t>(1, chooser.widest() * 8 / elementBits);
  // Lanes that walk a part of a row, then the next row, need that part to change places as a whole.
  std::vector<Swizzle> near, far, lines;
  for (int64_t chunk : {widest, 2 * widest, 4 * widest})
    for (const Swizzle &swizzle : swizzlesOf(chunk, chunk * elementBits / 8)) {
      map.swizzle = swizzle;
      if (!map.verify())
        (map.rowsPerLine() > 1 ? lines : swizzle.farPhases > 1 ? far : near).push_back(swizzle);
    }
  for (const std::vector<Swizzle> *list : {&near, &far, &lines})
    for (const Swizzle &swizzle : *list) {
      map.swizzle = swizzle;
      if (chooser.consider(map))
        return chooser.result();
    }
  return chooser.result();
}

} // namespace soliton
