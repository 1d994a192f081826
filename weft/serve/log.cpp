#include "weft/serve/log.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/chrono.h>

namespace weft::serve {

void write_log(std::string_view text) {
  const auto now = std::chrono::floor<std::chrono::seconds>(
      std::chrono::system_clock::now());
  // Messages quote names from files, which may hold what steers a terminal.
  std::string plain(text);
  std::ranges::replace_if(
      plain, [](unsigned char c) { return (c < 32 && c != '\n') || c == 127; },
      '?');
  // One call, so that lines of several threads do not mix. A full disk, or a
  // reader that is gone, is no reason to stop serving, and there is nowhere
  // else to tell it.
  const std::string line = fmt::format("{:%FT%TZ} {}\n", now, plain);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace weft::serve
