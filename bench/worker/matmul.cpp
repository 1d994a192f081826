// weft-bench matmul: a staged product of two matrices.
#include "weft/ops/matmul.h"

#include <algorithm>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/base/philox.h"
#include "weft/graph/builder.h"
#include "weft/ops/unary.h"
#include "weft/runtime/executable.h"

namespace weft::bench {
namespace {

Value random_matrix(DType dtype, const Shape& shape, std::uint32_t stream) {
  const Tensor matrix = Tensor::empty({DType::kF32, shape});
  const RandomStream random{1, stream, 0};
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(matrix.size());
       ++i) {
    matrix.data<float>()[i] = uniform_from(random.word(i));
  }
  return cast(Value(matrix), dtype);
}

}  // namespace

void race_matmul(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const std::int64_t rows = options.integer("rows");
  const std::int64_t inner = options.integer("inner");
  const std::int64_t columns = options.integer("columns");
  const std::int64_t steps = options.integer("steps");
  // The right operand lies in memory as its transpose does.
  const bool is_transposed = options.values.contains("transposed") &&
                             options.text("transposed") == "true";
  const DType dtype =
      dtype_from_string(options.text("dtype")).value_or(DType::kF32);
  const std::vector<Tensor> arguments{
      random_matrix(dtype, {rows, inner}, 1).tensor(),
      random_matrix(
          dtype, is_transposed ? Shape{columns, inner} : Shape{inner, columns},
          2)
          .tensor()};

  FunctionBuilder builder("matmul");
  const Value a = builder.parameter(arguments[0].type(), "a");
  const Value b = builder.parameter(arguments[1].type(), "b");
  Executable product(builder.build([&] {
    return std::vector{matmul(a, b, {.transpose_b = is_transposed})};
  }));
  const std::vector<Tensor> results{Tensor::zeros({dtype, {rows, columns}})};

  const auto check = [&] {
    product.run(arguments, results);
    Json values = Json::array();
    for (std::int64_t i = 0; i < std::min<Dim>(5, results[0].size()); ++i) {
      values.push_back(results[0].item(i));
    }
    return Json{{"values", values}};
  };
  const auto block = [&] {
    for (std::int64_t i = 0; i < steps; ++i) product.run(arguments, results);
    return steps * 2 * rows * inner * columns;
  };
  serve({{"check", check}, {"run", [&] { return timed(block); }}}, baseline);
}

}  // namespace weft::bench
