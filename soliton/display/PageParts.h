//===- PageParts.h - What Page.cpp puts together ---------------------------===//
#pragma once

#include "soliton/display/Summary.h"

namespace soliton::sched {

/// Style sheet and script, as they stand in the page.
extern const char *const kPageStyle;
extern const char *const kPageScript;

/// `<` and friends as entities.
std::string escapeHtml(std::string_view text);
/// The same for XML: names may hold anything, a file may not.
std::string escapeXml(std::string_view text);
/// A length; one decimal is a tenth of a pixel.
std::string num(double value);

/// Number of each op's tag, in the order of the source; colours go by it. -1: barriers, waits and hints have none.
std::vector<int> tagNumbers(const Problem &problem, std::vector<std::string> &tags);

/// What the script draws, as JSON that is safe inside a script element.
std::string pageData(const Picture &picture, const Summary &summary);

/// Sections of the page, as HTML.
std::string pageHead(const Picture &picture, const Summary &summary);
std::string pageTables(const Picture &picture, const Summary &summary);

} // namespace soliton::sched
