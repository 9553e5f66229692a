//===- EmulatorFuzz.cpp - libFuzzer target --------------------------------===//
//
// Any bytes: read, validated, run with a step limit. Built where SOLITON_FUZZ is on.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Machine.h"

using namespace soliton::emu;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    Program program = deserialize({data, size});
    if (!validate(program).empty() || program.numBuffers > 8 || program.waves > 8)
      return 0;
    std::vector<std::vector<uint8_t>> memory(program.numBuffers, std::vector<uint8_t>(777));
    LaunchConfig config;
    config.seed = size % 3;
    config.checks = size % 2 == 0;
    config.adversarial = size % 5 == 0;
    config.stepLimit = 2000;
    config.threads = 1;
    for (std::vector<uint8_t> &buffer : memory)
      config.buffers.push_back({buffer.data(), buffer.size()});
    config.scalars.resize(program.scalars.size(), 7);
    run(program, config);
  } catch (const ProgramError &) {
  }
  return 0;
}
