#include "weft/kernels/onednn/version.h"

#include <fmt/core.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace weft::onednn {

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

}  // namespace weft::onednn
