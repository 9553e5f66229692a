// What tests share that compile kernels and run them: the compiler's door, the library's kernels and the emulator.
#pragma once

#include "kernels/Kernels.h"
#include "soliton/driver/Compile.h"
#include "soliton/runtime/EmulatorDevice.h"
#include "soliton/target/Target.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
