// Ops that address rows by integers. Sums into a row happen in the order of
// the indices: threads share out the rows of the result, not the updates.
#include <cstring>
#include <limits>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/indexing.h"
#include "weft/kernels/simd/pick.h"
#include "weft/kernels/simd/streaming.h"
#include "weft/ops/support/axes.h"

namespace weft {
namespace {

// Rows lie anywhere, so that no processor guesses the next one: it is asked for
// while those before it are copied.
constexpr std::int64_t kRowsAhead = 8;
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kMostPrefetched =
    8 * kLine;  // of a row; more it guesses
// A row of half of the first-level cache leaves room for the one before it.
constexpr std::int64_t kMostRowAhead = 16 << 10;

void prefetch(const void* from, std::int64_t bytes) {
  const auto* lines = static_cast<const std::byte*>(from);
  for (std::int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(lines + i);
}

std::unique_ptr<PreparedKernel> prepare_gather(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const AxisCut cut(
      shape, resolved_axis(call.attributes.integer("axis"), shape.rank()));
  const std::int64_t count = call.input(1).shape.num_elements();
  const std::int64_t row =
      cut.inner * static_cast<std::int64_t>(size_of(call.input(0).dtype));
  // Rows of less than two lines would be streamed in parts of lines, which
  // memory writes slower than whole ones.
  const bool streams =
      row >= 2 * kLine && 2 * call.outputs[0].bytes() >= least_streamed_bytes();
  return for_indices(call.input(1).dtype, [&]<class I>(I) {
    return make_kernel([=](const KernelBuffers& buffers) {
      const auto* x = input_of<std::byte>(buffers, 0);
      const I* indices = input_of<I>(buffers, 1);
      auto* y = output_of<std::byte>(buffers, 0);
      // Rows of no width have no address to copy from.
      if (row == 0) return;
      const auto source = [=](std::int64_t i) {
        // row_of() brings every index into its axis, so that no copy leaves the
        // operand: kernels do not throw (graph/index_check.h).
        const std::int64_t from =
            i / count * cut.size + row_of(indices[i % count], cut.size);
        return x + from * row;
      };
      parallel_for(cut.outer * count, grain_of(row),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       if (i + kRowsAhead < end) {
                         prefetch(source(i + kRowsAhead),
                                  std::min(row, kMostPrefetched));
                       }
                       if (streams)
                         stream_bytes(source(i), y + i * row, at(row));
                       else
                         std::memcpy(y + i * row, source(i), at(row));
                     }
                     if (streams) finish_streaming();
                   });
    });
  });
}

// Each thread clears its range of rows, then reads all indices and adds the
// updates that belong there.
std::unique_ptr<PreparedKernel> prepare_scatter_add(const OpCall& call) {
  const Shape& shape = call.outputs[0].shape;
  const AxisCut cut(
      shape, resolved_axis(call.attributes.integer("axis"), shape.rank()));
  const std::int64_t count = call.input(1).shape.num_elements();
  return for_summand(call.input(0).dtype, [&]<class T>(T) {
    return for_indices(call.input(1).dtype, [&]<class I>(I) {
      return make_kernel([=](const KernelBuffers& buffers) {
        const T* updates = input_of<T>(buffers, 0);
        const I* indices = input_of<I>(buffers, 1);
        T* y = output_of<T>(buffers, 0);
        const std::int64_t bytes =
            cut.outer * cut.inner * static_cast<std::int64_t>(sizeof(T));
        parallel_for(
            cut.size, grain_of(bytes),
            [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t outer = 0; outer < cut.outer; ++outer) {
                T* rows = y + outer * cut.size * cut.inner;
                const T* from = updates + outer * count * cut.inner;
                std::fill(rows + begin * cut.inner, rows + end * cut.inner,
                          T{0});
                for (std::int64_t i = 0; i < count; ++i, from += cut.inner) {
                  const std::int64_t row = row_of(indices[i], cut.size);
                  // Reading all indices on each thread is cheap beside the
                  // updates, and needs neither locks nor an order among
                  // threads.
                  if (row < begin || row >= end) continue;
                  T* to = rows + row * cut.inner;
                  for (std::int64_t n = 0; n < cut.inner; ++n) to[n] += from[n];
                }
              }
            });
      });
    });
  });
}

