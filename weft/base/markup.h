// Text that anybody may have written, within a page or a picture.
//
// Threads: a pure function.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// `text` for HTML and XML, also within the quotes of an attribute: nothing of
// it is taken for markup. Control characters that XML has not become '?'.
std::string markup_text(std::string_view text);

}  // namespace weft
