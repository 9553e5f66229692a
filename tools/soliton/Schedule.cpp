//===- Schedule.cpp - soliton schedule -----------------------------------------------------------===//

#include "tools/soliton/Commands.h"

#include "soliton/schedule/Page.h"
#include "soliton/schedule/ScheduleFile.h"
#include "soliton/schedule/Svg.h"
#include "soliton/schedule/Table.h"
#include "soliton/schedule/Trace.h"

#include <filesystem>

namespace soliton::cli {
namespace {

/// Compiled only as far as it must be: the emulator's image is the cheapest.
CompileAttempt compileForSchedule(const ScheduleCommand &command) {
  if (isFile(command.choice.kernel)) {
    CompileOptions options = optionsForFile(command.choice, command.targetGiven);
    options.schedule.reportsNone = true;
    return compileText(readFile(command.choice.kernel), command.choice.kernel, options,
                       [](const std::string &) { return rt::ImageKind::emulator; });
  }
  Resolved resolved = resolve(command.choice);
  resolved.options.schedule.reportsNone = true;
  return compileImage(resolved.entry->build(*resolved.variant), resolved.options, rt::ImageKind::emulator);
}

/// `gemm.html` for the first loop, `gemm-2.html` for the second.
std::string numbered(const std::string &path, size_t loop) {
  if (loop == 0)
    return path;
  std::filesystem::path file(path);
  std::string name = file.stem().string() + "-" + std::to_string(loop + 1) + file.extension().string();
  return file.replace_filename(name).string();
}

/// The lines that differ from the file; what is wrong with the file itself is thrown.
std::vector<std::string> differences(const std::string &path, const sched::LoopReport &loop) {
  std::vector<Diagnostic> diagnostics;
  sched::ScheduleFile before = sched::parseScheduleFile(readFile(path), diagnostics, path);
  if (!diagnostics.empty())
    throw CompileError(diagnostics);
  return sched::diff(before, sched::toFile(loop.problem, loop.schedule));
}

class LoopPrinter {
public:
  LoopPrinter(const ScheduleCommand &command, const CompileResult &result) : command(command), result(result) {}

  /// Writes the files of a loop and returns their names.
  std::vector<std::string> writeFiles(size_t loop) const {
    std::vector<std::string> written;
    auto write = [&](const std::string &path, auto text) {
      if (path.empty())
        return;
      writeFile(numbered(path, loop), text());
      written.push_back(numbered(path, loop));
    };
    sched::Picture picture = pictureOf(loop);
    write(command.html, [&] { return sched::printPage(picture); });
    write(command.svg, [&] { return sched::printSvg(picture); });
    write(command.trace, [&] { return sched::printTrace(picture); });
    write(command.output, [&] { return sched::printText(sched::toFile(picture.problem, picture.schedule)); });
    return written;
  }

  Json json(size_t loop) const {
    Json entry = Json::parse(sched::printTableJson(pictureOf(loop)));
    entry["schedule_ms"] = result.loops[loop].scheduleMs;
    if (!command.diff.empty())
      entry["diff"] = differences(command.diff, result.loops[loop]);
    return entry;
  }

  void text(size_t loop, std::ostream &out) const {
    if (command.diff.empty()) {
      out << (loop > 0 ? "\n" : "") << sched::printTable(pictureOf(loop));
      return;
    }
    std::vector<std::string> changes = differences(command.diff, result.loops[loop]);
    for (const std::string &change : changes)
      out << change << "\n";
    if (changes.empty())
      out << "`" << result.loops[loop].problem.loop << "` is scheduled as in " << command.diff << "\n";
  }

private:
  sched::Picture pictureOf(size_t loop) const {
    const sched::LoopReport &report = result.loops[loop];
    return {report.problem,        report.schedule,     report.program,    report.verified,
            command.choice.kernel, result.image.target, report.certificate};
  }

  const ScheduleCommand &command;
  const CompileResult &result;
};

} // namespace

int showSchedule(const ScheduleCommand &command, std::ostream &out, std::ostream &err) {
  CompileAttempt attempt = compileForSchedule(command);
  if (!attempt)
    return reportFailure(attempt.diagnostics, command.choice.json, out, err);
  const CompileResult &result = *attempt.result;
  if (result.loops.empty())
    throw UsageError("`" + command.choice.kernel + "` has no loop that `" + command.choice.schedule + "` schedules");
  for (const Diagnostic &warning : result.warnings)
    err << format(warning) << "\n";
  LoopPrinter printer(command, result);
  // Files first: nothing is printed if one of them cannot be written.
  std::vector<std::string> files;
  for (size_t loop = 0; loop < result.loops.size(); ++loop)
    for (std::string &file : printer.writeFiles(loop))
      files.push_back(std::move(file));
  Json loops = Json::array();
  for (size_t loop = 0; loop < result.loops.size(); ++loop)
    if (command.choice.json)
      loops.push_back(printer.json(loop));
    else
      printer.text(loop, out);
  for (const std::string &file : files)
    if (!command.choice.json)
      out << "wrote " << file << "\n";
  if (command.choice.json)
    out << line({{"ok", true},
                 {"kernel", command.choice.kernel},
                 {"target", result.image.target},
                 {"schedule", command.choice.schedule},
                 {"loops", std::move(loops)},
                 {"files", files}});
  return 0;
}

} // namespace soliton::cli
