// Which texts are images: files in base64 (RFC 4648), as tables and JSON hold
// them, also as a URL ("data:image/png;base64,…", RFC 2397).
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::validation {

// "png", "jpeg", "gif", "bmp", "webp".
const std::vector<std::string>& image_formats();

// The place in image_formats() of what the text begins as, or their number.
// What is behind the file's signature is not looked at.
std::size_t image_format_of(std::string_view text);

// The file in a text that image_format_of() knows; as far as it is base64.
std::string image_file_of(std::string_view text);
// A file as such a text.
std::string image_text_of(std::string_view file);

// An image of one pixel in a format, as a text.
std::string_view pixel_text(std::string_view format);

}  // namespace weft::validation
