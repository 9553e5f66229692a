//===- Schedule.cpp - soliton schedule -----------------------------------------------------------===//

#include "tools/soliton/Commands.h"

#include "soliton/authoring/ScheduleFile.h"
#include "soliton/display/Page.h"
#include "soliton/display/Svg.h"
#include "soliton/display/Table.h"
#include "soliton/display/Trace.h"
#include "soliton/schedule/Certificate.h"

#include <algorithm>
#include <filesystem>

namespace soliton::cli {
namespace {

/// Compiled only as far as it must be: the emulator's image is the cheapest.
CompileAttempt compileForSchedule(const ScheduleCommand &command, std::ostream &err) {
  Resolved resolved = resolve(command.choice, err);
  resolved.options.schedule.reportsNone = true;
  return compileResolved(resolved, [](const std::string &) { return rt::ImageKind::emulator; }, /*isKept=*/false);
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
  std::string text = readFile(path);
  sched::ScheduleFile before, after = sched::toFile(loop);
  if (sched::isWaveFile(text)) {
    // That format holds stages and cycles, so nothing else is compared.
    before = sched::toFile(loop.problem, sched::parseWave(loop.problem, text, diagnostics, path));
    after = sched::toFile(
        loop.problem, sched::parseWave(loop.problem, sched::printWave(loop.problem, loop.schedule), diagnostics, path));
  } else {
    std::vector<sched::ScheduleFile> files = sched::parseScheduleFiles(text, diagnostics, path);
    if (diagnostics.empty())
      before = sched::fileOf(loop.problem, files);
  }
  if (!diagnostics.empty())
    throw CompileError(diagnostics);
  return sched::diff(before, after);
}

/// Writes the schedules of all loops in the format that the name of the file asks for; returns what was written.
std::vector<std::string> writeSchedules(const std::string &path, const std::vector<sched::LoopReport> &loops) {
  std::filesystem::path extension = std::filesystem::path(path).extension();
  if (extension != ".wave") {
    std::vector<sched::ScheduleFile> files;
    for (const sched::LoopReport &loop : loops)
      files.push_back(sched::toFile(loop));
    writeFile(path, extension == ".json" ? sched::printJson(files) : sched::printText(files));
    return {path};
  }
  std::vector<std::string> written;
  for (size_t i = 0; i < loops.size(); ++i) {
    std::string lost;
    for (const std::string &what : sched::lostInWave(loops[i]))
      lost += (lost.empty() ? "" : ", ") + what;
    if (!lost.empty())
      throw UsageError("Wave's format has no place for " + lost + " of `" + loops[i].schedule.algorithm + "`; write `" +
                       std::filesystem::path(path).replace_extension(".schedule").string() + "` or `.json` instead");
    written.push_back(numbered(path, i));
    writeFile(written.back(), sched::printWave(loops[i].problem, loops[i].schedule));
  }
  return written;
}

class LoopPrinter {
public:
  LoopPrinter(const ScheduleCommand &command, const std::vector<sched::LoopReport> &loops, std::string target)
      : command(command), loops(loops), target(std::move(target)) {}

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
    write(command.certificate, [&] { return certificateOf(loop); });
    return written;
  }

  Json json(size_t loop) const {
    Json entry = Json::parse(sched::printTableJson(pictureOf(loop)));
    entry["schedule_ms"] = loops[loop].scheduleMs;
    if (!command.diff.empty())
      entry["diff"] = differences(command.diff, loops[loop]);
    return entry;
  }

  void text(size_t loop, std::ostream &out) const {
    if (command.diff.empty()) {
      out << (loop > 0 ? "\n" : "") << sched::printTable(pictureOf(loop));
      return;
    }
    std::vector<std::string> changes = differences(command.diff, loops[loop]);
    for (const std::string &change : changes)
      out << change << "\n";
    if (changes.empty())
      out << "`" << loops[loop].problem.loop << "` is scheduled as in " << command.diff << "\n";
  }

private:
  const std::string &certificateOf(size_t loop) const {
    if (loops[loop].certificate.empty())
      throw UsageError("`" + command.choice.schedule + "` proves no interval, expected `--schedule exact`");
    return loops[loop].certificate;
  }

  sched::Picture pictureOf(size_t loop) const {
    const sched::LoopReport &report = loops[loop];
    sched::Picture picture{report.problem,        report.schedule, report.program,    report.verified,
                           command.choice.kernel, target,          report.certificate};
    picture.crew = report.roles.crew();
    return picture;
  }

  const ScheduleCommand &command;
  const std::vector<sched::LoopReport> &loops;
  std::string target;
};

} // namespace

/// Adds a proof up again from the problem of the kernel's loop; who found it has no say.
static int checkProof(const ScheduleCommand &command, const sched::LoopReport &loop, std::ostream &out) {
  std::optional<std::string> wrong = sched::checkCertificate(loop.problem, readFile(command.check));
  if (command.choice.json)
    out << line({{"ok", !wrong}, {"loop", loop.problem.loop}, {"error", wrong.value_or("")}});
  else
    out << command.check << (wrong ? ": error: " + *wrong : ": the proof holds for loop " + loop.problem.loop) << "\n";
  return wrong ? 1 : 0;
}

/// A schedule that the verifier refuses is shown too, with what is wrong, and is a failure all the same.
int showSchedule(const ScheduleCommand &command, std::ostream &out, std::ostream &err) {
  CompileAttempt attempt = compileForSchedule(command, err);
  const std::vector<sched::LoopReport> &loops = attempt ? attempt.result->loops : attempt.loops;
  if (!attempt && loops.empty())
    return reportFailure(attempt.diagnostics, command.choice.json, out, err);
  if (loops.empty())
    throw UsageError("`" + command.choice.kernel + "` has no loop that `" + command.choice.schedule + "` schedules");
  if (!command.check.empty())
    return checkProof(command, loops.front(), out);
  bool asFile = !command.output.empty() || !command.diff.empty();
  if (asFile && std::ranges::any_of(loops, [](const sched::LoopReport &loop) { return loop.around.has_value(); }))
    throw UsageError(
        "a program that is said whole has a prologue and epilogue of its own, which a schedule file cannot "
        "say; leave `--output` and `--diff` out");
  std::string target = attempt ? attempt.result->image.target : command.choice.target;
  LoopPrinter printer(command, loops, target);
  // Files first: nothing is printed if one of them cannot be written.
  std::vector<std::string> files;
  for (size_t loop = 0; loop < loops.size(); ++loop)
    for (std::string &file : printer.writeFiles(loop))
      files.push_back(std::move(file));
  if (!command.output.empty())
    for (std::string &file : writeSchedules(command.output, loops))
      files.push_back(std::move(file));
  err << format(attempt ? attempt.result->warnings : attempt.diagnostics);
  Json entries = Json::array();
  for (size_t loop = 0; loop < loops.size(); ++loop)
    if (command.choice.json)
      entries.push_back(printer.json(loop));
    else
      printer.text(loop, out);
  for (const std::string &file : files)
    if (!command.choice.json)
      out << "wrote " << file << "\n";
  if (command.choice.json) {
    Json report = {{"ok", static_cast<bool>(attempt)},    {"kernel", command.choice.kernel}, {"target", target},
                   {"schedule", command.choice.schedule}, {"loops", std::move(entries)},     {"files", files}};
    if (!attempt)
      report["diagnostics"] = diagnosticsJson(attempt.diagnostics);
    out << line(report);
  }
  return attempt ? 0 : 2;
}

} // namespace soliton::cli
