// Which LAPACK factors matrices, for people. What it is was decided when Weft
// was built (kernels/libraries.cmake): one of the files beside this one is
// linked.
#pragma once

#include <string>

namespace weft {

std::string lapack_library();  // "OpenBLAS 0.3.21", "LAPACK 3.11.0"

}  // namespace weft
