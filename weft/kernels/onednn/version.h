// Which oneDNN runs, for people.
#pragma once

#include <string>

namespace weft::onednn {

std::string version();  // "2.6.3"

}  // namespace weft::onednn
