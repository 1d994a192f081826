#include "weft/kernels/onednn/gemm.h"

#include <oneapi/dnnl/dnnl.h>

#include "weft/base/error.h"
#include "weft/kernels/onednn/processor.h"

namespace weft::onednn {

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
          const Matrix& b, float beta, float* c, std::int64_t c_stride) {
  // oneDNN takes the limit only before its first use, which may be this.
  obey_instruction_set();
  const dnnl_status_t status =
      dnnl_sgemm(a.transpose ? 'T' : 'N', b.transpose ? 'T' : 'N', m, n, k, 1.f,
                 a.data, a.stride, b.data, b.stride, beta, c, c_stride);
  WEFT_CHECK(status == dnnl_success, "oneDNN status {}",
             static_cast<int>(status));
}

}  // namespace weft::onednn
