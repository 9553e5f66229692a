//===- Cli.cpp - Arguments to commands ------------------------------------------------------------------===//

#include "tools/soliton/Cli.h"

#include "tools/soliton/Tune.h"

#include <CLI/CLI.hpp>

namespace soliton::cli {
namespace {

void addChoice(CLI::App &command, KernelChoice &choice) {
  command
      .add_option("kernel", choice.kernel,
                  "a kernel of `soliton kernels`, or one of your own: FILE.cpp, FILE.cpp:NAME, FILE.mlir")
      ->required();
  command.add_option("--target", choice.target, "the chip to compile for; see `soliton targets`")
      ->each([&choice](const std::string &) { choice.targetGiven = true; });
  command.add_option("--size", choice.sizes, "sizes of the tensors: M=256,N=256")->delimiter(',');
  command.add_option("--set", choice.settings, "values of other symbols: BLOCK_M=64")->delimiter(',');
  command.add_option("--dynamic", choice.dynamic, "sizes that are known only at launch: M,N")->delimiter(',');
  command.add_option("--dtype", choice.dtype, "element types; see `soliton kernels`");
  command.add_option("--schedule", choice.schedule,
                     "auto, none, prefetch, ring, modulo, …, a shipped schedule, or a schedule file");
  command
      .add_option("--tuned", choice.tuned,
                  "what `--schedule auto` takes of `soliton tune`: measured on this device (the default), modelled "
                  "too, or off")
      ->check(CLI::IsMember({"measured", "modelled", "off"}));
  command.add_flag(
      "--faithful", choice.faithful,
      "of a declared pipeline (`soliton pipeline`): the program of its framework as it is, not a derived one");
  command.add_option("--waive", choice.waive, "accept what only latency protects in it, for this reason");
  command.add_option("--swizzle", choice.swizzle,
                     "on or off: chunks of shared rows change places against bank conflicts");
  command.add_option("--direct-copies", choice.directCopies,
                     "on or off: tiles go from global to shared memory past the registers");
  command.add_option("--staged-writes", choice.stagedWrites,
                     "on or off: results go to global memory through shared memory, in whole rows");
  command.add_option("--boxed-writes", choice.boxedWrites,
                     "on or off: staged results leave shared memory in boxes of their tensor, where the target can");
  command.add_option("--short-sums", choice.shortSums,
                     "on or off: sums of 8-bit floats stay in the few bits that a matrix instruction keeps of them");
  command
      .add_option("--raster", choice.raster,
                  "workgroups take tiles in bands of so many rows of tiles; of so many columns, if negative")
      ->check(CLI::Range(int64_t{-65535}, int64_t{65535}));
  command
      .add_option("--persistent", choice.persistent,
                  "a launch has so many workgroups at most, which take several tiles each")
      ->check(CLI::Range(int64_t{1}, int64_t{65535}));
  command
      .add_option("--service-waves", choice.serviceWaves,
                  "so many waves beside those that compute have boxes copied for them; 4 have registers to give")
      ->check(CLI::Range(int64_t{0}, int64_t{4}));
  command.add_option(
      "--overlap-tiles", choice.overlapTiles,
      "on or off: results of a tile leave while other waves compute the next; goes with --persistent and "
      "--service-waves");
  command.add_option(
      "--turns", choice.turns,
      "on or off: waves that issue matrix instructions together take turns at it in loops with other such "
      "teams");
  command.add_option("--dependent-launch", choice.dependentLaunch,
                     "on or off: a launch begins before those ahead of it have ended, and waits for what it needs of "
                     "them; those behind it may do so too");
  command
      .add_option("--stable", choice.stable,
                  "memories that no launch writes meanwhile, as weights, so that they need not be waited for: b,bias")
      ->delimiter(',');
  command.add_option("--cluster", choice.cluster, "so many workgroups sum each tile of a product together")
      ->check(CLI::Range(int64_t{2}, int64_t{16}));
  command
      .add_option(
          "--workgroups-per-cluster", choice.workgroupsPerCluster,
          "so many neighbours along the first dimension of the grid (2), or the second (1x2), copy tiles to each "
          "other; 1: none")
      ->delimiter('x')
      ->check(CLI::Range(int64_t{1}, int64_t{16}));
  command
      .add_option("--workgroups-per-unit", choice.workgroupsPerUnit,
                  "registers and rings of tiles leave room for so many workgroups in a compute unit at once")
      ->check(CLI::Range(int64_t{1}, int64_t{32}));
  command.add_option("--mma", choice.mma, "the matrix instruction of products that name none: F32_64x128x16_F16");
  command.add_option("--padded-rows", choice.paddedRows,
                     "on, off or auto: rows that are not aligned are copied to some that are before each launch");
  command.add_flag("--wide-offsets", choice.wideOffsets,
                   "dynamic sizes may place what a workgroup touches more than 2 GiB apart");
  command.add_flag("--json", choice.json, "one JSON object on standard output");
}

CLI::App *addTune(CLI::App &app, TuneCommand &tuning) {
  CLI::App *tuneApp = app.add_subcommand(
      "tune", "search tiles, instructions and schedules of a kernel; or list, show, best, export, import, verify");
  tuning.choice.schedule = "modulo";
  addChoice(*tuneApp, tuning.choice);
  tuneApp->add_option("about", tuning.about, "of `show` and `best`: a run; of `export` and `import`: a file");
  tuneApp->add_option("--space", tuning.space, "BLOCK_M=64,128, once for each name; auto (the default) or none");
  tuneApp->add_option("--where", tuning.where, "a formula of the space's numbers that must hold: 'BLOCK_M <= BLOCK_N'");
  tuneApp->add_option("--strategy", tuning.strategy, "random, hill_climbing, annealing, evolution or model");
  tuneApp->add_option("--budget", tuning.budget, "candidates of the space")->check(CLI::Range(1, 1000000));
  tuneApp->add_option("--moves", tuning.moves, "schedules of the best one's longest loop, by the model; 0: none")
      ->check(CLI::Range(0, 100000000));
  tuneApp->add_option("--patience", tuning.patience, "candidates without a better one after which it ends; 0: never")
      ->check(CLI::Range(int64_t{0}, int64_t{1000000}));
  tuneApp->add_option("--seed", tuning.seed, "of the search; with the same results it decides the same");
  tuneApp->add_option("--generation", tuning.generation, "candidates that are judged at once")
      ->check(CLI::Range(1, 4096));
  tuneApp->add_option(
      "--workers", tuning.workers,
      "processes that judge: 4 or local:4; 0: this one alone; ray://auto, ray://local, ray://HOST:PORT: "
      "those of a cluster");
  tuneApp->add_option("--timeout", tuning.timeout, "seconds that a candidate may take")
      ->check(CLI::Range(0.1, 86400.0));
  tuneApp->add_option("--device", tuning.device, "cuda, hip, emulator: measure there; otherwise times are modelled");
  tuneApp
      ->add_option(
          "--cache", tuning.cache,
          "what is timed finds its arguments in caches, warm (the default), or does not, cold; or both, of which "
          "the warm figure decides")
      ->check(CLI::IsMember({"warm", "cold", "both"}));
  tuneApp->add_option("--database", tuning.database, "where results are kept; else SOLITON_TUNE_DB, else in the cache");
  tuneApp->add_flag("--resume", tuning.resume, "go on with a run of these settings, which must be there");
  tuneApp->add_option("--html", tuning.html, "write a page: the best so far, all choices, what was refused");
  tuneApp->add_option("-o,--output", tuning.output, "write the winner's schedules, for --schedule");
  tuneApp->add_flag("--worker", tuning.isWorker, "judge candidates from standard input")->group("");
  tuneApp->footer("Without --device times are modelled; every text says so.\n\n"
                  "Examples:\n  soliton tune attention --target gfx942 --size Q=512,KV=512,D=64 --html attention.html\n"
                  "  soliton tune gemm --space BLOCK_M=64,128 --space BLOCK_N=64,128 --strategy model --budget 20\n"
                  "  soliton tune best attention --json");
  return tuneApp;
}

/// The message of the parser with the nearest legal word.
std::string explain(const CLI::ParseError &error, const CLI::App &app, const std::vector<std::string> &arguments) {
  std::vector<std::string> words;
  const CLI::App *command = &app;
  for (const CLI::App *sub : app.get_subcommands(nullptr)) {
    words.push_back(sub->get_name());
    if (!arguments.empty() && sub->get_name() == arguments.front())
      command = sub;
  }
  if (command != &app) {
    words.clear();
    for (const CLI::Option *option : command->get_options())
      if (!option->get_lnames().empty())
        words.push_back("--" + option->get_lnames().front());
  }
  std::string text = error.what();
  for (const std::string &argument : arguments) {
    std::string word = argument.substr(0, argument.find('='));
    bool isKnown = std::find(words.begin(), words.end(), word) != words.end();
    bool couldBeWord = command == &app || word.starts_with("--");
    if (isKnown || !couldBeWord)
      continue;
    text = unknown(command == &app ? "command" : "option", word, words);
    break;
  }
  return text;
}

int dispatch(const std::vector<std::string> &arguments, std::ostream &out, std::ostream &err) {
  CLI::App app(
      "Soliton compiles kernels of the Wave language for GPUs and runs them, on an emulator where there is none.\n",
      "soliton");
  app.require_subcommand(1);
  bool targetsJson = false, kernelsJson = false;
  CompileCommand compile;
  ScheduleCommand schedule;
  LayoutCommand layout;
  PipelineCommand pipeline;
  RunCommand run;
  BenchCommand bench;
  CacheCommand cache;
  TuneCommand tuning;

  CLI::App *targets = app.add_subcommand("targets", "what can be compiled for, and the devices of this machine");
  targets->add_flag("--json", targetsJson, "one JSON object on standard output");
  targets->footer("Examples:\n  soliton targets\n  soliton targets --json");

  CLI::App *kernelList = app.add_subcommand("kernels", "the kernels of the library, their sizes and element types");
  kernelList->add_flag("--json", kernelsJson, "one JSON object on standard output");
  kernelList->footer("Examples:\n  soliton kernels\n  soliton kernels --json");

  CLI::App *compileApp =
      app.add_subcommand("compile", "from a kernel, of the library or a file of your own, to any of its forms");
  addChoice(*compileApp, compile.choice);
  compileApp->add_option("--emit", compile.emit,
                         "wave, machine, llvm, asm, ptx, hsaco, cubin or image; plugin for a C++ file");
  compileApp->add_option("-o,--output", compile.output, "where to write it");
  compileApp->add_option("--aot", compile.aot,
                         "write to this folder what a program without a compiler needs: code, C header, manifest");
  compileApp->add_option("--print-after", compile.printAfter, "print the program after this pass, or after `all`");
  compileApp->add_option(
      "--explain", compile.explain,
      "layouts: what was chosen, what it costs, what came second; auto: what it took and passed over");
  compileApp->add_flag("--time", compile.time, "how long each step took");
  compileApp->footer("Examples:\n  soliton compile gemm --target gfx942 --emit hsaco -o gemm.hsaco\n"
                     "  soliton compile softmax.mlir --target sm_90a --emit ptx\n"
                     "  soliton compile mine.cpp --target sm_90a --dynamic M --aot shipped");

  CLI::App *scheduleApp = app.add_subcommand("schedule", "when the instructions of a kernel's loops run, and why");
  schedule.choice.schedule = "modulo";
  addChoice(*scheduleApp, schedule.choice);
  scheduleApp->add_option("--html", schedule.html, "write a page for a browser: the timeline and what it means");
  scheduleApp->add_option("--svg", schedule.svg, "write a still picture of the timeline, for documents");
  scheduleApp->add_option("--trace", schedule.trace, "write a trace for ui.perfetto.dev");
  scheduleApp->add_option("-o,--output", schedule.output,
                          "write the schedules of all loops, to be edited and given to --schedule: text, or JSON for "
                          ".json, or Wave's format for .wave");
  scheduleApp->add_option("--certificate", schedule.certificate, "write the proof that `exact` gives for its interval");
  scheduleApp->add_option("--check-certificate", schedule.check,
                          "check such a proof on its own, against the kernel's loop alone");
  scheduleApp->add_option("--diff", schedule.diff, "compare with this schedule file instead of printing the table");
  scheduleApp->footer("A kernel with several loops writes FILE, FILE-2, and so on; its schedules go to one file.\n\n"
                      "Examples:\n  soliton schedule gemm --target gfx942 --schedule prefetch --html gemm.html\n"
                      "  soliton schedule gemm --target gfx942 --schedule modulo -o modulo.schedule --json");

  CLI::App *layoutApp = app.add_subcommand("layout", "who holds which element: lane, register and wave");
  layout.choice.schedule = "none";
  addChoice(*layoutApp, layout.choice);
  layoutApp->add_option("instruction", layout.instruction,
                        "after `mma`: a matrix instruction of `soliton targets --json`");
  layoutApp->add_option("--value", layout.value, "the tag of an operation of the kernel");
  layoutApp->add_option("--svg", layout.svg, "write a picture, to standard output where no file is named")
      ->expected(0, 1)
      ->default_str("-");
  layoutApp->footer("Examples:\n  soliton layout mma F32_16x16x16_F16 --target gfx942 --svg mma.svg\n"
                    "  soliton layout gemm --value mma --target sm_90a --json");

  CLI::App *pipelineApp = app.add_subcommand("pipeline", "a declared software pipeline: its program and its proof");
  pipelineApp->add_option("name", pipeline.name, "pipeline4wave, ping_pong or single_buffer")->required();
  pipelineApp->add_option("--geometry", pipeline.geometry, "the workgroup's tile: BMxBNxBK");
  pipelineApp->add_option("--dtype", pipeline.dtype, "bf16, f16 or fp8");
  pipelineApp->add_option("--target", pipeline.target, "whose counters, widths and latencies: gfx950 or sm_90a");
  pipelineApp->add_option("--steps", pipeline.steps, "single_buffer: steps along K")->check(CLI::Range(1, 64));
  pipelineApp->add_flag("--faithful", pipeline.faithful,
                        "as the framework ships it, entry by entry, instead of derived");
  pipelineApp->add_option("--waive", pipeline.waive, "why hazards that only latency protects are accepted");
  pipelineApp->add_flag("--edges", pipeline.edges, "who depends on whom");
  pipelineApp->add_flag("--costs", pipeline.costs, "earliest and latest cycles, slack, the critical path");
  pipelineApp->add_option("--html", pipeline.html, "write a page for a browser: the timeline and what it means");
  pipelineApp->add_option("--svg", pipeline.svg, "write a still picture of the timeline, for documents");
  pipelineApp->add_option("--trace", pipeline.trace, "write a trace for ui.perfetto.dev");
  pipelineApp->add_flag("--json", pipeline.json, "one JSON object on standard output");
  pipelineApp->footer("Examples:\n  soliton pipeline pipeline4wave --geometry 128x128x64 --costs\n"
                      "  soliton pipeline ping_pong --target sm_90a --geometry 256x128x64\n"
                      "  soliton pipeline ping_pong --dtype fp8 --faithful --waive 'as shipped' --html page.html");

  CLI::App *runApp = app.add_subcommand("run", "compile, run and compare with an independent reference");
  addChoice(*runApp, run.choice);
  runApp->add_option("--device", run.device, "emulator, cuda, hip, cuda:1");
  runApp->add_option("--seed", run.seed, "of the inputs, and of the emulator's interleaving");
  runApp->add_option("--check", run.check, "on or off: the emulator judges every access");
  runApp->add_option("--in-place", run.inPlace, "OUTPUT=INPUT: pass one array for both, where the kernel allows it");
  runApp->add_option("--input", run.inputs, "a=a.npy: what an argument holds; drawn at random otherwise");
  runApp->add_option("--output", run.outputs, "c=c.npy: where an argument goes afterwards");
  runApp->footer("Examples:\n  soliton run gemm --target gfx942 --size M=256,N=256,K=256\n"
                 "  soliton run row_softmax --device cuda --dynamic M,N --json\n"
                 "  soliton run mine.cpp:scale --input x=x.npy --output y=y.npy");

  CLI::App *benchApp = app.add_subcommand("bench", "time a kernel on a device");
  addChoice(*benchApp, bench.choice);
  benchApp->add_option("--device", bench.device, "cuda, hip, emulator; the first GPU if none is named");
  benchApp->add_option("--repetitions", bench.repetitions, "samples to take the median of")
      ->check(CLI::Range(1, 100000));
  benchApp->footer(
      "Examples:\n  soliton bench gemm --device cuda --size M=4096,N=4096,K=4096\n  soliton bench copy --json");

  tuning.choice.schedule = "none";
  CLI::App *tuneApp = addTune(app, tuning);

  CLI::App *cacheApp = app.add_subcommand("cache", "the kernels that were compiled before");
  cacheApp->add_option("action", cache.action, "list, verify (what is damaged goes) or clear")
      ->required()
      ->check(CLI::IsMember({"list", "verify", "clear"}));
  cacheApp->add_flag("--json", cache.json, "one JSON object on standard output");
  cacheApp->footer(
      "They are in SOLITON_CACHE_DIR, else XDG_CACHE_HOME/soliton, else ~/.cache/soliton, and take at most\n"
      "SOLITON_CACHE_MIB (1024); SOLITON_CACHE=off compiles always.\n\n"
      "Examples:\n  soliton cache list\n  soliton cache verify --json");

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp &) {
    for (CLI::App *sub : app.get_subcommands())
      return out << sub->help(), 0;
    return out << app.help(), 0;
  } catch (const CLI::ParseError &error) {
    throw UsageError(explain(error, app, arguments));
  }
  if (targets->parsed())
    return listTargets(targetsJson, out);
  if (kernelList->parsed())
    return listKernels(kernelsJson, out);
  if (compileApp->parsed())
    return compileKernel(compile, out, err);
  if (scheduleApp->parsed())
    return showSchedule(schedule, out, err);
  if (layoutApp->parsed())
    return showLayout(layout, out, err);
  if (pipelineApp->parsed())
    return showPipeline(pipeline, out, err);
  if (runApp->parsed())
    return runKernel(run, out, err);
  if (tuneApp->parsed())
    return tuneKernel(tuning, out, err);
  if (cacheApp->parsed())
    return manageCache(cache, out);
  return benchKernel(bench, out, err);
}

} // namespace

int main(const std::vector<std::string> &arguments, std::ostream &out, std::ostream &err) {
  bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  try {
    return dispatch(arguments, out, err);
  } catch (const UsageError &error) {
    if (json)
      out << line({{"ok", false}, {"error", error.what()}});
    err << "soliton: error: " << error.what() << "\n";
  } catch (const CompileError &error) {
    return reportFailure(error.diagnostics(), json, out, err);
  } catch (const std::exception &error) {
    err << "soliton: error: " << error.what() << "\n";
  }
  return 2;
}

} // namespace soliton::cli
