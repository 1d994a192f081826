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

// Folds vectors, `stride` elements apart, into a total: four by pairs, so that
// they do not wait for each other.
template <class Op, class T>
VectorOf<Accumulator<T>> fold_down(const T* x, std::int64_t rows,
                                   std::int64_t stride,
                                   VectorOf<Accumulator<T>> total) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4, x += 4 * stride) {
    total = Op::fold(
        total, Op::fold(Op::fold(load(x), load(x + stride)),
                        Op::fold(load(x + 2 * stride), load(x + 3 * stride))));
  }
  for (; row < rows; ++row, x += stride) total = Op::fold(total, load(x));
  return total;
}

constexpr std::int64_t kTogether = 8;  // rows that pass through the totals once

// `rows` rows of `width` contiguous elements, `stride` apart, into as many
// accumulators.
template <class Op, class T>
void fold_rows(const T* x, std::int64_t rows, std::int64_t stride,
               std::int64_t width, Accumulator<T>* totals) {
  using A = Accumulator<T>;
  constexpr std::int64_t kLanes = kLanesOf<A>;
  const Tag<A> tag;
  // Eight rows fold into a vector of totals while it is in a register: it is
  // loaded and stored once for all of them.
  for (std::int64_t row = 0; row < rows; row += kTogether) {
    const T* from = x + row * stride;
    const std::int64_t count = std::min(kTogether, rows - row);
    std::int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
      const auto total = hn::LoadU(tag, totals + i);
      hn::StoreU(fold_down<Op>(from + i, count, stride, total), tag,
                 totals + i);
    }
    for (; i < width; ++i) {
      for (std::int64_t r = 0; r < count; ++r) {
        totals[i] = Op::fold(totals[i], widen(from[r * stride + i]));
      }
    }
  }
}

// Narrow rows lie end to end: several of them make one wide row, whose
// accumulators are folded by halves in the end.
template <class Op, class T>
void fold_narrow_rows(const T* x, std::int64_t rows, std::int64_t width,
                      Accumulator<T>* totals) {
  using A = Accumulator<T>;
  A lanes[kWidth];
  std::int64_t together = 1;
  // Their number is a power of two, so that folding by halves meets every lane
  // once.
  while (2 * together * width <= kWidth) together *= 2;
  const std::int64_t wide = together * width;
  std::fill_n(lanes, wide, Op::template identity<A>);
  const std::int64_t full = rows / together;
  fold_rows<Op>(x, full, wide, wide, lanes);
  // What is left is less than a wide row, and begins at its first lane.
  fold_rows<Op>(x + full * wide, 1, wide, (rows - full * together) * width,
                lanes);
  for (; together > 1; together /= 2) {
    const std::int64_t half = together / 2 * width;
    fold_rows<Op>(lanes + half, 1, half, half, lanes);
  }
  fold_rows<Op>(lanes, 1, width, width, totals);
}

template <class T>
T finished(Accumulator<T> total, double divisor) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(total);
  } else {
    // The division comes before the total is rounded to T, which so happens
    // once.
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
