#include <cblas.h>

#include "weft/kernels/lapack/library.h"

namespace weft {

std::string lapack_library() {
  // It begins with "OpenBLAS 0.3.21 " and goes on with how it was built.
  const std::string openblas = openblas_get_config();
  const std::size_t name_end = openblas.find(' ');
  return openblas.substr(0, openblas.find(' ', name_end + 1));
}

}  // namespace weft
