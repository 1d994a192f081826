// weft train --help KEY: what a key of a recipe means and may be.
#pragma once

#include <string>

namespace weft::cli {

// `what` is a key ("train.batch"), a section ("train"), or "recipe" for all.
// Throws Error(kInvalidArgument) for others, with the nearest one.
void print_recipe_help(const std::string& what, bool as_json);

}  // namespace weft::cli
