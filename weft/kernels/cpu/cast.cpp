// Casts that no loop does, as no number holds both i64 and a float, and those
// that a loop would do in numbers twice as wide.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/cast.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/loop/tile_functions.h"
#include "weft/kernels/simd/streaming.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/scalar_functions.h"
#include "weft/tensor/round_to_odd.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Elements that are worth a thread.
constexpr std::int64_t kElementsPerThread = 16 << 10;

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_class_v<From>) {
    return converted<To>(static_cast<float>(x));
  } else if constexpr (std::is_class_v<To>) {
    if constexpr (std::is_same_v<From, float>) return To(x);
    return To(round_to_odd(static_cast<double>(x)));
  } else if constexpr (std::is_floating_point_v<From>) {
    return weft::saturate<To>(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

// Highway's conversion saturates; NaN becomes 0.
template <class Integers, class Floats>
auto to_integers(Integers integers, Floats x) {
  return hn::ConvertTo(integers, hn::IfThenElseZero(hn::Eq(x, x), x));
}

// Reads f32 as a vector of To. There are vectors of no other types than these.
template <class To>
auto vector_converted(const float* x) {
  const hn::ScalableTag<To> to;
  const auto loaded = hn::LoadU(hn::Rebind<float, decltype(to)>(), x);
  if constexpr (std::is_same_v<To, std::int32_t>) {
    return to_integers(to, loaded);
  } else {
    const auto wide = hn::PromoteTo(hn::ScalableTag<double>(), loaded);
    if constexpr (std::is_same_v<To, double>)
      return wide;
    else
      return to_integers(to, wide);
  }
}
template <class To>
auto vector_converted(const double* x) {
  return to_integers(hn::ScalableTag<To>(),
                     hn::LoadU(hn::ScalableTag<double>(), x));
}

template <class From, class To>
constexpr bool has_vectors = (std::is_same_v<From, float> &&
                              sizeof(To) >= sizeof(float) &&
                              !std::is_same_v<To, float>) ||
                             (std::is_same_v<From, double> &&
                              std::is_same_v<To, std::int64_t>);

// The result may be written over an operand that is as wide.
template <class From, class To>
void convert(const From* x, To* y, std::int64_t size) {
  std::int64_t i = 0;
  if constexpr (has_vectors<From, To>) {
    const hn::ScalableTag<To> to;
    const auto step = static_cast<std::int64_t>(hn::Lanes(to));
    for (; i + step <= size; i += step) {
      hn::StoreU(vector_converted<To>(x + i), to, y + i);
    }
  }
  std::transform(x + i, x + size, y + i, converted<To, From>);
}

template <class From, class To>
std::unique_ptr<PreparedKernel> kernel_of(std::int64_t size) {
  constexpr std::int64_t kMoved = sizeof(From) + sizeof(To);
  // What outgrows the caches is written past them (simd/streaming.h).
  const bool is_large =
      static_cast<std::uint64_t>(size * kMoved) >= least_streamed_bytes();
  return make_kernel([=](const KernelBuffers& buffers) {
    const From* x = input_of<From>(buffers, 0);
    auto* y = output_of<To>(buffers, 0);
    // A result over its operand finds its lines in the cache.
    const bool streams = is_large && buffers.inputs[0] != buffers.outputs[0];
    parallel_for(
        size, kElementsPerThread, [&](std::int64_t begin, std::int64_t end) {
          make_results(
              reinterpret_cast<std::byte*>(y + begin), end - begin, sizeof(To),
              streams, [&](std::int64_t at, std::int64_t count, std::byte* to) {
                convert(x + begin + at, reinterpret_cast<To*>(to), count);
              });
        });
  });
}

// This casts between i64 and floats.
std::unique_ptr<PreparedKernel> prepare(const OpCall& call) {
  const std::int64_t size = call.outputs[0].shape.num_elements();
  const DType from = call.input(0).dtype;
  const DType to = call.outputs[0].dtype;
  return dispatch(from == DType::kI64 ? to : from,
                  [&]<class Other>(Other) -> std::unique_ptr<PreparedKernel> {
                    if constexpr (std::is_integral_v<Other>) {
                      return nullptr;  // a loop holds it beside i64
                    } else if (from == DType::kI64) {
                      return kernel_of<std::int64_t, Other>(size);
                    } else {
                      return kernel_of<Other, std::int64_t>(size);
                    }
                  });
}

std::optional<std::string> declines(const OpCall& call) {
  if (!tile_type(call.inputs, call.outputs)) return std::nullopt;
  return "a loop does it";
}

template <class To>
std::unique_ptr<PreparedKernel> prepare_of_f32(const OpCall& call) {
  return kernel_of<float, To>(call.outputs[0].shape.num_elements());
}

template <class To>
std::optional<std::string> declines_of_f32(const OpCall& call) {
  if (call.input(0).dtype == DType::kF32 &&
      call.outputs[0].dtype == dtype_of<To>()) {
    return std::nullopt;
  }
  return fmt::format("not from f32 to {}", to_string(dtype_of<To>()));
}

template <class To>
KernelCandidate candidate_of_f32(const char* name) {
  return {.op = "cast",
          // Where sizes differ, results would overwrite operands that are still
          // to be read.
          .name = name,
          .rank = 20,
          .declines = declines_of_f32<To>,
          .prepare = prepare_of_f32<To>,
          .in_place = sizeof(To) == sizeof(float)};
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add({"cast", "cpu:cast", 10, declines, prepare});
  kernels.add(candidate_of_f32<std::int32_t>("cpu:to_i32"));
  kernels.add(candidate_of_f32<double>("cpu:to_f64"));
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_cast(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
