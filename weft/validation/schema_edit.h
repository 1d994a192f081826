// Changes the text of a schema where the schema has changed, and nowhere else:
// comments, blank lines and the order of what people have written stay.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "weft/validation/schema_text.h"

namespace weft::validation {

// `text` with what it takes to say `to`. What is behind a key that is dropped
// on its line goes with it. Throws as parse_schema() does, and
// Error(kUnsupported) for tables that are written inline, which have no lines
// to put keys on.
std::string edit_schema(std::string_view text, std::string_view where,
                        const Schema& to);

}  // namespace weft::validation
