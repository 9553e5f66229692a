//===- Cli.h - The command line as a function ------------------------------------------===//
//
//   cli::main({"run", "gemm", "--target", "gfx942", "--json"}, std::cout, std::cerr) == 0
//
// Exit codes: 0 done and right, 1 a wrong result, 2 bad use or a compile error. Nothing in here exits or throws, so
// that tests and fuzzers can call it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace soliton::cli {

int main(const std::vector<std::string> &arguments, std::ostream &out, std::ostream &err);

} // namespace soliton::cli
