// LAPACK as its authors publish it, with the BLAS of its definition: large
// matrices take longer to be factored than by OpenBLAS.
#include <fmt/core.h>
#include <lapack.h>
#include <string_view>

#include "weft/base/error.h"
#include "weft/kernels/lapack/library.h"

namespace weft {

std::string lapack_library() {
  lapack_int major = 0, minor = 0, patch = 0;
  LAPACK_ilaver(&major, &minor, &patch);
  return fmt::format("LAPACK {}.{}.{}", major, minor, patch);
}

}  // namespace weft

// LAPACK calls this where an argument has a value that it may not have, which
// is a defect of ours. Its own function ends the process, and prints by
// Fortran's library, which nothing else needs.
extern "C" [[gnu::visibility("hidden")]] void xerbla_(
    const char* routine, const lapack_int* argument, std::size_t length) {
  WEFT_CHECK(false, "argument {} of {}", *argument,
             std::string_view(routine, length));
}
