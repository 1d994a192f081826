#include "weft/kernels/libraries/matmul.h"

#include <optional>

#include "weft/kernels/cpu/product.h"
#include "weft/kernels/onednn/matrix.h"
#include "weft/kernels/onednn/program.h"

namespace weft {
namespace {

using dnnl::memory;
using onednn::Slot;

std::optional<std::string> matmul_declines(const OpCall& call) {
  if (auto reason = onednn::dtype_declined(call.input(0).dtype)) return reason;
  const Product product(call);
  if (product.is_empty()) return "an operand is empty";
  return std::nullopt;
}

}  // namespace

std::unique_ptr<PreparedKernel> prepare_library_matmul(const OpCall& call) {
  const Product product(call);
  const int rank = product.y.shape.rank();
  const auto a = onednn::matrix(product.a, rank, product.transpose_a);
  const auto b = onednn::matrix(product.b, rank, product.transpose_b);
  // Weights that never change may lie as oneDNN likes it best.
  const bool is_free = rank == 2 && call.known_input(1) != nullptr;
  const auto weights =
      is_free ? onednn::any_layout(product.b.dtype, {product.k(), product.n()})
              : b;
  const auto y = onednn::matrix(product.y, rank);
  const auto attr = onednn::attributes();
  auto program = std::make_unique<onednn::Program>();
  std::vector<onednn::Argument> arguments = {
      {DNNL_ARG_SRC, a, Slot::input(0)}, {DNNL_ARG_DST, y, Slot::output(0)}};
  const auto add = [&](const auto& description) {
    const auto& layout = description.weights_desc();
    arguments.push_back(
        {DNNL_ARG_WEIGHTS, layout, program->in_layout(call, 1, b, layout)});
    program->add(dnnl::matmul(description), description.scratchpad_desc(),
                 arguments);
  };
  if (product.has_bias) {
    // oneDNN wants a bias of the rank of the result, which is 1 in all but the
    // last dim.
    memory::dims dims(static_cast<std::size_t>(rank), 1);
    dims.back() = product.n();
    const auto bias = onednn::dense(call.input(2).dtype, dims);
    arguments.push_back({DNNL_ARG_BIAS, bias, Slot::input(2)});
    add(onednn::describe<dnnl::matmul>(attr, a, weights, bias, y));
  } else {
    add(onednn::describe<dnnl::matmul>(attr, a, weights, y));
  }
  if (product.is_relu) program->end_with_relu(product.y);
  return program;
}

void register_library_matmul(KernelRegistry& kernels) {
  kernels.add({.op = "matmul",
               .name = "onednn:matmul",
               .rank = 10,
               .declines = matmul_declines,
               .prepare = prepare_library_matmul,
               .competes = true});
}

}  // namespace weft
