//===- CompileCache.cpp - Compiling twice is free -----------------------------------------===//

#include "soliton/driver/CompileCache.h"

#include "soliton/backend/Backend.h"

#include "llvm/IR/Verifier.h"
#include "llvm/Support/JSON.h"

#include <bit>
#include <elf.h>
#include <filesystem>
#include <link.h>

namespace soliton {

//===-- Builds ----------------------------------------------------------------------------===//

namespace {
struct BuildIdQuery {
  uintptr_t address = 0;
  std::optional<std::string> id;
};
} // namespace

/// The note of type NT_GNU_BUILD_ID in a segment of notes.
static std::optional<std::string> buildIdIn(llvm::StringRef notes) {
  auto padded = [](uint32_t size) { return (size + 3u) & ~3u; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof(note));
    llvm::StringRef owner = notes.substr(sizeof(note), note.n_namesz);
    llvm::StringRef value = notes.substr(sizeof(note) + padded(note.n_namesz), note.n_descsz);
    if (note.n_type == NT_GNU_BUILD_ID && owner == llvm::StringRef("GNU\0", 4))
      return value.str();
    notes = notes.substr(sizeof(note) + padded(note.n_namesz) + padded(note.n_descsz));
  }
  return std::nullopt;
}

static int visitObject(dl_phdr_info *info, size_t, void *data) {
  auto &query = *static_cast<BuildIdQuery *>(data);
  llvm::ArrayRef headers(info->dlpi_phdr, info->dlpi_phnum);
  auto holds = [&](const ElfW(Phdr) & header) {
    uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    return header.p_type == PT_LOAD && query.address >= begin && query.address < begin + header.p_memsz;
  };
  if (llvm::none_of(headers, holds))
    return 0;
  for (const ElfW(Phdr) &header : headers)
    if (header.p_type == PT_NOTE && !query.id)
      query.id = buildIdIn({std::bit_cast<const char *>(info->dlpi_addr + header.p_vaddr), header.p_memsz});
  return 1;
}

std::optional<std::string> buildIdAt(const void *address) {
  BuildIdQuery query{reinterpret_cast<uintptr_t>(address), std::nullopt};
  dl_iterate_phdr(visitObject, &query);
  return query.id;
}

/// This compiler's and LLVM's; nothing where the linker was told to leave them out.
static const std::optional<std::string> &compilerBuild() {
  static const std::optional<std::string> build = [] {
    auto ours = buildIdAt(reinterpret_cast<const void *>(&compileKey));
    auto theirs = buildIdAt(reinterpret_cast<const void *>(&llvm::verifyModule));
    return ours && theirs ? std::optional(*ours + *theirs) : std::nullopt;
  }();
  return build;
}

/// The assembler, by what a new one changes.
static std::string assemblerBuild() {
  std::optional<std::string> path = backend::findPtxas();
  std::error_code error;
  if (!path)
    return {};
  auto changed = std::filesystem::last_write_time(*path, error).time_since_epoch().count();
  return *path + ":" + std::to_string(std::filesystem::file_size(*path, error)) + ":" + std::to_string(changed);
}

static std::string joined(const std::vector<int64_t> &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += std::to_string(number) + ",";
  return text;
}

/// Unset is another choice than either: `auto` chooses then.
static int64_t numberOf(std::optional<bool> said) {
  return said ? int64_t{*said} : -1;
}

//===-- Keys ------------------------------------------------------------------------------===//

std::optional<rt::CacheKey> compileKey(std::string_view program, const CompileOptions &options, rt::ImageKind kind) {
  const sched::ScheduleRequest &schedule = options.schedule;
  bool leavesTexts = !options.keep.empty() || !options.printAfter.empty() || options.explainLayouts ||
                     options.countBankConflicts || schedule.reports || schedule.reportsNone;
  if (leavesTexts || schedule.written || schedule.hooks || !compilerBuild())
    return std::nullopt;
  return rt::KeyBuilder()
      .add("compiler", *compilerBuild())
      .add("assembler", kind == rt::ImageKind::cubin ? assemblerBuild() : "")
      .add("program", program)
      .add("kind", rt::name(kind))
      .add("schedule", schedule.name)
      .add("schedule file", schedule.file)
      .add("schedule file name", schedule.fileName)
      .add("strict", schedule.strict)
      .add("swizzle", schedule.placement.swizzle)
      .add("copies in order", schedule.placement.copiesInOrder)
      .add("direct copies", options.directCopies)
      .add("staged writes", options.stagedWrites)
      .add("boxed writes", options.boxedWrites)
      .add("raster", options.raster)
      .add("persistent", options.persistent)
      .add("service waves", options.serviceWaves.value_or(-1))
      .add("overlap tiles", numberOf(options.overlapTiles))
      .add("turns", numberOf(options.turns))
      .add("dependent launch", numberOf(options.dependentLaunch))
      .add("stable", listOf(options.stable))
      .add("cluster", options.cluster)
      .add("workgroups per cluster", joined(options.workgroupsPerCluster))
      .add("workgroups per unit", options.workgroupsPerUnit)
      .add("mma", options.mma)
      .add("short sums", options.shortSums)
      .add("padded rows", static_cast<int64_t>(options.paddedRows))
      .add("wide offsets", options.wideOffsets)
      .add("spills", options.allowSpills)
      .add("serialization", options.allowSerialization)
      .add("assembler", options.askAssembler)
      .add("place", options.place.file)
      .add("line", options.place.line)
      .add("column", options.place.column)
      .finish();
}

