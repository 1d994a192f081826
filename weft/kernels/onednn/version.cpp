#include "weft/kernels/onednn/version.h"

#include <dnnl.hpp>
#include <fmt/core.h>

namespace weft::onednn {

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

}  // namespace weft::onednn
