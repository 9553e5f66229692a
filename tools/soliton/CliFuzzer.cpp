// Feeds command lines to the argument parser and the dispatcher. An input is a list of words, one per line; a line that
// is one byte names a word of the table below, so that commands are met often. The dispatcher must answer 0, 1 or 2,
// never crash and never throw.
//
// Kernels are made small, so that an execution stays short, and files are never written: the words of `-o` go.
#include "tools/soliton/Cli.h"

#include "kernels/Kernels.h"

#include <cstdlib>
#include <iostream>
#include <sstream>

using namespace soliton;

static const char *const kWords[] = {"run",
                                     "compile",
                                     "bench",
                                     "targets",
                                     "kernels",
                                     "copy",
                                     "transpose",
                                     "axpy",
                                     "gelu",
                                     "row_sum",
                                     "row_softmax",
                                     "gemm",
                                     "gemm_nn",
                                     "--target",
                                     "gfx942",
                                     "gfx950",
                                     "sm_90a",
                                     "--size",
                                     "M=1",
                                     "N=2,K=3",
                                     "M=7,N=5",
                                     "--set",
                                     "BLOCK_M=16",
                                     "BLOCK_N=64",
                                     "BLOCK_K=32",
                                     "--dynamic",
                                     "M",
                                     "M,N",
                                     "M,N,K",
                                     "--dtype",
                                     "f16",
                                     "bf16",
                                     "f8",
                                     "i8",
                                     "f32",
                                     "i32",
                                     "f16-f16",
                                     "--json",
                                     "--emit",
                                     "wave",
                                     "machine",
                                     "--print-after",
                                     "--explain",
                                     "layouts",
                                     "nothing",
                                     "--time",
                                     "--device",
                                     "emulator",
                                     "cuda",
                                     "--seed",
                                     "1",
                                     "--check",
                                     "--direct-copies",
                                     "schedule",
                                     "--schedule",
                                     "none",
                                     "prefetch",
                                     "modulo",
                                     "--diff",
                                     "on",
                                     "off",
                                     "--help",
                                     "-h",
                                     "--",
                                     "",
                                     "a.mlir",
                                     "--size=M=3",
                                     "--set=BLOCK_M=8",
                                     "--repetitions"};

static std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty() && words.size() < 24) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    words.push_back(line.size() == 1 ? kWords[static_cast<uint8_t>(line[0]) % std::size(kWords)] : std::string(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// Words that could name a file to write, or ask for a code object, which takes LLVM a tenth of a second.
static bool isUnwanted(const std::string &word) {
  return word.starts_with("-o") || word.starts_with("--o") || word.starts_with("--html") ||
         word.starts_with("--trace") || word.starts_with("--svg") || word.starts_with("--cert") ||
         (word.starts_with("-") && !word.starts_with("--") && word.find('o') != std::string::npos);
}

/// Small tiles and sizes behind what was said: the last one counts.
static void shrink(std::vector<std::string> &words) {
  const kernels::KernelEntry *entry = nullptr;
  for (const std::string &word : words)
    if (const kernels::KernelEntry *found = kernels::findKernel(word))
      entry = found;
  if (!entry)
    return;
  std::string sizes;
  for (const kernels::DefaultSize &size : entry->sizes)
    sizes += (sizes.empty() ? "" : ",") + size.name + "=" + std::to_string(1 + words.size() % 3);
  words.insert(words.end(), {"--size", sizes});
  if (entry->name.starts_with("gemm"))
    words.insert(words.end(), {"--set", "BLOCK_M=32,BLOCK_N=32"});
  else if (entry->name.starts_with("row"))
    words.insert(words.end(), {"--set", "BLOCK_M=4,BLOCK_N=64"});
  if (words.front() == "compile")
    words.insert(words.end(), {"--emit", words.size() % 2 ? "wave" : "machine"});
  if (words.front() == "bench")
    words.insert(words.end(), {"--device", "emulator", "--repetitions", "1"});
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<std::string> words = wordsOf({reinterpret_cast<const char *>(data), size});
  std::erase_if(words, isUnwanted);
  shrink(words);
  std::ostringstream out, err;
  int code = cli::main(words, out, err);
  bool said = code == 2 ? !err.str().empty() : !out.str().empty();
  if (code >= 0 && code <= 2 && code != 1 && said)
    return 0;
  for (const std::string &word : words)
    std::cerr << "`" << word << "` ";
  std::cerr << "\nexit code " << code << "\n" << out.str() << err.str();
  std::abort();
}
