//===- Aot.cpp - soliton compile --aot: a kernel for programs that have no compiler ---------------===//
//
// Leaves in a folder: NAME.kernel, which soliton/runtime/launch.h opens; NAME.emulated.kernel, the same for the
// emulator; the code itself (NAME.hsaco, NAME.ptx or NAME.cubin); NAME.h, a C function with the kernel's arguments;
// NAME.json, the manifest.
//
//===----------------------------------------------------------------------===//

#include "soliton/runtime/LaunchHeader.h"
#include "tools/soliton/Commands.h"

#include <filesystem>

namespace soliton::cli {

static rt::ImageKind kindFor(const CompileCommand &command, const std::string &name) {
  const Target *target = findTarget(name);
  bool isAmd = target && target->vendor == Vendor::amd;
  if (command.emit.empty())
    return isAmd ? rt::ImageKind::hsaco : rt::ImageKind::ptx;
  for (rt::ImageKind kind : {rt::ImageKind::hsaco, rt::ImageKind::ptx, rt::ImageKind::cubin})
    if (command.emit == rt::name(kind))
      return kind;
  throw UsageError("found `--aot` with `--emit " + command.emit + "`, expected `hsaco`, `ptx`, `cubin` or no `--emit`");
}

static std::string plain(const std::vector<std::byte> &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

int compileAot(const CompileCommand &command, std::ostream &out, std::ostream &err) {
  namespace fs = std::filesystem;
  Resolved resolved = resolve(command.choice, err);
  resolved.options.askAssembler = true; // what ships is launched where nobody looks
  auto compile = [&](const ImageChoice &kind) { return compileResolved(resolved, kind, /*isKept=*/false); };
  CompileAttempt gpu = compile([&](const std::string &target) { return kindFor(command, target); });
  if (!gpu)
    return reportFailure(gpu.diagnostics, command.choice.json, out, err);
  CompileAttempt emulated = compile([](const std::string &) { return rt::ImageKind::emulator; });
  if (!emulated)
    return reportFailure(emulated.diagnostics, command.choice.json, out, err);
  std::erase_if(gpu.result->warnings, [](const Diagnostic &said) { return said.id == DiagId::AutoChoice; });
  err << format(gpu.result->warnings);
  const rt::KernelImage &image = gpu.result->image;
  std::string name = rt::cName(image.kernel), stem = (fs::path(command.aot) / name).string();
  std::error_code error;
  fs::create_directories(command.aot, error);
  rt::writeImage(stem + ".kernel", image);
  rt::writeImage(stem + ".emulated.kernel", emulated.result->image);
  std::vector<std::string> files{stem + ".kernel", stem + ".emulated.kernel"};
  auto write = [&](const std::string &path, const std::string &text) {
    writeFile(path, text);
    files.push_back(path);
  };
  write(stem + "." + std::string(rt::name(image.kind)), plain(image.code));
  for (size_t step = 0; step < image.further.size(); ++step)
    if (!image.further[step].code.empty())
      write(stem + "-" + std::to_string(step + 2) + "." + std::string(rt::name(image.kind)),
            plain(image.further[step].code));
  write(stem + ".h", rt::printLaunchHeader(image));
  write(stem + ".json", rt::manifest(image) + "\n");
  if (command.choice.json) {
    out << line({{"ok", true}, {"kernel", command.choice.kernel}, {"target", image.target}, {"files", files}});
    return 0;
  }
  for (const std::string &file : files)
    out << "wrote " << file << "\n";
  return 0;
}

} // namespace soliton::cli
