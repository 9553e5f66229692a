// The command line; see Cli.h.
#include "tools/soliton/Cli.h"

#include <iostream>

int main(int argc, char **argv) {
  std::ios::sync_with_stdio(false);
  return soliton::cli::main({argv + 1, argv + argc}, std::cout, std::cerr);
}
