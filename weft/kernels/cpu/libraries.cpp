// Enters what libraries compute among the candidates.
#include "weft/kernels/cpu/libraries.h"

namespace weft {

void register_cpu_libraries(KernelRegistry& kernels) {
  kernels.add_from(library_kernel_registry());
}

}  // namespace weft
