// Lines on standard error that say what the server does, with the time of day.
//
// Threads: thread-safe; a line is written as a whole.
// Errors:  none; a line that cannot be written is lost.
#pragma once

#include <fmt/core.h>
#include <string>
#include <string_view>

namespace weft::serve {

void write_log(std::string_view text);

template <class... Args>
void log(fmt::format_string<Args...> format, Args&&... args) {
  write_log(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace weft::serve
