//===- Layout.cpp - soliton layout ---------------------------------------------------------------------===//

#include "soliton/display/LayoutPicture.h"
#include "soliton/driver/ValueLayouts.h"
#include "tools/soliton/Commands.h"

#include <algorithm>

namespace soliton::cli {
namespace {

/// Where a target is not said, the first that has the instruction.
std::pair<const MmaKind *, const Target *> findInstruction(const LayoutCommand &command) {
  const KernelChoice &choice = command.choice;
  if (choice.targetGiven && !findTarget(choice.target))
    throw UsageError(unknown("target", choice.target, targetNames()));
  std::vector<std::string> names, types;
  for (const Target *target : allTargets()) {
    if (choice.targetGiven && target->name != choice.target)
      continue;
    for (const MmaKind &kind : target->mmas) {
      if (std::ranges::find(names, kind.name) == names.end())
        names.push_back(kind.name);
      if (kind.name != command.instruction)
        continue;
      std::string type(name(kind.lhs.type));
      if (choice.dtype.empty() || choice.dtype == type)
        return {&kind, target};
      types.push_back(type);
    }
  }
  if (!types.empty())
    throw UsageError(unknown("dtype", choice.dtype, types));
  throw UsageError(command.instruction.empty() ? "say which matrix instruction, as in `soliton layout mma " +
                                                     names.front() + "`; the choices are " + listOf(names)
                                               : unknown("matrix instruction", command.instruction, names));
}

/// The last two dimensions of a tile; a layout may lack one of them.
LayoutView viewOf(const ValueLayout &value) {
  std::optional<Dim> rows;
  if (value.dims.size() > 1)
    rows = value.dims[value.dims.size() - 2];
  std::string role = value.role == "result" ? "" : " " + value.role;
  return {value.tag + role, value.type, value.layout, rows, value.dims.back()};
}

LayoutPicture pictureOfValue(const LayoutCommand &command, std::ostream &err) {
  Resolved resolved = resolve(command.choice, err);
  ValueLayouts found = resolved.entry ? valueLayouts(resolved.entry->build(*resolved.variant), resolved.options)
                                      : valueLayouts(resolved.text, resolved.fileName, resolved.options);
  if (!found.ok)
    throw CompileError(found.diagnostics);
  std::vector<std::string> tags;
  LayoutPicture picture;
  for (const ValueLayout &value : found.values) {
    if (std::ranges::find(tags, value.tag) == tags.end())
      tags.push_back(value.tag);
    if (value.tag == command.value && !value.dims.empty())
      picture.views.push_back(viewOf(value));
  }
  if (tags.empty())
    throw UsageError("`" + command.choice.kernel +
                     "` has no operation with a tag; give one: `read(a, {.tag = \"a\"})`");
  if (picture.views.empty())
    throw UsageError(command.value.empty() ? "say which value: `--value TAG`; the tags are " + listOf(tags)
                                           : unknown("tag", command.value, tags));
  std::string target = resolved.options.target.empty() ? "the module's target" : resolved.options.target;
  picture.title = command.value + " of " + command.choice.kernel + " on " + target;
  picture.subtitle = "a workgroup's tile, as it lies in registers";
  return picture;
}

LayoutPicture pictureFor(const LayoutCommand &command, std::ostream &err) {
  if (command.choice.kernel != "mma") {
    if (!command.instruction.empty())
      throw UsageError("found `" + command.instruction + "` after `" + command.choice.kernel +
                       "`, expected `--value TAG`, or `mma " + command.instruction + "`");
    return pictureOfValue(command, err);
  }
  auto [kind, target] = findInstruction(command);
  LayoutPicture picture = soliton::pictureOf(*kind, target->name);
  if (picture.views.empty())
    throw UsageError("no operand of `" + kind->name + "` lies in registers");
  return picture;
}

} // namespace

int showLayout(const LayoutCommand &command, std::ostream &out, std::ostream &err) {
  LayoutPicture picture = pictureFor(command, err);
  if (command.svg == "-") {
    out << printLayoutSvg(picture);
    return 0;
  }
  if (!command.svg.empty())
    writeFile(command.svg, printLayoutSvg(picture));
  if (command.choice.json)
    out << printLayoutJson(picture);
  else if (command.svg.empty())
    out << printLayoutText(picture);
  else
    out << "wrote " << command.svg << "\n";
  return 0;
}

} // namespace soliton::cli
