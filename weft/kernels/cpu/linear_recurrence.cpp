// Linear recurrences along an axis. What runs is a double, so that long lines
// of f32 stay as exact as short ones.
#include <algorithm>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/ops/support/axes.h"

namespace weft {
namespace {

constexpr std::int64_t kElementsOfRecurrence = 16 << 10;
constexpr std::int64_t kLinesTogether = 4;  // lines that lie end to end
constexpr std::int64_t kStates = 256;  // columns whose state is on the stack

std::optional<std::string> recurrence_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kF64) return std::nullopt;
  return "what runs needs more bits than " + std::string(to_string(dtype));
}

template <class T>
struct Recurrence {
  explicit Recurrence(const OpCall& call)
      : cut(call.input(0).shape, resolved_axis(call.attributes.integer("axis"),
                                               call.input(0).shape.rank())),
        is_reverse(call.attributes.flag("reverse")) {}

  // `width` lines, whose first elements lie `apart` from each other, and whose
  // own elements lie `step` apart. Side by side they take as long as one, since
  // each step waits for the one before it.
  // (`apart` is a constant 1 for columns, which makes vectors of them.)
  template <class Apart>
  void run_lines(const T* a, const T* b, T* y, std::int64_t width, Apart apart,
                 std::int64_t step) const {
    if (cut.size == 0) return;
    double state[kStates];
    const std::int64_t along = is_reverse ? -step : step;
    std::int64_t at = is_reverse ? (cut.size - 1) * step : 0;
    // The first has none before it: a says nothing there, not even by NaN.
    for (std::int64_t i = 0; i < width; ++i) {
      y[at + i * apart] = b[at + i * apart];
      state[i] = static_cast<double>(b[at + i * apart]);
    }
    for (std::int64_t n = 1; n < cut.size; ++n) {
      at += along;
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t place = at + i * apart;
        state[i] = static_cast<double>(a[place]) * state[i] +
                   static_cast<double>(b[place]);
        y[place] = static_cast<T>(state[i]);
      }
    }
  }

  void run(const T* a, const T* b, T* y) const {
    const std::int64_t width =
        cut.inner == 1 ? kLinesTogether : std::min(kStates, cut.inner);
    const std::int64_t grain = std::max<std::int64_t>(
        width, kElementsOfRecurrence / std::max<std::int64_t>(1, cut.size));
    parallel_for(
        cut.outer * cut.inner, grain,
        [&](std::int64_t begin, std::int64_t end) {
          while (begin < end) {
            if (cut.inner == 1) {
              const std::int64_t lines = std::min(kLinesTogether, end - begin);
              const std::int64_t at = begin * cut.size;
              run_lines(a + at, b + at, y + at, lines, cut.size, 1);
              begin += lines;
              continue;
            }
            // A range may begin in the middle of the columns.
            const std::int64_t column = begin % cut.inner;
            const std::int64_t columns =
                std::min({kStates, cut.inner - column, end - begin});
            const std::int64_t at =
                begin / cut.inner * cut.size * cut.inner + column;
            run_lines(a + at, b + at, y + at, columns,
                      std::integral_constant<std::int64_t, 1>(), cut.inner);
            begin += columns;
          }
        });
  }

  AxisCut cut;
  bool is_reverse;
};

template <class T>
std::unique_ptr<PreparedKernel> kernel_of(const OpCall& call) {
  const Recurrence<T> recurrence(call);
  return make_kernel([recurrence](const KernelBuffers& buffers) {
    recurrence.run(input_of<T>(buffers, 0), input_of<T>(buffers, 1),
                   output_of<T>(buffers, 0));
  });
}

std::unique_ptr<PreparedKernel> prepare_recurrence(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) return kernel_of<double>(call);
  return kernel_of<float>(call);
}

}  // namespace

void register_cpu_linear_recurrence(KernelRegistry& kernels) {
  kernels.add({"linear_recurrence", "cpu:scan", 10, recurrence_declines,
               prepare_recurrence});
}

}  // namespace weft
