//===- Hsaco.cpp - AMD code objects: linked, read --------------------------------===//

#include "soliton/backend/amd/Hsaco.h"

#include "soliton/backend/common/Codegen.h"

#include "lld/Common/Driver.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

namespace soliton::backend {

std::string linkHsaco(const std::string &object, std::string &error) {
  llvm::SmallString<128> input, output;
  int descriptor = -1;
  if (auto code = llvm::sys::fs::createTemporaryFile("soliton", "o", descriptor, input)) {
    error = "no temporary file: " + code.message();
    return {};
  }
  llvm::FileRemover removeInput(input);
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << object;
    stream.close();
    // Left for the stream's end, an error (a full disk) would be that of the process.
    if (stream.has_error()) {
      error = "a temporary file can't be written: " + stream.error().message();
      stream.clear_error();
      return {};
    }
  }
  if (auto code = llvm::sys::fs::createTemporaryFile("soliton", "hsaco", output)) {
    error = "no temporary file: " + code.message();
    return {};
  }
  llvm::FileRemover removeOutput(output);
  llvm::raw_string_ostream messages(error);
  const char *args[] = {"ld.lld", "-shared", "--no-undefined", "--threads=1", input.c_str(), "-o", output.c_str()};
  int code;
  {
    std::unique_lock linking(optionsMutex()); // lld keeps its state in globals
    code = lld::lldMain(args, messages, messages, {{lld::Gnu, &lld::elf::link}}).retCode;
    applyOptions();
  }
  auto result = llvm::MemoryBuffer::getFile(output);
  if (code != 0 || !result) {
    if (error.empty())
      error = "code " + std::to_string(code);
    return {};
  }
  return (*result)->getBuffer().str();
}

//===-- Metadata ------------------------------------------------------------------===//

namespace {
/// A map of the metadata with defaults for what is absent or of another type.
struct Fields {
  llvm::msgpack::MapDocNode map;

  llvm::msgpack::DocNode *find(llvm::StringRef key) {
    auto entry = map.find(key);
    return entry == map.end() ? nullptr : &entry->second;
  }
  uint32_t number(llvm::StringRef key) {
    llvm::msgpack::DocNode *node = find(key);
    if (node && node->getKind() == llvm::msgpack::Type::UInt)
      return static_cast<uint32_t>(node->getUInt());
    if (node && node->getKind() == llvm::msgpack::Type::Int)
      return static_cast<uint32_t>(node->getInt());
    return 0;
  }
  std::string text(llvm::StringRef key) {
    llvm::msgpack::DocNode *node = find(key);
    return node && node->isString() ? node->getString().str() : std::string();
  }
};
} // namespace

static HsacoKernel readKernel(Fields fields) {
  HsacoKernel kernel;
  kernel.name = fields.text(".name");
  kernel.kernargBytes = fields.number(".kernarg_segment_size");
  kernel.kernargAlignment = fields.number(".kernarg_segment_align");
  kernel.groupBytes = fields.number(".group_segment_fixed_size");
  kernel.privateBytes = fields.number(".private_segment_fixed_size");
  kernel.vgprs = fields.number(".vgpr_count");
  kernel.agprs = fields.number(".agpr_count");
  kernel.sgprs = fields.number(".sgpr_count");
  kernel.vgprSpills = fields.number(".vgpr_spill_count");
  kernel.sgprSpills = fields.number(".sgpr_spill_count");
  kernel.waveSize = fields.number(".wavefront_size");
  kernel.maxThreads = fields.number(".max_flat_workgroup_size");
  llvm::msgpack::DocNode *args = fields.find(".args");
  if (!args || !args->isArray())
    return kernel;
  for (llvm::msgpack::DocNode &node : args->getArray()) {
    if (!node.isMap())
      continue;
    Fields argument{node.getMap()};
    kernel.arguments.push_back(
        {argument.text(".name"), argument.text(".value_kind"), argument.number(".offset"), argument.number(".size")});
  }
  return kernel;
}

static std::optional<HsacoKernel> readNote(llvm::StringRef blob, std::string &error) {
  llvm::msgpack::Document document;
  if (!document.readFromBlob(blob, /*Multi=*/false) || !document.getRoot().isMap()) {
    error = "its metadata note is damaged";
    return std::nullopt;
  }
  Fields root{document.getRoot().getMap()};
  llvm::msgpack::DocNode *kernels = root.find("amdhsa.kernels");
  if (!kernels || !kernels->isArray() || kernels->getArray().size() != 1 || !kernels->getArray()[0].isMap()) {
    error = "its metadata does not describe exactly one kernel";
    return std::nullopt;
  }
  HsacoKernel kernel = readKernel({kernels->getArray()[0].getMap()});
  kernel.target = root.text("amdhsa.target");
  return kernel;
}

std::optional<HsacoKernel> readHsaco(const std::string &hsaco, std::string &error) {
  auto file = llvm::object::ELFObjectFile<llvm::object::ELF64LE>::create(llvm::MemoryBufferRef(hsaco, "hsaco"));
  if (!file) {
    error = llvm::toString(file.takeError());
    return std::nullopt;
  }
  const auto &elf = file->getELFFile();
  auto headers = elf.program_headers();
  if (!headers) {
    error = llvm::toString(headers.takeError());
    return std::nullopt;
  }
  for (const auto &header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE)
      continue;
    llvm::Error noteError = llvm::Error::success();
    for (const auto &note : elf.notes(header, noteError))
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA) {
        llvm::consumeError(std::move(noteError));
        return readNote(note.getDescAsStringRef(4), error);
      }
    if (noteError) {
      error = llvm::toString(std::move(noteError));
      return std::nullopt;
    }
  }
  error = "it has no metadata note";
  return std::nullopt;
}

} // namespace soliton::backend
