// What the terminal can show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::cli {

bool is_terminal(int descriptor);
// What --color says. It is said once, before anything is printed.
enum class Colours { kAuto, kAlways, kNever };
void choose_colours(Colours choice);
// As was chosen; by itself, for a terminal that shows colours, whose user has
// not said otherwise by NO_COLOR (no-color.org).
bool has_colours(int descriptor);
// Columns of standard error's terminal; 80 when it has none.
int terminal_width();

// "██████████░░░░░░░░░░" for a half.
std::string bar(double share);
// At most so many characters of `text`, at least one; an ellipsis stands for
// what is left out.
std::string cut_to(std::string_view text, std::size_t columns);

// "1,437".
std::string grouped(std::int64_t number);
// "0:07", "12:40", "1:02:03".
std::string clock_time(double seconds);
// "7.4 s" below a minute, then as clock_time().
std::string duration_text(double seconds);
// "38.2 KB", "1.4 MB".
std::string bytes_text(double bytes);
// `text` with everything escaped that could steer a terminal or is no UTF-8:
// messages quote names from files that anybody may have written.
std::string printable(std::string_view text);
// `text` in quotes for a shell if it needs them.
std::string shell_word(const std::string& text);

}  // namespace weft::cli
