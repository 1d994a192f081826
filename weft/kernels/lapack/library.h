// Which LAPACK factors matrices, for people. What it is was decided when Weft
// was built (kernels/libraries.cmake): one of the files beside this one is
// linked.
#pragma once

#include <string>

namespace weft {

// "OpenBLAS 0.3.21 SkylakeX", with the processor whose code it runs; "LAPACK
// 3.11.0".
std::string lapack_library();

}  // namespace weft
