// Texts that have the form of a feature's domain, for programs to be tried on.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "weft/validation/schema.h"

namespace weft::validation {

// Times, images or sentences, the plainest first; the domain must be one of
// these. Images that have bounds are PNG files of 8 bits at the edges of what
// they allow, of 256 pixels a side where there is no upper bound.
// Throws Error(kUnsupported) where the bounds allow no such image.
std::vector<std::string> formed_examples(const FeatureRule& rule);

}  // namespace weft::validation
