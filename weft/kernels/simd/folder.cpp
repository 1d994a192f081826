#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/folder.cpp"
#include "weft/kernels/simd/folder.h"

#include <algorithm>
#include <hwy/foreach_target.h>
#include <type_traits>

#include "weft/kernels/simd/fold.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using namespace folds;

constexpr std::int64_t kWidth = Folder::kMostTotals;

// `rows` rows of `width` contiguous elements, `stride` apart, into as many
// accumulators. Four rows at a time read and write them once.
template <class Op, class T>
void fold_rows(const T* x, std::int64_t rows, std::int64_t stride,
               std::int64_t width, Accumulator<T>* totals) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const T* a = x + row * stride;
    const T* b = a + stride;
    const T* c = b + stride;
    const T* d = c + stride;
    for (std::int64_t i = 0; i < width; ++i) {
      totals[i] =
          Op::fold(totals[i], Op::fold(Op::fold(widen(a[i]), widen(b[i])),
                                       Op::fold(widen(c[i]), widen(d[i]))));
    }
  }
  for (; row < rows; ++row) {
    const T* a = x + row * stride;
    for (std::int64_t i = 0; i < width; ++i) {
      totals[i] = Op::fold(totals[i], widen(a[i]));
    }
  }
}

// Narrow rows lie end to end: several of them make one wide row, whose
// accumulators are folded together in the end.
template <class Op, class T>
void fold_narrow_rows(const T* x, std::int64_t rows, std::int64_t width,
                      Accumulator<T>* totals) {
  using A = Accumulator<T>;
  A lanes[kWidth];
  const std::int64_t together = kWidth / width;
  const std::int64_t wide = together * width;
  std::fill_n(lanes, wide, Op::template identity<A>);
  const std::int64_t full = rows / together;
  fold_rows<Op>(x, full, wide, wide, lanes);
  // What is left is less than a wide row, and begins at its first lane.
  fold_rows<Op>(x + full * wide, 1, wide, (rows - full * together) * width,
                lanes);
  for (std::int64_t start = 0; start < wide; start += width) {
    for (std::int64_t i = 0; i < width; ++i) {
      totals[i] = Op::fold(totals[i], lanes[start + i]);
    }
  }
}

template <class T>
T finished(Accumulator<T> total, double divisor) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(total);
  } else {
    return static_cast<T>(total / static_cast<Accumulator<T>>(divisor));
  }
}

template <class Op, class T>
struct Functions {
  using A = Accumulator<T>;

  static void clear(void* totals, std::int64_t count) noexcept {
    std::fill_n(static_cast<A*>(totals), count, Op::template identity<A>);
  }
  static void run(const void* x, std::int64_t size, void* total) noexcept {
    A& sum = *static_cast<A*>(total);
    sum = Op::fold(sum, fold_run<Op>(static_cast<const T*>(x), size));
  }
  static void rows(const void* x, std::int64_t rows, std::int64_t stride,
                   std::int64_t width, void* totals) noexcept {
    fold_rows<Op>(static_cast<const T*>(x), rows, stride, width,
                  static_cast<A*>(totals));
  }
  static void narrow_rows(const void* x, std::int64_t rows, std::int64_t width,
                          void* totals) noexcept {
    fold_narrow_rows<Op>(static_cast<const T*>(x), rows, width,
                         static_cast<A*>(totals));
  }
  static void totals(const void* from, std::int64_t count, void* to) noexcept {
    const auto* others = static_cast<const A*>(from);
    auto* own = static_cast<A*>(to);
    for (std::int64_t i = 0; i < count; ++i) {
      own[i] = Op::fold(own[i], others[i]);
    }
  }
  static void finish(const void* totals, std::int64_t count, double divisor,
                     void* y) noexcept {
    const auto* from = static_cast<const A*>(totals);
    for (std::int64_t i = 0; i < count; ++i) {
      static_cast<T*>(y)[i] = finished<T>(from[i], divisor);
    }
  }
  static void each_row(const void* x, std::int64_t rows, std::int64_t size,
                       double divisor, void* y) noexcept {
    const T* from = static_cast<const T*>(x);
    for (std::int64_t row = 0; row < rows; ++row, from += size) {
      static_cast<T*>(y)[row] = finished<T>(fold_run<Op>(from, size), divisor);
    }
  }
};

template <class Op, class T>
Folder folder() {
  using F = Functions<Op, T>;
  return {sizeof(T),  sizeof(Accumulator<T>), F::clear,  F::run,
          F::rows,    F::narrow_rows,         F::totals, F::finish,
          F::each_row};
}

template <class Op>
Folder folder_for(DType dtype) {
  return for_type(dtype, []<class T>(T) { return folder<Op, T>(); });
}

Folder find(Fold fold, DType dtype) {
  switch (fold) {
    case Fold::kSum:
      return folder_for<Sum>(dtype);
    case Fold::kProduct:
      return folder_for<Product>(dtype);
    case Fold::kMax:
      return folder_for<Max>(dtype);
    case Fold::kMin:
      return folder_for<Min>(dtype);
    case Fold::kAny:
      return folder<Any, std::uint8_t>();
    case Fold::kAll:
      break;
  }
  return folder<All, std::uint8_t>();
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

Folder folder_of(Fold fold, DType dtype) {
  return WEFT_FOR_MACHINE(find)(fold, dtype);
}

std::optional<std::string> declines_fold(const OpCall& call) {
  const TensorType& x = call.input(0);
  if (x.shape.num_elements() == 0) return "nothing to reduce";
  switch (x.dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kBF16:
    case DType::kI32:
    case DType::kI64:
      return std::nullopt;
    default:
      return "no vectors of " + std::string(to_string(x.dtype));
  }
}

}  // namespace weft
#endif
