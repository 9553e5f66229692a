//===- Text.h - What the printer and the parser agree on -------------------===//
#pragma once

#include "soliton/symbolic/Expr.h"

namespace soliton::sym::detail {

/// Longer texts are neither printed nor read.
inline constexpr size_t maxTextSize = 1 << 18;
/// Brackets and prefix operators nest at most this deep.
inline constexpr unsigned maxNesting = 200;

bool isNameCharacter(char c, bool first);
/// A name that is written without backquotes.
bool isPlainName(std::string_view text);

} // namespace soliton::sym::detail
