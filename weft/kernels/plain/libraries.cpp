// What weft_core has in the place of libraries: their names, and why they
// compute nothing, so that a plan says which of its steps would be faster in
// weft.
#include "weft/kernels/cpu/libraries.h"

#include <array>
#include <optional>

namespace weft {
namespace {

constexpr std::array kOpsOfLibraries = {"matmul",
                                        "conv2d",
                                        "conv2d_input_gradient",
                                        "conv2d_weight_gradient",
                                        "integer_matmul",
                                        "integer_conv2d",
                                        "lstm",
                                        "lstm_gradient",
                                        "gru",
                                        "gru_gradient",
                                        "qr",
                                        "eigh",
                                        "svd"};

std::optional<std::string> is_missing(const OpCall&) {
  return "weft_core is built without oneDNN, OpenBLAS and LAPACK";
}

}  // namespace

const KernelRegistry& library_kernel_registry() {
  static const KernelRegistry filled = [] {
    KernelRegistry kernels;
    for (const char* op : kOpsOfLibraries) {
      kernels.add(
          {.op = op, .name = "libraries", .rank = 20, .declines = is_missing});
    }
    kernels.freeze();
    return kernels;
  }();
  return filled;
}

std::string kernel_libraries() { return "no libraries"; }

}  // namespace weft
