// What tests of layers without MLIR share.
#pragma once

#include "cmake/PlainPch.h"

#include <gtest/gtest.h>
