// Both transforms are linear, and each is the other's transpose but for
// weights: a number of rfft's result stands for itself and for its conjugate,
// unless it is its own.
#include "weft/ops/fourier.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "weft/base/index.h"
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/slice.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// The type of rows of `size` numbers instead.
TensorType with_row(const TensorType& x, Dim size) {
  TensorType result = x;
  result.shape[x.shape.rank() - 1] = size;
  return result;
}

void check_fourier_row(const OpCall& call, std::int64_t size) {
  if (!is_floating(call.input(0).dtype)) {
    throw call.error("transforms floats only");
  }
  if (size < 1) throw call.error("a row has at least one number");
}

std::vector<TensorType> infer_rfft(const OpCall& call) {
  const TensorType& x = call.input(0);
  if (x.shape.rank() < 1 || is_symbolic(x.shape.back())) {
    throw call.error("the last axis must have a known size");
  }
  check_fourier_row(call, x.shape.back());
  // A transform of real numbers is symmetric, X_{n-k} = conj(X_k), so that half
  // of it and one more says all.
  const TensorType half = with_row(x, x.shape.back() / 2 + 1);
  return {half, half};
}

std::vector<TensorType> infer_irfft(const OpCall& call) {
  const TensorType& real = call.input(0);
  const std::int64_t size = call.attributes.integer("size");
  check_fourier_row(call, size);
  if (!(real == call.input(1))) {
    throw call.error("the real and the imaginary parts differ in type");
  }
  // The size comes from an attribute, which a file may have set to anything; n
  // / 2 + 1 alone does not tell whether n was odd.
  if (size > kMaxDim || real.shape.rank() < 1 ||
      real.shape.back() != size / 2 + 1) {
    throw call.error("rows of {} numbers have {} in their transform", size,
                     size / 2 + 1);
  }
  return {with_row(real, size)};
}

// cos and sin of 2πi/n, for all i < n.
struct UnitCircle {
  std::vector<double> cosine, sine;

  // The angles repeat with period n, so that one table serves every frequency.
  // The direct sum is O(n²), which a reference may be.
  explicit UnitCircle(std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) /
                           static_cast<double>(n);
      cosine.push_back(std::cos(angle));
      sine.push_back(std::sin(angle));
    }
  }
};

// Whether X_k stands for itself alone.
bool is_own_conjugate(std::int64_t k, std::int64_t n) {
  return k == 0 || 2 * k == n;
}

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

bool all_finite(std::span<const double> row) {
  for (const double x : row) {
    if (!std::isfinite(x)) return false;
  }
  return true;
}

void rfft_reference(const OpCall& call, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  const std::int64_t n = call.input(0).shape.back();
  const UnitCircle circle(n);
  const auto x = to_doubles(inputs[0]);
  std::vector<double> real, imaginary;
  for (std::size_t begin = 0; begin < x.size(); begin += at(n)) {
    const auto row = std::span(x).subspan(begin, at(n));
    // One infinity or NaN reaches every frequency. Which of them come out as
    // infinities depends on the order of additions, so that all are NaN by
    // definition, in kernels as well.
    const bool is_finite = all_finite(row);
    for (std::int64_t k = 0; k <= n / 2; ++k) {
      double re = is_finite ? 0 : kNotANumber;
      double im = re;
      for (std::int64_t j = 0; j < n; ++j) {
        const std::size_t angle = at(j * k % n);
        re += row[at(j)] * circle.cosine[angle];
        // sin is 0 there exactly, which the rounded angle would miss.
        if (!is_own_conjugate(k, n)) im -= row[at(j)] * circle.sine[angle];
      }
      real.push_back(re);
      imaginary.push_back(im);
    }
  }
  from_doubles(real, outputs[0]);
  from_doubles(imaginary, outputs[1]);
}

void irfft_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const std::int64_t n = call.attributes.integer("size");
  const std::size_t half = at(n / 2 + 1);
  const UnitCircle circle(n);
  const auto real = to_doubles(inputs[0]);
  const auto imaginary = to_doubles(inputs[1]);
  std::vector<double> y;
  for (std::size_t begin = 0; begin < real.size(); begin += half) {
    const auto re = std::span(real).subspan(begin, half);
    const auto im = std::span(imaginary).subspan(begin, half);
    const bool is_finite = all_finite(re) && all_finite(im);
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = is_finite ? 0 : kNotANumber;
      for (std::int64_t k = 0; k <= n / 2; ++k) {
        const std::size_t angle = at(j * k % n);
        if (is_own_conjugate(k, n)) {
          sum += re[at(k)] * circle.cosine[angle];
        } else {
          // The conjugate that is not stored contributes as much again. The
          // imaginary part of what is its own conjugate has no meaning, and is
          // not read.
          sum += 2 * (re[at(k)] * circle.cosine[angle] -
                      im[at(k)] * circle.sine[angle]);
        }
      }
      y.push_back(sum / static_cast<double>(n));
    }
  }
  from_doubles(y, outputs[0]);
}

