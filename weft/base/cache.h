// Where Weft keeps what it can get or find out again.
//
// Threads: pure functions.
#pragma once

#include <filesystem>

namespace weft {

// WEFT_CACHE, else weft/ in XDG_CACHE_HOME, else ~/.cache/weft. It need not
// exist. Empty where the environment names no folder at all.
std::filesystem::path cache_folder();

}  // namespace weft