//===-- What is kept beside the image -----------------------------------------------------===//

static constexpr const char *kFindings = "compile.findings";

static llvm::json::Object toJson(const Place &place) {
  return llvm::json::Object{{"file", place.file}, {"line", place.line}, {"column", place.column}};
}

static llvm::json::Object toJson(const Diagnostic &diagnostic) {
  llvm::json::Array notes;
  for (const Note &note : diagnostic.notes)
    notes.push_back(llvm::json::Object{{"place", toJson(note.place)}, {"message", note.message}});
  return llvm::json::Object{{"severity", static_cast<int>(diagnostic.severity)},
                            {"id", std::string(idText(diagnostic.id))},
                            {"place", toJson(diagnostic.place)},
                            {"message", diagnostic.message},
                            {"hint", diagnostic.hint},
                            {"notes", std::move(notes)}};
}

static Place placeFrom(const llvm::json::Object *object) {
  if (!object)
    return {};
  auto number = [&](llvm::StringRef name) { return static_cast<int>(object->getInteger(name).value_or(0)); };
  return {object->getString("file").value_or("").str(), number("line"), number("column")};
}

static Diagnostic diagnosticFrom(const llvm::json::Object &object) {
  auto text = [&](llvm::StringRef name) { return object.getString(name).value_or("").str(); };
  auto severity = std::clamp<int64_t>(object.getInteger("severity").value_or(0), 0, static_cast<int>(Severity::remark));
  Diagnostic diagnostic{static_cast<Severity>(severity),
                        parseDiagId(text("id")).value_or(DiagId::ImageInvalid),
                        placeFrom(object.getObject("place")),
                        text("message"),
                        text("hint"),
                        {}};
  if (const llvm::json::Array *notes = object.getArray("notes"))
    for (const llvm::json::Value &note : *notes)
      if (const llvm::json::Object *each = note.getAsObject())
        diagnostic.notes.push_back(
            {placeFrom(each->getObject("place")), each->getString("message").value_or("").str()});
  return diagnostic;
}

rt::KernelImage withFindings(const CompileResult &result) {
  llvm::json::Array warnings;
  for (const Diagnostic &warning : result.warnings)
    warnings.push_back(toJson(warning));
  llvm::json::Object findings{{"warnings", std::move(warnings)},
                              {"vgprs", result.vgprs},
                              {"agprs", result.agprs},
                              {"sgprs", result.sgprs},
                              {"spill_bytes", result.spillBytes},
                              {"machine_ops", result.machineOps},
                              {"matrix_ops", result.matrixOps}};
  rt::KernelImage image = result.image;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(findings));
  image.metadata.emplace_back(kFindings, std::move(text));
  return image;
}

std::optional<CompileResult> fromFindings(rt::KernelImage image) {
  auto found = llvm::find_if(image.metadata, [](const auto &entry) { return entry.first == kFindings; });
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse(found == image.metadata.end() ? llvm::StringRef() : llvm::StringRef(found->second));
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *findings = parsed->getAsObject();
  if (!findings)
    return std::nullopt;
  image.metadata.erase(found);
  auto number = [&](llvm::StringRef name) { return findings->getInteger(name).value_or(0); };
  CompileResult result;
  if (const llvm::json::Array *warnings = findings->getArray("warnings"))
    for (const llvm::json::Value &warning : *warnings)
      if (const llvm::json::Object *each = warning.getAsObject())
        result.warnings.push_back(diagnosticFrom(*each));
  result.vgprs = static_cast<uint32_t>(number("vgprs"));
  result.agprs = static_cast<uint32_t>(number("agprs"));
  result.sgprs = static_cast<uint32_t>(number("sgprs"));
  result.spillBytes = static_cast<uint32_t>(number("spill_bytes"));
  result.machineOps = number("machine_ops");
  result.matrixOps = number("matrix_ops");
  result.image = std::move(image);
  result.isFromCache = true;
  return result;
}

} // namespace soliton
