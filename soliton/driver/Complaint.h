//===- Complaint.h - For tests: what a call says when it is wrong -------------------===//
#pragma once

#include "soliton/support/Diagnostics.h"

#include "gtest/gtest.h"

#include <functional>

namespace soliton {

/// The text of everything that is wrong; empty if nothing is.
inline std::string complaint(const std::function<void()> &call) {
  try {
    call();
  } catch (const CompileError &error) {
    return error.what();
  }
  return "";
}

inline void expectIn(const std::string &text, std::initializer_list<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

} // namespace soliton