std::unique_ptr<PreparedKernel> prepare_one_hot(const OpCall& call) {
  const TensorType& y = call.outputs[0];
  const std::int64_t depth = y.shape.back();
  const std::int64_t count = call.input(0).shape.num_elements();
  // One is moved as bits, so that all dtypes of a width share a loop.
  const Tensor one = Tensor::scalar(1, y.dtype);
  return for_width(y.dtype, [&]<class T>(T) {
    return for_indices(call.input(0).dtype, [&]<class I>(I) {
      return make_kernel([=](const KernelBuffers& buffers) {
        const I* indices = input_of<I>(buffers, 0);
        T* to = output_of<T>(buffers, 0);
        T mark;
        std::memcpy(&mark, one.raw(), sizeof(T));
        parallel_for(count,
                     grain_of(depth * static_cast<std::int64_t>(sizeof(T))),
                     [&](std::int64_t begin, std::int64_t end) {
                       std::fill(to + begin * depth, to + end * depth, T{0});
                       for (std::int64_t i = begin; i < end; ++i) {
                         to[i * depth + class_of(indices[i], depth)] = mark;
                       }
                     });
      });
    });
  });
}

AxisCut pick_cut(const OpCall& call, const Shape& shape) {
  return {shape, resolved_axis(call.attributes.integer("axis"), shape.rank())};
}

// y[i] is the element of column i * step in the row that index i names.
template <class T, class I>
void pick_from(const T* rows, const I* indices, T* y, std::int64_t count,
               std::int64_t size, std::int64_t width, std::int64_t step) {
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = rows[row_of(indices[i], size) * width + i * step];
  }
}

// The same of one row, where its elements lie end to end.
template <class T, class I>
void pick_from_row(const T* row, const I* indices, T* y, std::int64_t count,
                   std::int64_t size, bool is_far) {
  if constexpr (sizeof(T) == 4 && std::is_same_v<I, std::int64_t>) {
    if (size <= std::numeric_limits<std::int32_t>::max()) {
      return pick(row, indices, y, count, size, is_far);
    }
  }
  pick_from(row, indices, y, count, size, 1, 0);
}

std::unique_ptr<PreparedKernel> prepare_pick(const OpCall& call) {
  const AxisCut cut = pick_cut(call, call.input(0).shape);
  const std::int64_t count = call.input(1).shape.num_elements();
  const std::int64_t rows = count == 0 ? 0 : count / cut.inner;
  const std::int64_t picks = count == 0 ? 1 : rows / cut.outer;
  const std::int64_t grain =
      count == 0 ? 1 : std::max<std::int64_t>(1, 4096 / cut.inner);
  const bool streams = call.input(1).bytes() + 2 * call.outputs[0].bytes() >=
                       least_streamed_bytes();
  // Picked in any order, a line at a time, a row would come in slowly: where
  // most of its lines are read it is asked for while the one before it is
  // picked from.
  const auto row_bytes =
      cut.size * static_cast<std::int64_t>(size_of(call.input(0).dtype));
  const bool asks_ahead =
      streams && row_bytes <= kMostRowAhead && picks >= row_bytes / kLine;
  return for_width(call.input(0).dtype, [&]<class T>(T) {
    return for_indices(call.input(1).dtype, [&]<class I>(I) {
      return make_kernel([=](const KernelBuffers& buffers) {
        const T* x = input_of<T>(buffers, 0);
        const I* indices = input_of<I>(buffers, 1);
        T* y = output_of<T>(buffers, 0);
        parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
          // A division for each row would take longer than a row of one.
          std::int64_t outer = begin / picks;
          for (std::int64_t row = begin; row < end; ++outer) {
            const T* from = x + outer * cut.size * cut.inner;
            const std::int64_t last = std::min(end, (outer + 1) * picks);
            if (cut.inner == 1) {
              if (asks_ahead && last < end)
                prefetch(from + cut.size, row_bytes);
              make_results(
                  reinterpret_cast<std::byte*>(y + row), last - row, sizeof(T),
                  streams,
                  [&](std::int64_t first, std::int64_t some, std::byte* to) {
                    pick_from_row(from, indices + row + first,
                                  reinterpret_cast<T*>(to), some, cut.size,
                                  streams);
                  });
              row = last;
            }
            for (; row < last; ++row) {
              const std::int64_t place = row * cut.inner;
              pick_from(from, indices + place, y + place, cut.inner, cut.size,
                        cut.inner, 1);
            }
          }
        });
      });
    });
  });
}

