// Running sums and products along an axis. Its vectors are AVX2's on every
// machine: memory is what they wait for, and on Zen 4 longer ones take a
// quarter more time.
#include <algorithm>
#include <hwy/highway.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/streaming.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/scalar_functions.h"

namespace weft {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kScannedPerThread = 16 << 10;
constexpr std::int64_t kScanWidth =
    1024;  // columns that are read as one stretch
// What a thread takes of a row at least: at the end of its part the processor
// asks for the lines behind it, which are another thread's, and that takes
// longer than to write some pages.
constexpr std::int64_t kLeastOfRow = 16 << 10;  // bytes

std::optional<std::string> running_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI32 ||
      dtype == DType::kI64) {
    return std::nullopt;
  }
  return "what runs needs more bits than " + std::string(to_string(dtype));
}

// What runs, so that long lines stay as exact as short ones.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

template <class T>
using WideTag = hn::ScalableTag<Wide<T>>;
template <class T>
using WideVector = hn::Vec<WideTag<T>>;

template <class T>
WideVector<T> load_wide(const T* x) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    return hn::LoadU(WideTag<T>(), x);
  } else {
    return hn::PromoteTo(WideTag<T>(),
                         hn::LoadU(hn::Rebind<T, WideTag<T>>(), x));
  }
}

// Rounded, or the low bits.
template <class T>
void store_narrow(WideVector<T> v, T* y) {
  const hn::Rebind<T, WideTag<T>> narrow;
  if constexpr (std::is_same_v<T, Wide<T>>) {
    hn::StoreU(v, narrow, y);
  } else if constexpr (std::is_integral_v<T>) {
    const hn::RebindToUnsigned<WideTag<T>> bits;
    const hn::RebindToUnsigned<decltype(narrow)> low;
    hn::StoreU(hn::BitCast(narrow, hn::TruncateTo(low, hn::BitCast(bits, v))),
               narrow, y);
  } else {
    hn::StoreU(hn::DemoteTo(narrow, v), narrow, y);
  }
}

// What an element makes of what runs.
struct Sum {
  static constexpr int kStart = 0;
  static constexpr auto kCombine = kAdd;
  template <class V>
  static V combine(V a, V b) {
    return hn::Add(a, b);
  }
};
struct Product {
  static constexpr int kStart = 1;
  static constexpr auto kCombine = kMultiply;
  template <class V>
  static V combine(V a, V b) {
    return hn::Mul(a, b);
  }
};

template <class T, class Running>
class Scan {
 public:
  explicit Scan(const OpCall& call)
      : cut_(call.input(0).shape, resolved_axis(call.attributes.integer("axis"),
                                                call.input(0).shape.rank())),
        is_exclusive_(call.attributes.flag("exclusive")),
        is_reverse_(call.attributes.flag("reverse")),
        streams_(2 * call.input(0).bytes() >= least_streamed_bytes()) {}

  void run(const T* x, T* y) const {
    if (cut_.inner == 1)
      scan_lines(x, y);
    else
      scan_columns(x, y);
  }

 private:
  // Where the `n`-th of `size` stands.
  std::int64_t place(std::int64_t n, std::int64_t size) const {
    return is_reverse_ ? size - 1 - n : n;
  }

  // --- Lines that lie end to end ------------------------------------------
  // A step waits for the one before it, so that several lines take as long as
  // one.
  template <std::int64_t kLines>
  void scan_together(const T* x, T* y) const {
    Wide<T> running[kLines];
    std::fill_n(running, kLines, Wide<T>{Running::kStart});
    for (std::int64_t n = 0; n < cut_.size; ++n) {
      for (std::int64_t line = 0; line < kLines; ++line) {
        const std::int64_t i = line * cut_.size + place(n, cut_.size);
        const Wide<T> before = running[line];
        running[line] = Running::kCombine(before, static_cast<Wide<T>>(x[i]));
        y[i] = static_cast<T>(is_exclusive_ ? before : running[line]);
      }
    }
  }

  void scan_lines(const T* x, T* y) const {
    constexpr std::int64_t kTogether = 4;
    parallel_for(
        cut_.outer, grain(), [&](std::int64_t begin, std::int64_t end) {
          for (; begin + kTogether <= end; begin += kTogether) {
            scan_together<kTogether>(x + begin * cut_.size,
                                     y + begin * cut_.size);
          }
          for (; begin < end; ++begin) {
            scan_together<1>(x + begin * cut_.size, y + begin * cut_.size);
          }
        });
  }

