//===- TestCli.h - Calling the command line in tests ---------------------------------------------===//
#pragma once

#include "tools/soliton/Cli.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace soliton::cli {

struct Said {
  int code = -1;
  std::string out, err;
  nlohmann::json parsed() const { return nlohmann::json::parse(out); }
};

inline Said soliton(const std::vector<std::string> &arguments) {
  std::ostringstream out, err;
  Said said;
  said.code = cli::main(arguments, out, err);
  said.out = out.str();
  said.err = err.str();
  return said;
}

/// A bad use: exit code 2, nothing on standard output, one message of one line with these words in it.
inline void expectUsage(const std::vector<std::string> &arguments, const std::vector<std::string> &words) {
  Said said = soliton(arguments);
  EXPECT_EQ(said.code, 2) << testing::PrintToString(arguments);
  EXPECT_EQ(said.out, "");
  EXPECT_TRUE(said.err.starts_with("soliton: error: ")) << said.err;
  EXPECT_EQ(std::ranges::count(said.err, '\n'), 1) << said.err;
  for (const std::string &word : words)
    EXPECT_NE(said.err.find(word), std::string::npos) << word << " in\n" << said.err;
  // The same as JSON for those who asked for it.
  std::vector<std::string> asked = arguments;
  asked.push_back("--json");
  Said machine = soliton(asked);
  EXPECT_EQ(machine.code, 2);
  ASSERT_TRUE(nlohmann::json::accept(machine.out)) << machine.out;
  EXPECT_EQ(machine.parsed().at("ok"), false);
  EXPECT_TRUE(machine.parsed().at("error").is_string());
}

class Cli : public testing::Test {
protected:
  Cli() : folder(std::filesystem::temp_directory_path() / ("soliton-cli-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder);
  }
  ~Cli() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return (folder / name).string(); }
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder;
};

} // namespace soliton::cli
