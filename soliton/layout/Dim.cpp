#include "soliton/layout/Dim.h"

#include <mutex>
#include <set>

namespace soliton {

static const std::string *intern(std::string_view name) {
  // Never destroyed: handles may outlive static destruction.
  static std::mutex &lock = *new std::mutex;
  static auto &names = *new std::set<std::string, std::less<>>;
  std::lock_guard guard(lock);
  auto found = names.find(name);
  if (found == names.end())
    found = names.emplace(name).first;
  return &*found;
}

Dim::Dim(std::string_view name) : text(intern(name)) {}

static bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

bool isDimName(std::string_view name) {
  if (name.empty() || name == "_" || !isNameStart(name.front()))
    return false;
  for (char c : name)
    if (!isNameStart(c) && !(c >= '0' && c <= '9'))
      return false;
  return true;
}

} // namespace soliton
