// Errors as people read them: with the line of the file that they are about,
// and in colours where a terminal shows them.
//
// Threads: a pure function, but for the file that it reads.
#pragma once

#include <string>
#include <string_view>

namespace weft::cli {

// `message`, which is Error::what(), made printable. Behind the line that first
// names a place in a file, as "digits.toml:4:8", stands that line of the file,
// with marks below what is there. A file that cannot be read any more, or has
// no such place, is not shown.
std::string error_text(std::string_view message, bool in_colour);

}  // namespace weft::cli
