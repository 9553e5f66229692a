// What tests of layers with MLIR share.
#pragma once

#include "cmake/MlirPch.h"

#include <gtest/gtest.h>
#include <sstream>
