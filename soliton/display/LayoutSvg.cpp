//===- LayoutSvg.cpp - Layouts as a picture --------------------------------------------===//
//
// A box is what one lane holds in consecutive registers side by side (or one below the other): its lane in bold, its
// registers beside or below. Colours are groups of neighbouring lanes; heavy lines part waves, whose numbers stand
// behind.
//
//===----------------------------------------------------------------------===//

#include "soliton/display/LayoutPicture.h"
#include "soliton/display/PageParts.h"

#include <algorithm>
#include <map>

namespace soliton {
namespace {
using sched::escapeXml;
using sched::num;

constexpr double kMargin = 28, kTop = 86, kAxis = 34, kGap = 46, kLegend = 54;
constexpr double kLetter = 5.9, kWideCell = 36, kHighCell = 19, kMostPixels = 2400;
constexpr int kGroups = 8;

constexpr const char *kStyle = R"css(
text { font: 10px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; fill: #1c2430; }
.card { fill: #ffffff; stroke: #e3e6eb; }
.title { font-size: 20px; font-weight: 600; } .head { font-size: 13px; font-weight: 600; } .note { font-size: 12px; }
.soft { fill: #5b6778; } .lane { font-weight: 700; } .mid { text-anchor: middle; } .end { text-anchor: end; }
.cell { stroke: #ffffff; stroke-width: 1; } .none { fill: #eef1f5; }
.wave { fill: none; stroke: #1c2430; stroke-width: 2; }
.wavename { font-size: 34px; font-weight: 700; opacity: 0.22; text-anchor: middle; } .reg { fill: #414c5c; }
.g0 { fill: #c6d9fb; } .g1 { fill: #fbd7bf; } .g2 { fill: #bfe8dc; } .g3 { fill: #efcbe3; } .g4 { fill: #efe5b0; }
.g5 { fill: #d5dae2; } .g6 { fill: #d8cdf6; } .g7 { fill: #f8c9c9; }
@media (prefers-color-scheme: dark) {
text { fill: #eef2f8; } .card { fill: #1a2028; stroke: #2b333e; } .soft { fill: #9aa7b8; }
.cell { stroke: #1a2028; } .none { fill: #242c37; } .wave { stroke: #eef2f8; } .reg { fill: #ccd5e2; }
.g0 { fill: #2c4f94; } .g1 { fill: #8a4a20; } .g2 { fill: #1d6553; } .g3 { fill: #7c3366; } .g4 { fill: #675a18; }
.g5 { fill: #4a5565; } .g6 { fill: #55419a; } .g7 { fill: #893a3a; }
}
)css";

/// Cells that one lane holds in consecutive registers.
struct Box {
  int64_t row = 0, column = 0, rows = 1, columns = 1;
  std::optional<Holder> first;
};

/// How many registers follow each other along a dimension.
int64_t runAlong(const LayoutView &view, std::optional<Dim> dim) {
  return dim ? view.layout.contiguousRun(*dim) : 1;
}

/// A view with its cells, and how large they are drawn.
struct Grid {
  explicit Grid(const LayoutView &view)
      : view(view), table(holdersOf(view)), rows(std::min(table.rows, kMostDrawn)),
        columns(std::min(table.columns, kMostDrawn)), across(runAlong(view, view.columns)),
        down(across > 1 ? 1 : runAlong(view, view.rows)) {}

  double width() const { return cellWidth * static_cast<double>(columns); }
  double height() const { return cellHeight * static_cast<double>(rows); }

  const LayoutView &view;
  HolderTable table;
  int64_t rows, columns;
  /// Registers that go to the right, or down.
  int64_t across, down;
  double cellWidth = 0, cellHeight = 0;
};

/// Wide enough for the label of a box of `run` cells.
double cellSize(int64_t run, double whole, double count) {
  double size = run > 1 ? std::max(3.0, std::min(whole, 1.5 * whole / static_cast<double>(run))) : whole;
  return std::min(size, kMostPixels / count);
}

std::vector<Box> boxesOf(const Grid &grid) {
  std::vector<Box> boxes;
  std::vector<bool> isTaken(static_cast<size_t>(grid.rows * grid.columns), false);
  auto continues = [&](const Box &box, int64_t row, int64_t column, int64_t step) {
    if (row >= grid.rows || column >= grid.columns || !box.first)
      return false;
    const std::optional<Holder> &next = grid.table.at(row, column);
    return next && next->lane == box.first->lane && next->wave == box.first->wave && next->reg == box.first->reg + step;
  };
  for (int64_t row = 0; row < grid.rows; ++row)
    for (int64_t column = 0; column < grid.columns; ++column) {
      if (isTaken[static_cast<size_t>(row * grid.columns + column)])
        continue;
      Box box{row, column, 1, 1, grid.table.at(row, column)};
      while (grid.across > 1 && box.columns < grid.across && continues(box, row, column + box.columns, box.columns))
        ++box.columns;
      while (grid.down > 1 && box.rows < grid.down && continues(box, row + box.rows, column, box.rows))
        ++box.rows;
      for (int64_t r = 0; r < box.rows; ++r)
        for (int64_t c = 0; c < box.columns; ++c)
          isTaken[static_cast<size_t>((row + r) * grid.columns + column + c)] = true;
      boxes.push_back(box);
    }
  return boxes;
}

std::string registers(const Box &box) {
  int64_t count = box.rows * box.columns, first = box.first->reg;
  return "r" + std::to_string(first) + (count > 1 ? "–" + std::to_string(first + count - 1) : "");
}

double widthOf(const std::string &text) {
  auto isStart = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return kLetter * static_cast<double>(std::ranges::count_if(text, isStart));
}

class Drawing {
public:
  explicit Drawing(const LayoutPicture &picture) : picture(picture) {
    for (const LayoutView &view : picture.views)
      grids.emplace_back(view);
    for (Grid &grid : grids) {
      grid.cellWidth = cellSize(grid.across, kWideCell, static_cast<double>(grid.columns));
      grid.cellHeight = cellSize(grid.down, kHighCell, static_cast<double>(grid.rows));
    }
    if (picture.isProduct)
      shareSizes();
  }

  std::string print() {
    if (picture.isProduct)
      placeProduct();
    else
      placeInOrder();
    std::string start = head();
    return start + body + "</svg>\n";
  }

private:
  /// Rows of lhs stand beside those of the result, columns of rhs above those of the result.
  void shareSizes() {
    Grid &lhs = grids[0], &rhs = grids[1], &acc = grids[2];
    lhs.cellHeight = acc.cellHeight = std::max(lhs.cellHeight, acc.cellHeight);
    rhs.cellWidth = acc.cellWidth = std::max(rhs.cellWidth, acc.cellWidth);
  }

  void placeProduct() {
    double left = kMargin + kAxis, top = kTop + kAxis;
    double right = left + grids[0].width() + kGap + kAxis, below = top + grids[1].height() + kGap + kAxis;
    draw(grids[1], right, top);
    draw(grids[0], left, below);
    draw(grids[2], right, below);
    extend(right + grids[2].width(), below + grids[2].height());
  }

  void placeInOrder() {
    double top = kTop + kAxis;
    for (const Grid &grid : grids) {
      draw(grid, kMargin + kAxis, top);
      extend(kMargin + kAxis + grid.width(), top + grid.height());
      top += grid.height() + kGap + kAxis;
    }
  }

  void extend(double right, double bottom) {
    width = std::max(width, right);
    height = std::max(height, bottom);
  }

  void text(double x, double y, const std::string &classes, const std::string &what) {
    body +=
        "<text x=\"" + num(x) + "\" y=\"" + num(y) + "\" class=\"" + classes + "\">" + escapeXml(what) + "</text>\n";
  }

  void rect(double x, double y, double w, double h, const std::string &classes, const std::string &title = "") {
    body += "<rect x=\"" + num(x) + "\" y=\"" + num(y) + "\" width=\"" + num(w) + "\" height=\"" + num(h) +
            "\" class=\"" + classes + "\"" +
            (title.empty() ? "/>\n" : "><title>" + escapeXml(title) + "</title></rect>\n");
  }

  void draw(const Grid &grid, double x, double y) {
    const LayoutView &view = grid.view;
    std::string extents = view.rows ? view.rows->name() + " " + std::to_string(grid.table.rows) + ", " : "";
    std::string name =
        view.name + "[" + extents + view.columns.name() + " " + std::to_string(grid.table.columns) + "] " + view.type;
    if (grid.rows < grid.table.rows || grid.columns < grid.table.columns)
      name += ", its first " + std::to_string(grid.rows) + " × " + std::to_string(grid.columns);
    if (grid.table.copies > 1)
      name += ", each element in " + std::to_string(grid.table.copies) + " places";
    text(x, y - 20, "head", name);
    extend(x + 1.25 * widthOf(name), 0);
    drawAxes(grid, x, y);
    std::vector<Box> boxes = boxesOf(grid);
    for (const Box &box : boxes)
      drawBox(grid, box, x, y);
    if (view.layout.waves() > 1)
      drawWaves(grid, x, y);
    for (const Box &box : boxes)
      label(grid, box, x, y);
  }

  void drawAxes(const Grid &grid, double x, double y) {
    auto step = [](double cell, double needed) {
      int64_t every = 1;
      while (static_cast<double>(every) * cell < needed)
        every *= 2;
      return every;
    };
    for (int64_t c = 0, every = step(grid.cellWidth, 22); c < grid.columns; c += every)
      text(x + (static_cast<double>(c) + 0.5) * grid.cellWidth, y - 5, "soft mid", std::to_string(c));
    for (int64_t r = 0, every = step(grid.cellHeight, 12); r < grid.rows && grid.view.rows; r += every)
      text(x - 6, y + (static_cast<double>(r) + 0.5) * grid.cellHeight + 3.5, "soft end", std::to_string(r));
  }

  std::string describe(const Grid &grid, const Box &box) const {
    auto range = [](const std::string &dim, int64_t first, int64_t count) {
      return dim + " " + std::to_string(first) + (count > 1 ? "–" + std::to_string(first + count - 1) : "");
    };
    std::string where = grid.view.rows ? range(grid.view.rows->name(), box.row, box.rows) + ", " : "";
    where += range(grid.view.columns.name(), box.column, box.columns);
    if (!box.first)
      return where + ": held by nobody";
    std::string wave = grid.view.layout.waves() > 1 ? "wave " + std::to_string(box.first->wave) + ", " : "";
    return where + ": " + wave + "lane " + std::to_string(box.first->lane) + ", " + registers(box);
  }

  struct Area {
    double left, top, width, height;
  };
  static Area areaOf(const Grid &grid, const Box &box, double x, double y) {
    return {x + static_cast<double>(box.column) * grid.cellWidth, y + static_cast<double>(box.row) * grid.cellHeight,
            static_cast<double>(box.columns) * grid.cellWidth, static_cast<double>(box.rows) * grid.cellHeight};
  }

  void drawBox(const Grid &grid, const Box &box, double x, double y) {
    Area area = areaOf(grid, box, x, y);
    int64_t group = box.first ? box.first->lane * kGroups / std::max<int64_t>(grid.view.layout.lanes(), 1) : 0;
    rect(area.left, area.top, area.width, area.height, box.first ? "cell g" + std::to_string(group) : "cell none",
         describe(grid, box));
  }

  /// As much as fits: lane and registers side by side, one below the other, or the lane alone.
  void label(const Grid &grid, const Box &box, double x, double y) {
    if (!box.first)
      return;
    Area area = areaOf(grid, box, x, y);
    std::string lane = std::to_string(box.first->lane), regs = registers(box);
    double middle = area.left + area.width / 2, centre = area.top + area.height / 2 + 3.5;
    if (widthOf(lane + " " + regs) <= area.width - 2 && area.height >= 11)
      body += "<text x=\"" + num(middle) + "\" y=\"" + num(centre) + "\" class=\"mid\"><tspan class=\"lane\">" + lane +
              "</tspan> <tspan class=\"reg\">" + regs + "</tspan></text>\n";
    else if (widthOf(regs) <= area.width && area.height >= 23) {
      text(middle, centre - 5.5, "mid lane", lane);
      text(middle, centre + 5.5, "mid reg", regs);
    } else if (widthOf(lane) <= area.width && area.height >= 10)
      text(middle, centre, "mid lane", lane);
  }

  /// An outline where the neighbour is of another wave, and behind the labels each wave's number.
  void drawWaves(const Grid &grid, double x, double y) {
    auto waveAt = [&](int64_t row, int64_t column) -> int64_t {
      bool isInside = row >= 0 && column >= 0 && row < grid.rows && column < grid.columns;
      return isInside && grid.table.at(row, column) ? grid.table.at(row, column)->wave : -1;
    };
    std::string path;
    auto line = [&](int64_t column, int64_t row, int64_t toColumn, int64_t toRow) {
      auto place = [&](int64_t c, int64_t r) {
        return num(x + static_cast<double>(c) * grid.cellWidth) + " " +
               num(y + static_cast<double>(r) * grid.cellHeight);
      };
      path += "M" + place(column, row) + "L" + place(toColumn, toRow);
    };
    std::map<int64_t, Box> waves;
    for (int64_t row = 0; row <= grid.rows; ++row)
      for (int64_t column = 0; column <= grid.columns; ++column) {
        if (column < grid.columns && waveAt(row, column) != waveAt(row - 1, column))
          line(column, row, column + 1, row);
        if (row < grid.rows && waveAt(row, column) != waveAt(row, column - 1))
          line(column, row, column, row + 1);
        int64_t wave = waveAt(row, column);
        if (wave < 0)
          continue;
        Box &all = waves.try_emplace(wave, Box{row, column, 1, 1, {}}).first->second;
        all.columns = std::max(all.columns, column + 1 - all.column);
        all.rows = std::max(all.rows, row + 1 - all.row);
      }
    body += "<path class=\"wave\" d=\"" + path + "\"/>\n";
    for (const auto &[wave, box] : waves) {
      Area area = areaOf(grid, box, x, y);
      text(area.left + area.width / 2, area.top + area.height / 2 + 12, "wavename", "wave " + std::to_string(wave));
    }
  }

  std::string head() {
    int64_t lanes = 1;
    for (const LayoutView &view : picture.views)
      lanes = std::max(lanes, view.layout.lanes());
    text(kMargin, 44, "title", picture.title);
    text(kMargin, 66, "note soft", picture.subtitle);
    std::string key =
        "A box is what one lane holds in registers that follow each other: its lane in bold, then its registers.";
    std::string colours = "Colours: lanes in groups of " + std::to_string(std::max<int64_t>(1, lanes / kGroups)) + ".";
    text(kMargin, height + 34, "note soft", key);
    text(kMargin, height + 52, "note soft", colours);
    extend(kMargin + 1.1 * widthOf(key), 0);
    extend(kMargin + 2 * widthOf(picture.title), 0);
    extend(kMargin + 1.15 * widthOf(picture.subtitle), 0);
    std::string w = num(width + kMargin), h = num(height + kLegend + kMargin / 2);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + w + " " + h + "\" width=\"" + w +
           "\" height=\"" + h + "\" role=\"img\">\n<title>" + escapeXml(picture.title) + "</title>\n<style>" + kStyle +
           "</style>\n<rect x=\"0.5\" y=\"0.5\" width=\"" + num(width + kMargin - 1) + "\" height=\"" +
           num(height + kLegend + kMargin / 2 - 1) + "\" rx=\"10\" class=\"card\"/>\n";
  }

  const LayoutPicture &picture;
  std::vector<Grid> grids;
  std::string body;
  double width = 0, height = 0;
};

} // namespace

std::string printLayoutSvg(const LayoutPicture &picture) {
  return Drawing(picture).print();
}

} // namespace soliton
