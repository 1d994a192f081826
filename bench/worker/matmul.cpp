// weft-bench matmul: a staged product of two square matrices.
#include "weft/ops/matmul.h"

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/base/philox.h"
#include "weft/graph/builder.h"
#include "weft/ops/unary.h"
#include "weft/runtime/executable.h"

namespace weft::bench {
namespace {

Tensor random_matrix(std::int64_t size, std::uint32_t stream) {
  const Tensor matrix = Tensor::empty({DType::kF32, {size, size}});
  const RandomStream random{1, stream, 0};
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(matrix.size());
       ++i) {
    matrix.data<float>()[i] = uniform_from(random.word(i));
  }
  return matrix;
}

}  // namespace

void race_matmul(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const std::int64_t size = options.integer("size");
  const std::int64_t steps = options.integer("steps");
  const DType dtype =
      dtype_from_string(options.text("dtype")).value_or(DType::kF32);
  const std::vector<Tensor> arguments{
      cast(Value(random_matrix(size, 1)), dtype).tensor(),
      cast(Value(random_matrix(size, 2)), dtype).tensor()};

  FunctionBuilder builder("matmul");
  const Value a = builder.parameter(arguments[0].type(), "a");
  const Value b = builder.parameter(arguments[1].type(), "b");
  Executable product(builder.build([&] { return std::vector{matmul(a, b)}; }));
  const std::vector<Tensor> results{Tensor::zeros(arguments[0].type())};

  const auto check = [&] {
    product.run(arguments, results);
    Json values = Json::array();
    for (std::int64_t i = 0; i < 5; ++i) values.push_back(results[0].item(i));
    return Json{{"values", values}};
  };
  const auto block = [&] {
    for (std::int64_t i = 0; i < steps; ++i) product.run(arguments, results);
    return steps * 2 * size * size * size;
  };
  serve({{"check", check}, {"run", [&] { return timed(block); }}}, baseline);
}

}  // namespace weft::bench
