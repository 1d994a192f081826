// The kernels that a plan chooses, at the shapes of mnist-cnn and resnet20
// with batches of 128, and attention at that of a small Transformer.
#include <functional>

#include "bench/micro/benches.h"
#include "bench/micro/op_runner.h"

namespace weft::micro {
namespace {

constexpr std::int64_t kBatch = 128;
// References are slow: they check a batch of this size.
constexpr std::int64_t kCheckedBatch = 2;
constexpr double kTolerance = 1e-5;

struct KernelCase {
  std::string name;
  std::string op;
  // The call for a batch of this size.
  std::function<OpSample(std::int64_t batch, DType dtype)> sample;
};

InputSample uniform(DType dtype, const Shape& shape) {
  return {{dtype, shape}};
}

// A convolution "same" as its image at stride 1.
struct ConvShape {
  const char* name;
  std::int64_t side;
  std::int64_t channels;
  std::int64_t kernel;
  std::int64_t out;
  std::int64_t stride = 1;

  Shape image(std::int64_t batch) const {
    return {batch, side, side, channels};
  }
  Shape weight() const { return {kernel, kernel, channels, out}; }
  Shape result(std::int64_t batch) const {
    const std::int64_t rows = (side - 1) / stride + 1;
    return {batch, rows, rows, out};
  }
  Attributes attributes() const {
    const std::int64_t around = kernel / 2;
    return {{"strides", Integers{stride, stride}},
            {"padding", Integers{around, around, around, around}}};
  }
};

const ConvShape kConvolutions[] = {
    {"mnist_28x28x1_3x3x32", 28, 1, 3, 32},
    {"mnist_14x14x32_3x3x64", 14, 32, 3, 64},
    {"resnet_32x32x3_3x3x16", 32, 3, 3, 16},
    {"resnet_32x32x16_3x3x16", 32, 16, 3, 16},
    {"resnet_32x32x16_3x3x32_s2", 32, 16, 3, 32, 2},
    {"resnet_16x16x32_3x3x32", 16, 32, 3, 32},
    {"resnet_8x8x64_3x3x64", 8, 64, 3, 64},
};

void add_convolutions(std::vector<KernelCase>& cases) {
  for (const ConvShape& c : kConvolutions) {
    cases.push_back({c.name, "conv2d", [c](std::int64_t n, DType dtype) {
                       return OpSample{{uniform(dtype, c.image(n)),
                                        uniform(dtype, c.weight())},
                                       c.attributes()};
                     }});
    cases.push_back(
        {c.name, "conv2d_input_gradient", [c](std::int64_t n, DType dtype) {
           Attributes attributes = c.attributes();
           attributes.set("shape", c.image(n));
           return OpSample{
               {uniform(dtype, c.result(n)), uniform(dtype, c.weight())},
               attributes};
         }});
    cases.push_back(
        {c.name, "conv2d_weight_gradient", [c](std::int64_t n, DType dtype) {
           Attributes attributes = c.attributes();
           attributes.set("shape", c.weight());
           // It is as models have it: the weights of bf16 layers stay f32.
           attributes.set("in_f32", dtype == DType::kBF16);
           return OpSample{
               {uniform(dtype, c.image(n)), uniform(dtype, c.result(n))},
               attributes};
         }});
  }
}

// Square ones, those of mnist-cnn, and those of few rows or columns, whose
// limit is memory.
void add_products(std::vector<KernelCase>& cases) {
  struct Product {
    const char* name;
    std::int64_t rows;  // in place of 0: the batch
    std::int64_t inner;
    std::int64_t columns;
    bool transpose_b = false;
  };
  for (const Product& p :
       {Product{"square_1024", 1024, 1024, 1024},
        Product{"square_2048", 2048, 2048, 2048},
        Product{"mnist_dense_3136x128", 0, 3136, 128},
        Product{"mnist_dense_128x10", 0, 128, 10},
        Product{"1_row_4096x4096", 1, 4096, 4096},
        Product{"1_row_4096x4096_transposed", 1, 4096, 4096, true},
        Product{"4_rows_4096x4096", 4, 4096, 4096},
        Product{"4_rows_4096x4096_transposed", 4, 4096, 4096, true},
        Product{"8_rows_1024x1024", 8, 1024, 1024},
        Product{"16_rows_1024x1024", 16, 1024, 1024},
        Product{"16_rows_1024x1024_transposed", 16, 1024, 1024, true},
        Product{"10_columns_65536x64", 65536, 64, 10},
        Product{"small_10x2x10", 10, 2, 10},
        Product{"small_10x10x2", 10, 10, 2},
        Product{"small_16x16x16", 16, 16, 16},
        Product{"small_32x32x32", 32, 32, 32},
        Product{"small_32x32x32_transposed", 32, 32, 32, true},
        Product{"small_48x48x48", 48, 48, 48},
        Product{"small_64x64x64", 64, 64, 64},
        Product{"small_4x128x64", 4, 128, 64},
        Product{"small_128x128x2", 128, 128, 2},
        Product{"1_column_4096x4096", 4096, 4096, 1}}) {
    cases.push_back(
        {p.name, "matmul", [p](std::int64_t n, DType dtype) {
           const std::int64_t rows = p.rows == 0 || n < kBatch ? n : p.rows;
           const Shape right = p.transpose_b ? Shape{p.columns, p.inner}
                                             : Shape{p.inner, p.columns};
           return OpSample{
               {uniform(dtype, {rows, p.inner}), uniform(dtype, right)},
               {{"transpose_b", p.transpose_b}}};
         }});
  }
}

OpSample pool_sample(std::int64_t n, DType dtype) {
  return {{uniform(dtype, {n, 28, 28, 32})},
          {{"window", Integers{2, 2}}, {"strides", Integers{2, 2}}}};
}

OpSample moments_sample(std::int64_t n, DType dtype) {
  return {{uniform(dtype, {n, 32, 32, 16})}, {}};
}

OpSample loss_sample(std::int64_t n, DType dtype) {
  return {{uniform(dtype, {n, 10}), {{DType::kI32, {n}}, 0, 10}}, {}};
}

OpSample sum_all_sample(std::int64_t n, DType dtype) {
  // Positive, so that the sum is as large as its terms.
  return {{{{dtype, {n, 32, 32, 16}}, 0, 1}}, {}};
}

OpSample sum_leading_sample(std::int64_t n, DType dtype) {
  return {{{{dtype, {n * 1024, 16}}, 0, 1}}, {{"axes", Integers{0}}}};
}

OpSample transpose_sample(std::int64_t n, DType dtype) {
  return {{uniform(dtype, {n * 8, 1024})}, {}};
}

// Eight heads of 1,024 x 64, whatever the batch; fewer for the check.
OpSample attention_sample(std::int64_t n, DType dtype, bool is_gradient) {
  const bool is_timed = n == kBatch;
  const Shape leading = {1, is_timed ? 8 : 2};
  const std::int64_t length = is_timed ? 1024 : 100;
  const Shape rows = {leading[0], leading[1], length, 64};
  OpSample sample{
      {uniform(dtype, rows), uniform(dtype, rows), uniform(dtype, rows)}, {}};
  if (is_gradient) {
    sample.inputs.push_back(uniform(dtype, rows));
    // They are as large as the logarithms of such sums are.
    sample.inputs.push_back(
        {{DType::kF32, {leading[0], leading[1], length}}, 6, 8});
    sample.inputs.push_back(uniform(dtype, rows));
  }
  return sample;
}

void add_attention(std::vector<KernelCase>& cases) {
  for (const bool is_gradient : {false, true}) {
    cases.push_back({"8_heads_1024x64",
                     is_gradient ? "attention_gradient" : "attention",
                     [=](std::int64_t n, DType dtype) {
                       return attention_sample(n, dtype, is_gradient);
                     }});
  }
}

std::vector<KernelCase> all_cases() {
  std::vector<KernelCase> cases;
  add_products(cases);
  add_convolutions(cases);
  add_attention(cases);
  cases.push_back({"mnist_28x28x32", "max_pool", pool_sample});
  cases.push_back({"resnet_32x32x16", "moments", moments_sample});
  cases.push_back({"10_classes", "cross_entropy", loss_sample});
  cases.push_back({"all_axes", "sum", sum_all_sample});
  cases.push_back({"leading_axis", "sum", sum_leading_sample});
  cases.push_back({"1024x1024", "transpose", transpose_sample});
  return cases;
}

// Only products and convolutions have kernels of f64.
std::vector<DType> dtypes_of(const std::string& op) {
  std::vector<DType> dtypes{DType::kF32, DType::kBF16};
  if (op == "matmul" || op.starts_with("conv2d")) dtypes.push_back(DType::kF64);
  return dtypes;
}

void run_case(benchmark::State& state, const KernelCase& c, DType dtype) {
  try {
    // The sums of bf16 operands are rounded once more by some kernels.
    const double tolerance = dtype == DType::kBF16 ? 0x1p-7 : kTolerance;
    if (!OpRunner(c.op, c.sample(kCheckedBatch, dtype))
             .check(state, tolerance)) {
      return;
    }
    OpRunner runner(c.op, c.sample(kBatch, dtype));
    runner.run();
    for (auto _ : state) runner.run();
    count(state, runner.cost());
    state.SetLabel(runner.kernel_name());
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

}  // namespace

void register_kernels() {
  for (const KernelCase& c : all_cases()) {
    for (const DType dtype : dtypes_of(c.op)) {
      benchmark::RegisterBenchmark(
          fmt::format("{}/{}/{}", c.op, c.name, to_string(dtype)).c_str(),
          [c, dtype](benchmark::State& state) { run_case(state, c, dtype); })
          ->UseRealTime();
    }
  }
}

}  // namespace weft::micro