std::optional<std::string> declines_pick_scatter(const OpCall& call) {
  if (call.outputs[0].shape.num_elements() == 0) return "nothing to write";
  return declines_sum(call);
}

// Each thread clears columns along the axis and adds what belongs there.
std::unique_ptr<PreparedKernel> prepare_pick_scatter(const OpCall& call) {
  constexpr std::int64_t kWidth = 256;
  const AxisCut cut = pick_cut(call, call.outputs[0].shape);
  const std::int64_t picks =
      call.input(1).shape.num_elements() / (cut.outer * cut.inner);
  const std::int64_t blocks = (cut.inner + kWidth - 1) / kWidth;
  return for_summand(call.input(0).dtype, [&]<class T>(T) {
    return for_indices(call.input(1).dtype, [&]<class I>(I) {
      const auto scatter_block = [=](const T* values, const I* indices, T* y,
                                     std::int64_t width) {
        // Several picks may name one place, so that all start from 0 and add
        // up, in the order of the indices.
        for (std::int64_t row = 0; row < cut.size; ++row) {
          std::fill_n(y + row * cut.inner, width, T{0});
        }
        for (std::int64_t i = 0; i < picks; ++i) {
          for (std::int64_t n = 0; n < width; ++n) {
            const std::int64_t from = i * cut.inner + n;
            y[row_of(indices[from], cut.size) * cut.inner + n] += values[from];
          }
        }
      };
      return make_kernel([=](const KernelBuffers& buffers) {
        const T* values = input_of<T>(buffers, 0);
        const I* indices = input_of<I>(buffers, 1);
        T* y = output_of<T>(buffers, 0);
        const std::int64_t bytes = cut.size * std::min(cut.inner, kWidth) *
                                   static_cast<std::int64_t>(sizeof(T));
        parallel_for(
            cut.outer * blocks, grain_of(bytes),
            [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t block = begin; block < end; ++block) {
                const std::int64_t outer = block / blocks;
                const std::int64_t column = block % blocks * kWidth;
                const std::int64_t from = outer * picks * cut.inner + column;
                scatter_block(values + from, indices + from,
                              y + outer * cut.size * cut.inner + column,
                              std::min(kWidth, cut.inner - column));
              }
            });
      });
    });
  });
}

}  // namespace

void register_cpu_index(KernelRegistry& kernels) {
  kernels.add({"gather", "cpu:rows", 10, nullptr, prepare_gather});
  kernels.add(
      {"scatter_add", "cpu:rows", 10, declines_sum, prepare_scatter_add});
  kernels.add({"one_hot", "cpu:rows", 10, nullptr, prepare_one_hot});
  kernels.add({"pick", "cpu:rows", 10, nullptr, prepare_pick});
  kernels.add({"pick_scatter", "cpu:rows", 10, declines_pick_scatter,
               prepare_pick_scatter});
}

}  // namespace weft
