#include "soliton/display/LayoutPicture.h"

#include <algorithm>

namespace soliton {

LayoutPicture pictureOf(const MmaKind &kind, const std::string &target) {
  LayoutPicture picture;
  picture.title = kind.name + " on " + target;
  picture.subtitle = std::to_string(kind.pieceCount()) + " × " + kind.native.instruction + ", " +
                     std::to_string(kind.waves) + (kind.waves == 1 ? " wave" : " waves") +
                     ": acc[M, N] += lhs[M, K] · rhs[N, K]";
  Dim m("M"), n("N"), k("K");
  auto add = [&](const char *name, const MmaOperand &operand, Dim rows, Dim columns) {
    if (operand.inRegisters && !operand.layout.dims().empty())
      picture.views.push_back({name, std::string(soliton::name(operand.type)), operand.layout, rows, columns});
  };
  add("lhs", kind.lhs, m, k);
  add("rhs", kind.rhs, k, n);
  add("acc", kind.acc, m, n);
  picture.isProduct = picture.views.size() == 3;
  return picture;
}

HolderTable holdersOf(const LayoutView &view) {
  const Layout &layout = view.layout;
  HolderTable table;
  table.rows = view.rows ? layout.extent(*view.rows) : 1;
  table.columns = layout.extent(view.columns);
  table.copies = layout.replication();
  table.cells.resize(static_cast<size_t>(table.rows * table.columns));
  for (int64_t wave = layout.waves(); wave-- > 0;)
    for (int64_t lane = layout.lanes(); lane-- > 0;)
      for (int64_t reg = layout.regs(); reg-- > 0;) {
        Coordinates at = layout.coordinates(reg, lane, wave);
        auto place = [&](Dim dim) { return at[dim] - (layout.offset.contains(dim) ? layout.offset.at(dim) : 0); };
        bool isShown = std::ranges::all_of(at, [&](const auto &entry) {
          return entry.first == view.columns || entry.first == view.rows || place(entry.first) == 0;
        });
        if (isShown)
          table.cells[static_cast<size_t>((view.rows ? place(*view.rows) : 0) * table.columns + place(view.columns))] =
              Holder{reg, lane, wave};
      }
  return table;
}

static std::string heading(const LayoutView &view, const HolderTable &table) {
  std::string text = view.name + "[";
  if (view.rows)
    text += view.rows->name() + " " + std::to_string(table.rows) + ", ";
  text += view.columns.name() + " " + std::to_string(table.columns) + "] " + view.type + ": " + view.layout.str();
  if (table.copies > 1)
    text += ", each element in " + std::to_string(table.copies) + " places";
  return text;
}

static std::string cellText(const std::optional<Holder> &holder, bool hasWaves) {
  if (!holder)
    return "-";
  return (hasWaves ? std::to_string(holder->wave) + ":" : "") + std::to_string(holder->lane) + "." +
         std::to_string(holder->reg);
}

static std::string padded(const std::string &text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

static void printTable(std::string &out, const LayoutView &view) {
  HolderTable table = holdersOf(view);
  bool hasWaves = view.layout.waves() > 1;
  int64_t rows = std::min(table.rows, kMostDrawn), columns = std::min(table.columns, kMostDrawn);
  size_t width = 1 + std::to_string(columns).size();
  for (const std::optional<Holder> &holder : table.cells)
    width = std::max(width, 1 + cellText(holder, hasWaves).size());
  out += heading(view, table) + "\n";
  if (rows < table.rows || columns < table.columns)
    out += "the first " + std::to_string(rows) + " × " + std::to_string(columns) + "\n";
  size_t margin = std::max(view.rows ? view.rows->name().size() : 0, std::to_string(rows).size());
  out += padded(view.rows ? view.rows->name() : "", margin) + " |";
  for (int64_t column = 0; column < columns; ++column)
    out += padded(std::to_string(column), width);
  out += "  " + view.columns.name() + "\n";
  for (int64_t row = 0; row < rows; ++row) {
    out += padded(std::to_string(row), margin) + " |";
    for (int64_t column = 0; column < columns; ++column)
      out += padded(cellText(table.at(row, column), hasWaves), width);
    out += "\n";
  }
}

std::string printLayoutText(const LayoutPicture &picture) {
  std::string out = picture.title + "\n" + picture.subtitle + "\n";
  bool hasWaves = std::ranges::any_of(picture.views, [](const LayoutView &view) { return view.layout.waves() > 1; });
  out += hasWaves ? "each element: wave:lane.register\n" : "each element: lane.register\n";
  for (const LayoutView &view : picture.views) {
    out += "\n";
    printTable(out, view);
  }
  return out;
}

/// Of names and layouts, which hold no control characters.
static std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else
      out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return out + "\"";
}

static std::string viewJson(const LayoutView &view) {
  HolderTable table = holdersOf(view);
  std::string out =
      "{\"name\":" + quoted(view.name) + ",\"type\":" + quoted(view.type) + ",\"layout\":" + quoted(view.layout.str()) +
      ",\"rows\":" + (view.rows ? quoted(view.rows->name()) : "null") + ",\"columns\":" + quoted(view.columns.name()) +
      ",\"registers\":" + std::to_string(view.layout.regs()) + ",\"lanes\":" + std::to_string(view.layout.lanes()) +
      ",\"waves\":" + std::to_string(view.layout.waves()) + ",\"copies\":" + std::to_string(table.copies) +
      ",\"elements\":[";
  for (int64_t row = 0; row < table.rows; ++row) {
    out += row ? ",[" : "[";
    for (int64_t column = 0; column < table.columns; ++column) {
      const std::optional<Holder> &holder = table.at(row, column);
      out += column ? "," : "";
      out += holder ? "[" + std::to_string(holder->wave) + "," + std::to_string(holder->lane) + "," +
                          std::to_string(holder->reg) + "]"
                    : "null";
    }
    out += "]";
  }
  return out + "]}";
}

std::string printLayoutJson(const LayoutPicture &picture) {
  std::string out =
      "{\"title\":" + quoted(picture.title) + ",\"subtitle\":" + quoted(picture.subtitle) + ",\"views\":[";
  for (size_t i = 0; i < picture.views.size(); ++i)
    out += (i ? "," : "") + viewJson(picture.views[i]);
  return out + "]}\n";
}

} // namespace soliton
