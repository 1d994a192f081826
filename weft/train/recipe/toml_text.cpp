#include "weft/train/recipe/toml_text.h"

#include "weft/base/error.h"

namespace weft {

toml::table parse_toml(std::string_view text, std::string_view where) {
  try {
    return toml::parse(text, where);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}:{}:{}", where, error.source().begin.line,
                            error.source().begin.column),
                std::string(error.description()));
  }
}

}  // namespace weft
