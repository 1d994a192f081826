// Products of matrices of small integers by oneDNN, where the processor has
// instructions for them.
#include <optional>

#include "weft/kernels/cpu/product.h"
#include "weft/kernels/onednn/integers.h"
#include "weft/kernels/onednn/matrix.h"

namespace weft {
namespace {

std::optional<std::string> integer_matmul_declines(const OpCall& call) {
  if (auto reason = onednn::integers_declined()) return reason;
  if (Product(call).is_empty()) return "an operand is empty";
  return std::nullopt;
}

std::unique_ptr<PreparedKernel> prepare_integer_matmul(const OpCall& call) {
  using onednn::Slot;
  const Product product(call);
  const int rank = product.y.shape.rank();
  const auto a = onednn::matrix(product.a, rank, product.transpose_a);
  const auto b = onednn::matrix(product.b, rank, product.transpose_b);
  const auto y = onednn::matrix(product.y, rank);
  const auto description =
      onednn::describe<dnnl::matmul>(onednn::attributes(), a, b, y);
  auto program = std::make_unique<onednn::Program>();
  program->add(dnnl::matmul(description), description.scratchpad_desc(),
               {{DNNL_ARG_SRC, a, Slot::input(0)},
                {DNNL_ARG_WEIGHTS, b, Slot::input(1)},
                {DNNL_ARG_DST, y, Slot::output(0)}});
  return program;
}

}  // namespace

void register_library_integer_matmul(KernelRegistry& kernels) {
  kernels.add({.op = "integer_matmul",
               .name = "onednn:matmul",
               .rank = 20,
               .declines = integer_matmul_declines,
               .prepare = prepare_integer_matmul});
}

}  // namespace weft
