// What a schema must say so that an example is no longer allowed.
//
// Threads: pure functions, but for what they call.
#pragma once

#include <functional>

#include "weft/validation/examples.h"

namespace weft::validation {

// A value that nobody has trouble with, as far as the rule allows one: 1, the
// first value that is listed, "a"; as few of them as may be, but one.
ExampleItem plain_item(const Schema& schema, const FeatureRule& rule);

// Tightens `rule` by the smallest edit that excludes `item`, by asking which
// other values fail, too. Where no rule of schemas would exclude it alone, as
// of a text that is not listed, it stays as it is.
void exclude(const Schema& schema, FeatureRule& rule,
             const std::optional<ExampleItem>& item,
             const std::function<bool(const ExampleItem&)>& fails);

}  // namespace weft::validation