  // --- Columns side by side -----------------------------------------------
  // Rows that lie `step` apart, in this order. Several at once, as what runs is
  // then loaded and stored once for all of them.
  template <std::int64_t kRows, bool kIsExclusive>
  static void scan_rows(const T* x, T* y, std::int64_t step, Wide<T>* running,
                        std::int64_t width) {
    constexpr auto kLanes =
        static_cast<std::int64_t>(hn::MaxLanes(WideTag<T>()));
    // Rows may lie a page apart, where their lines fight for the same places of
    // the first-level cache: each is taken as a whole, read before any is
    // written, and not met again.
    constexpr std::int64_t kVectors =
        std::max<std::int64_t>(1, 64 / sizeof(T) / kLanes);
    std::int64_t i = 0;
    for (; i + kVectors * kLanes <= width; i += kVectors * kLanes) {
      WideVector<T> values[kRows][kVectors];
      for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t n = 0; n < kVectors; ++n) {
          values[row][n] = load_wide(x + row * step + i + n * kLanes);
        }
      }
      for (std::int64_t n = 0; n < kVectors; ++n) {
        Wide<T>* const place = running + i + n * kLanes;
        WideVector<T> now = hn::LoadU(WideTag<T>(), place);
        for (std::int64_t row = 0; row < kRows; ++row) {
          const WideVector<T> before = now;
          now = Running::combine(now, values[row][n]);
          values[row][n] = kIsExclusive ? before : now;
        }
        hn::StoreU(now, WideTag<T>(), place);
      }
      for (std::int64_t row = 0; row < kRows; ++row) {
        for (std::int64_t n = 0; n < kVectors; ++n) {
          store_narrow(values[row][n], y + row * step + i + n * kLanes);
        }
      }
    }
    for (; i < width; ++i) {
      for (std::int64_t row = 0; row < kRows; ++row) {
        const Wide<T> before = running[i];
        running[i] =
            Running::kCombine(before, static_cast<Wide<T>>(x[row * step + i]));
        y[row * step + i] = static_cast<T>(kIsExclusive ? before : running[i]);
      }
    }
  }

  template <std::int64_t kRows>
  void scan_rows(const T* x, T* y, std::int64_t step, Wide<T>* running,
                 std::int64_t width) const {
    if (is_exclusive_) {
      scan_rows<kRows, true>(x, y, step, running, width);
    } else {
      scan_rows<kRows, false>(x, y, step, running, width);
    }
  }

  // One row, past the caches.
  void stream_row(const T* x, T* y, Wide<T>* running,
                  std::int64_t width) const {
    make_tiles(reinterpret_cast<std::byte*>(y), width, sizeof(T), true,
               [&](std::int64_t first, std::int64_t count, std::byte* to) {
                 scan_rows<1>(x + first, reinterpret_cast<T*>(to), 0,
                              running + first, count);
               });
  }

  // What is shared out are columns of the outer axes, in row-major order.
  void scan_columns(const T* x, T* y) const {
    // More of them lie a page apart and fight for the same lines of the cache.
    constexpr std::int64_t kTogether = 4;
    constexpr auto kLeast = kLeastOfRow / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t least = std::min(kLeast, cut_.inner);
    parallel_for(
        cut_.outer * cut_.inner, std::max(least, grain()),
        [&](std::int64_t begin, std::int64_t end) {
          while (begin < end) {
            const std::int64_t column = begin % cut_.inner;
            // A range may begin in the middle of the columns.
            const std::int64_t width =
                std::min({cut_.inner - column, end - begin, kScanWidth});
            const std::int64_t start =
                begin / cut_.inner * cut_.size * cut_.inner + column;
            // What runs in each column lives on the stack while all rows pass.
            Wide<T> running[kScanWidth];
            std::fill_n(running, width, Wide<T>{Running::kStart});
            const std::int64_t step = is_reverse_ ? -cut_.inner : cut_.inner;
            std::int64_t n = 0;
            const auto scan = [&]<std::int64_t kRows>() {
              for (; n + kRows <= cut_.size; n += kRows) {
                const auto at = start + place(n, cut_.size) * cut_.inner;
                scan_rows<kRows>(x + at, y + at, step, running, width);
              }
            };
            // What outgrows the caches goes row by row past them, and leaves
            // nothing to the loops below.
            for (; streams_ && n < cut_.size; ++n) {
              const auto at = start + place(n, cut_.size) * cut_.inner;
              stream_row(x + at, y + at, running, width);
            }
            scan.template operator()<kTogether>();
            scan.template operator()<1>();
            begin += width;
          }
          if (streams_) finish_streaming();
        });
  }

  // Lines that are worth a thread.
  std::int64_t grain() const {
    return std::max<std::int64_t>(
        1, kScannedPerThread / std::max<std::int64_t>(1, cut_.size));
  }

  AxisCut cut_;
  bool is_exclusive_;
  bool is_reverse_;
  bool streams_;  // columns' results
};

template <class T, class Running>
std::unique_ptr<PreparedKernel> kernel_of(const OpCall& call) {
  const Scan<T, Running> scan(call);
  return make_kernel([scan](const KernelBuffers& buffers) {
    scan.run(input_of<T>(buffers, 0), output_of<T>(buffers, 0));
  });
}

template <class Running>
std::unique_ptr<PreparedKernel> prepare_running(const OpCall& call) {
  switch (call.input(0).dtype) {
    case DType::kF64:
      return kernel_of<double, Running>(call);
    case DType::kI32:
      return kernel_of<std::int32_t, Running>(call);
    case DType::kI64:
      return kernel_of<std::int64_t, Running>(call);
    default:
      return kernel_of<float, Running>(call);
  }
}

}  // namespace

void register_cpu_running(KernelRegistry& kernels) {
  kernels.add(
      {"cumsum", "cpu:scan", 10, running_declines, prepare_running<Sum>});
  kernels.add(
      {"cumprod", "cpu:scan", 10, running_declines, prepare_running<Product>});
}

}  // namespace weft
