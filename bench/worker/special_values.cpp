// weft-bench special-values FUNCTION: a row of f32 in the first-level cache, by
// the vector functions of the kernels. FUNCTION-plain is the same without what
// NaN, infinities and numbers outside of its range take.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/worker/special_values.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <limits>
#include <string>
#include <string_view>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/base/error.h"
#include "weft/base/philox.h"
#include "weft/kernels/simd/fold.h"
#include "weft/kernels/simd/functions.h"
#include "weft/kernels/simd/targets.h"
#include "weft/tensor/tensor.h"

#ifndef WEFT_BENCH_SPECIAL_VALUES_ONCE
#define WEFT_BENCH_SPECIAL_VALUES_ONCE
namespace weft::bench {
namespace {

using RowFunction = void (*)(const float* x, float* y, std::size_t size);

struct NamedRow {
  std::string_view name;
  RowFunction run;
};

}  // namespace
}  // namespace weft::bench
#endif

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using bench::NamedRow;
using bench::RowFunction;
using simd::broadcast;
using simd::Floats;
using simd::Vector;
namespace hn = simd::hn;

struct Ieee {
  static Vector exp(Vector x) { return simd::exp(x); }
  static Vector log(Vector x) { return simd::log(x); }
  static Vector sigmoid(Vector x) { return simd::sigmoid(x); }
  using Max = folds::Max;
};

struct Plain {
  static Vector exp(Vector x) { return hn::Exp(Floats(), x); }
  static Vector log(Vector x) { return hn::Log(Floats(), x); }
  static Vector sigmoid(Vector x) {
    const Vector one = broadcast(1);
    return hn::Div(one, hn::Add(one, exp(hn::Neg(x))));
  }
  // As folds::Max, with no look at NaN.
  struct Max {
    template <class A>
    static constexpr A identity = folds::Max::identity<A>;
    template <class A>
    static bool beats(A a, A b) {
      return a > b;
    }
    template <folds::Number A>
    static A fold(A a, A b) {
      return beats(b, a) ? b : a;
    }
    template <class V>
    static V fold(V a, V b) {
      return hn::Max(a, b);
    }
  };
};

template <class Values>
void exp_row(const float* x, float* y, std::size_t size) {
  simd::map(x, y, size, [](Vector v) { return Values::exp(v); });
}

template <class Values>
void log_row(const float* x, float* y, std::size_t size) {
  simd::map(x, y, size, [](Vector v) { return Values::log(v); });
}

template <class Values>
void sigmoid_row(const float* x, float* y, std::size_t size) {
  simd::map(x, y, size, [](Vector v) { return Values::sigmoid(v); });
}

// The three passes of kernels/cpu/loss.cpp.
template <class Values>
void softmax_row(const float* x, float* y, std::size_t size) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const Vector largest = broadcast(simd::max_lanes(simd::reduce(
      x, size, kLowest, kLowest,
      [](Vector best, Vector v) { return hn::Max(best, v); },
      [](Vector a, Vector b) { return hn::Max(a, b); })));
  const auto power = [&](Vector v) { return Values::exp(hn::Sub(v, largest)); };
  const Vector sum = broadcast(simd::sum_lanes(simd::reduce(
      x, size, 0.f, kLowest,
      [&](Vector total, Vector v) { return hn::Add(total, power(v)); },
      [](Vector a, Vector b) { return hn::Add(a, b); })));
  simd::map(x, y, size, [&](Vector v) { return hn::Div(power(v), sum); });
}

template <class Values>
void argmax_row(const float* x, float* y, std::size_t size) {
  *y = static_cast<float>(folds::place_in_run<typename Values::Max>(
      x, static_cast<std::int64_t>(size)));
}

constexpr NamedRow kRows[] = {
    {"exp", exp_row<Ieee>},         {"exp-plain", exp_row<Plain>},
    {"log", log_row<Ieee>},         {"log-plain", log_row<Plain>},
    {"sigmoid", sigmoid_row<Ieee>}, {"sigmoid-plain", sigmoid_row<Plain>},
    {"softmax", softmax_row<Ieee>}, {"softmax-plain", softmax_row<Plain>},
    {"argmax", argmax_row<Ieee>},   {"argmax-plain", argmax_row<Plain>},
};

RowFunction find_row(std::string_view name) {
  for (const NamedRow& row : kRows) {
    if (row.name == name) return row.run;
  }
  throw Error(ErrorCode::kInvalidArgument, "weft-bench", "no function '{}'",
              name)
      .hint("exp, log, sigmoid, softmax, argmax, each also with -plain");
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::bench {

void race_special_values(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const RowFunction run = WEFT_FOR_MACHINE(find_row)(options.model);
  const std::int64_t steps = options.integer("steps");
  const Dim size = options.integer("size");
  const Tensor x = Tensor::empty({DType::kF32, {size}});
  const Tensor y = Tensor::zeros({DType::kF32, {size}});
  const RandomStream random{1, 111, 0};
  for (Dim i = 0; i < size; ++i) {
    x.data<float>()[i] =
        8 * uniform_from(random.word(static_cast<std::uint64_t>(i))) + 0.1f;
  }
  const auto block = [&] {
    for (std::int64_t i = 0; i < steps; ++i) {
      run(x.data<float>(), y.data<float>(), static_cast<std::size_t>(size));
    }
    return steps * size;
  };
  const auto check = [&] {
    block();
    const float* values = y.data<float>();
    return Json{{"values", std::vector<float>(values, values + size)}};
  };
  serve({{"check", check}, {"run", [&] { return timed(block); }}}, baseline);
}

}  // namespace weft::bench
#endif
