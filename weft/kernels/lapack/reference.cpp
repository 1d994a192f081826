// LAPACK as its authors publish it, with the BLAS of its definition: large
// matrices take longer to be factored than by OpenBLAS.
#include <fmt/core.h>
#include <lapack.h>

#include "weft/kernels/lapack/library.h"

namespace weft {

std::string lapack_library() {
  lapack_int major = 0, minor = 0, patch = 0;
  LAPACK_ilaver(&major, &minor, &patch);
  return fmt::format("LAPACK {}.{}.{}", major, minor, patch);
}

}  // namespace weft