// Gives each number of a row of n's transform its weight: `own` if it is its
// own conjugate, else `both`.
Value conjugate_weights(std::int64_t n, double own, double both, DType dtype) {
  const bool has_last = n % 2 == 0;
  // The first number is its own conjugate always, and the last one where n is
  // even.
  const Dim between = n / 2 + 1 - (has_last ? 2 : 1);
  return pad(full({dtype, {between}}, both), {1}, {has_last ? 1 : 0}, own);
}

Gradients rfft_gradient(const GradientContext& g) {
  const std::int64_t n = g.x(0).shape().back();
  const auto size = static_cast<double>(n);
  // irfft() divides by n and counts inner numbers twice; the transpose of
  // rfft() does neither.
  const Value weights = conjugate_weights(n, size, size / 2, g.x(0).dtype());
  const auto part = [&](std::size_t i) {
    return g.dy(i).is_defined() ? g.dy(i) * weights : zeros_like(g.y(i));
  };
  return {irfft(part(0), part(1), n)};
}

Gradients irfft_gradient(const GradientContext& g) {
  const std::int64_t n = g.attributes().integer("size");
  const double share = 1 / static_cast<double>(n);
  const auto [real, imaginary] = rfft(g.dy());
  const DType dtype = real.dtype();
  // Here the weights are those of irfft(): 1/n, and twice that for the pairs.
  // Imaginary parts of own conjugates were not read, and get 0.
  return {real * conjugate_weights(n, share, 2 * share, dtype),
          imaginary * conjugate_weights(n, 0, 2 * share, dtype)};
}

// 5/2 n log2 n, as is usual to say of real transforms.
Cost fourier_cost(const OpCall& call) {
  const TensorType& rows =
      call.op.name() == "rfft" ? call.input(0) : call.outputs[0];
  return Cost::of(call,
                  2.5 * static_cast<double>(rows.shape.num_elements()) *
                      std::log2(1.0 + static_cast<double>(rows.shape.back())));
}

// Powers of two, products of small primes, larger primes, and rows of one.
constexpr std::array<Dim, 9> kFourierSizes{1, 2, 3, 8, 12, 15, 22, 34, 67};

std::vector<OpSample> rfft_samples() {
  std::vector<OpSample> all;
  for (const Dim n : kFourierSizes) all.push_back({{floats({2, n})}, {}});
  // There may be no rows, more than a vector has lanes, or one that has no axis
  // before it.
  all.push_back({{floats({0, 4})}, {}});
  all.push_back({{floats({2, 17, 6})}, {}});
  all.push_back({{floats({16})}, {}});
  all.push_back({{floats({3, 8}, -1, 1, DType::kBF16)}, {}});
  return all;
}

std::vector<OpSample> irfft_samples() {
  std::vector<OpSample> all;
  const auto add = [&](Shape half, Dim size, DType dtype = DType::kF32) {
    half.push_back(size / 2 + 1);
    all.push_back({{floats(half, -1, 1, dtype), floats(half, -1, 1, dtype)},
                   {{"size", size}}});
  };
  for (const Dim n : kFourierSizes) add({2}, n);
  add({0}, 4);
  add({2, 17}, 6);
  add({}, 16);
  add({3}, 8, DType::kBF16);
  return all;
}

}  // namespace

void register_fourier(OpRegistry& ops) {
  ops.add("rfft")
      .summary("the discrete Fourier transform of real rows, in two parts")
      .signature("(x) -> real, imaginary")
      .infer(infer_rfft)
      .reference(rfft_reference)
      .gradient(rfft_gradient)
      .batch(batch_rows, sum_of_linear)
      .cost(fourier_cost)
      .samples(rfft_samples);
  ops.add("irfft")
      .summary("the real rows of a size that rfft makes these two parts of")
      .signature("(real, imaginary) -> y")
      .required("size", std::int64_t{1})
      .infer(infer_irfft)
      .reference(irfft_reference)
      .gradient(irfft_gradient)
      .batch(batch_rows, sum_of_linear)
      .cost(fourier_cost)
      .samples(irfft_samples);
}

std::pair<Value, Value> rfft(const Operand& x) {
  static const OpDef& op = op_registry().get("rfft");
  auto parts = call_all(op, {x.value, 1}, {}, x.location);
  return {std::move(parts[0]), std::move(parts[1])};
}

Value irfft(const Operand& real, const Operand& imaginary, std::int64_t size) {
  static const OpDef& op = op_registry().get("irfft");
  return call(op, {real.value, imaginary.value}, {{"size", size}},
              real.location);
}

}  // namespace weft
