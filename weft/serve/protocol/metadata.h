// What a model takes and returns, as the protocol says it.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "weft/serve/served_model.h"

namespace weft::serve {

// {"name": …, "versions": […], "platform": …, "inputs": […], "outputs": […]}.
std::string metadata_json(const ServedModel& model);

// Sizes, and -1 for what the request decides.
std::vector<std::int64_t> protocol_shape(const Shape& shape);

}  // namespace weft::serve
