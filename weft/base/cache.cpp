#include "weft/base/cache.h"

#include <cstdlib>

namespace weft {
namespace {

std::filesystem::path folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::filesystem::path() : value;
}

}  // namespace

std::filesystem::path cache_folder() {
  // A folder of Weft's own comes before the one that all programs share.
  if (auto own = folder_from("WEFT_CACHE"); !own.empty()) return own;
  if (auto xdg = folder_from("XDG_CACHE_HOME"); !xdg.empty()) {
    return xdg / "weft";
  }
  const auto home = folder_from("HOME");
  return home.empty() ? home : home / ".cache" / "weft";
}

}  // namespace weft
