// weft-bench integer FORM --dtype f32|i8|u8: a product, a convolution, or a
// whole layer, of floats or of small integers.
#include <map>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/base/philox.h"
#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::bench {
namespace {

struct Form {
  Shape x, w;
  Conv2dOptions options;
  bool is_layer = false;  // with scales, bias, relu and the next integers

  bool is_convolution() const { return x.rank() == 4; }
};

const Form& form_of(const std::string& name) {
  const Integers around{1, 1, 1, 1};
  static const std::map<std::string, Form> forms{
      {"product", {{1024, 1024}, {1024, 1024}, {}}},
      {"row", {{1, 1024}, {1024, 1024}, {}}},
      {"transformer", {{1024, 768}, {768, 3072}, {}}},
      {"layer", {{1024, 768}, {768, 3072}, {}, true}},
      {"conv", {{16, 28, 28, 128}, {3, 3, 128, 128}, {{1, 1}, around}}},
      {"pixel-conv", {{16, 28, 28, 128}, {1, 1, 128, 512}, {}}},
      {"conv-layer",
       {{16, 28, 28, 128}, {3, 3, 128, 128}, {{1, 1}, around}, true}}};
  const auto found = forms.find(name);
  if (found != forms.end()) return found->second;
  std::string known;
  for (const auto& [each, form] : forms) known += each + " ";
  throw Error(ErrorCode::kInvalidArgument, "weft-bench", "no form '{}'", name)
      .hint(known);
}

Tensor small_numbers(DType dtype, const Shape& shape, std::uint32_t stream) {
  const Tensor x = Tensor::empty({dtype, shape});
  const RandomStream random{1, stream, 0};
  dispatch(dtype, [&]<class T>(T) {
    for (Dim i = 0; i < x.size(); ++i) {
      const auto word = random.word(static_cast<std::uint64_t>(i));
      x.data<T>()[i] = static_cast<T>(static_cast<float>(word % 100));
    }
  });
  return x;
}

Value product_of(const Form& form, const Value& x, const Value& w) {
  const bool is_float = is_floating(x.dtype());
  if (form.is_convolution()) {
    return is_float ? conv2d(x, w, form.options)
                    : integer_conv2d(x, w, form.options);
  }
  return is_float ? matmul(x, w) : integer_matmul(x, w);
}

Value result_of(const Form& form, const Value& x, const Value& w,
                const Value& scales, const Value& bias) {
  const Value y = product_of(form, x, w);
  if (!form.is_layer) return y;
  if (is_floating(x.dtype())) return relu(y + bias);
  const Value next = Tensor::scalar(0.05, DType::kF32);
  return quantize(relu(dequantize(y, scales) + bias), next,
                  {.dtype = x.dtype()});
}

}  // namespace

void race_integer(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const Form& form = form_of(options.model);
  const std::int64_t steps = options.integer("steps");
  const auto dtype =
      dtype_from_string(options.text("dtype")).value_or(DType::kF32);
  const DType weights = is_floating(dtype) ? dtype : DType::kI8;
  const Shape channels{form.w.back()};
  const std::vector<Tensor> arguments{small_numbers(dtype, form.x, 1),
                                      small_numbers(weights, form.w, 2),
                                      small_numbers(DType::kF32, channels, 3),
                                      small_numbers(DType::kF32, channels, 4)};
  FunctionBuilder builder("integer");
  std::vector<Value> in;
  for (const Tensor& argument : arguments) {
    in.push_back(builder.parameter(argument.type()));
  }
  Executable executable(builder.build([&] {
    return std::vector{result_of(form, in[0], in[1], in[2], in[3])};
  }));
  const std::vector<Tensor> results = executable.run(arguments);
  const std::int64_t products =
      results[0].size() * form.w.num_elements() / form.w.back();
  const auto block = [&] {
    for (std::int64_t i = 0; i < steps; ++i) executable.run(arguments, results);
    return 2 * steps * products;
  };
  serve({{"run", [&] { return timed(block); }}}, baseline);
}

}  // namespace weft::bench
