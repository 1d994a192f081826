// weft train --help KEY: what a key of a recipe means and may be.
#pragma once

#include <string>

#include "cli/report.h"

#include "weft/base/option_schema.h"

namespace weft::cli {

// What may be called, and with which options.
Json entry_json(const EntryOptions& call);
// The options of `call`, a line each.
void print_options(const EntryOptions& call, int indent);

// `what` is a key ("train.batch", "codec"), a section ("train"), what a value
// may call ("qsgd", "all_reduce"), or "recipe" for all keys. Throws
// Error(kInvalidArgument) for others, with the nearest one.
void print_recipe_help(const std::string& what, bool as_json);

}  // namespace weft::cli
