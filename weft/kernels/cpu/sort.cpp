// Order along an axis: an element and its position travel as one 64-bit key
// (ordered_key.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/cpu/ordered_key.h"
#include "weft/ops/support/axes.h"

namespace weft {
namespace {

// Rows are shared out over at most this many pieces of scratch memory.
constexpr std::int64_t kMostSortTasks = 16;

AxisCut cut_of(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  return {shape, resolved_axis(call.attributes.integer("axis"), shape.rank())};
}

std::optional<std::string> sort_declines(const OpCall& call) {
  const TensorType& x = call.input(0);
  if (x.shape.num_elements() == 0) return "nothing to order";
  if (cut_of(call).size > std::numeric_limits<std::int32_t>::max()) {
    return "positions do not fit into 32 bits";
  }
  switch (x.dtype) {
    case DType::kF32:
    case DType::kBF16:
    case DType::kI32:
      return std::nullopt;
    default:
      return "no 32-bit keys of " + std::string(to_string(x.dtype));
  }
}

// So few keys of many are kept in order while the line is read.
constexpr std::int64_t kMostKept = 64;
// Elements that are compared at once.
constexpr std::int64_t kCompared = 32;

// Also true of NaN, which is above all numbers.
template <class T>
bool is_above(T x, T most) {
  using Number = std::conditional_t<std::is_class_v<T>, float, T>;
  return !(static_cast<Number>(x) <= static_cast<Number>(most));
}

// Whether one of a block is. GCC makes vectors of a sum of integers, not of
// bools.
template <class T>
bool any_above(const T* x, T most) {
  int any = 0;
  for (std::int64_t i = 0; i < kCompared; ++i)
    any |= is_above(x[i], most) ? 1 : 0;
  return any != 0;
}

// The keys of the `count` largest elements of a line, in order.
template <class T>
void keep_largest(const T* x, std::int64_t stride, std::int64_t size,
                  std::int64_t count, std::uint64_t* keys) {
  for (std::int64_t i = 0; i < count; ++i) {
    keys[i] = key_of(x[i * stride], i, /*descending=*/true);
  }
  std::sort(keys, keys + count);
  std::uint64_t& last = keys[count - 1];
  const auto see = [&](std::int64_t i) {
    const std::uint64_t key = key_of(x[i * stride], i, /*descending=*/true);
    if (key > last) return;
    std::int64_t place = count - 1;
    for (; place > 0 && keys[place - 1] > key; --place) {
      keys[place] = keys[place - 1];
    }
    keys[place] = key;
  };
  // Lines that lie end to end are asked for a page ahead, where the processor's
  // own guesses end.
  const auto ask_ahead = [&](std::int64_t i) {
    const auto* ahead = reinterpret_cast<const std::byte*>(x + i) + 4096;
    for (std::size_t at = 0; at < kCompared * sizeof(T); at += 64)
      __builtin_prefetch(ahead + at);
  };
  std::int64_t i = count;
  for (; stride == 1 && i + kCompared <= size; i += kCompared) {
    ask_ahead(i);
    // Hardly any element of a long line is among the largest so far, so that
    // most blocks need no keys.
    const T most = x[static_cast<std::uint32_t>(last)];
    if (!any_above(x + i, most)) continue;
    // A place is written for each and kept for those above: which they are no
    // processor could foresee.
    std::int64_t above[kCompared];
    std::size_t count_above = 0;
    for (std::int64_t j = i; j < i + kCompared; ++j) {
      above[count_above] = j;
      count_above += is_above(x[j], most) ? 1U : 0U;
    }
    for (std::size_t n = 0; n < count_above; ++n) see(above[n]);
  }
  for (; i < size; ++i) see(i);
}

// Leaves the `count` smallest keys of a line in order at the front of `keys`,
// which has room for the line. Its elements are `stride` apart.
template <class T>
void order_keys(const T* x, std::int64_t stride, std::int64_t size,
                std::int64_t count, bool descending, std::uint64_t* keys) {
  if (descending && count > 0 && count <= kMostKept && count < size / 4)
    return keep_largest(x, stride, size, count, keys);
  for (std::int64_t i = 0; i < size; ++i) {
    keys[i] = key_of(x[i * stride], i, descending);
  }
  std::uint64_t* const end = keys + count;
  if (count < size) {
    // Keys are all different, so which of them are kept does not depend on the
    // library.
    std::nth_element(keys, end - 1, keys + size);
  }
  std::sort(keys, end);
}

template <class T>
std::unique_ptr<PreparedKernel> make_order(const OpCall& call,
                                           std::int64_t count,
                                           bool descending) {
  const AxisCut cut = cut_of(call);
  const std::int64_t lines = cut.outer * cut.inner;
  // Scratch memory is sized before the number of threads is known.
  const std::int64_t tasks = std::min(lines, kMostSortTasks);
  const auto run = [=](const KernelBuffers& buffers) {
    const T* x = input_of<T>(buffers, 0);
    T* values = output_of<T>(buffers, 0);
    auto* positions = output_of<std::int64_t>(buffers, 1);
    const auto order_line = [&](std::int64_t line, std::uint64_t* keys) {
      const std::int64_t outer = line / cut.inner;
      const std::int64_t column = line % cut.inner;
      const T* from = x + outer * cut.size * cut.inner + column;
      order_keys(from, cut.inner, cut.size, count, descending, keys);
      for (std::int64_t i = 0; i < count; ++i) {
        // The value is fetched again by its position: a key has lost which NaN
        // it was.
        const auto position = static_cast<std::uint32_t>(keys[i]);
        const std::int64_t to = (outer * count + i) * cut.inner + column;
        values[to] = from[position * cut.inner];
        positions[to] = position;
      }
    };
    parallel_for(tasks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        auto* keys =
            static_cast<std::uint64_t*>(buffers.scratch) + task * cut.size;
        for (std::int64_t line = lines * task / tasks;
             line < lines * (task + 1) / tasks; ++line) {
          order_line(line, keys);
        }
      }
    });
  };
  return make_kernel(
      run, static_cast<std::size_t>(tasks * cut.size) * sizeof(std::uint64_t));
}

std::unique_ptr<PreparedKernel> prepare_order(const OpCall& call,
                                              std::int64_t count,
                                              bool descending) {
  switch (call.input(0).dtype) {
    case DType::kBF16:
      return make_order<bfloat16>(call, count, descending);
    case DType::kI32:
      return make_order<std::int32_t>(call, count, descending);
    default:
      return make_order<float>(call, count, descending);
  }
}

std::unique_ptr<PreparedKernel> prepare_top_k(const OpCall& call) {
  return prepare_order(call, call.attributes.integer("k"), true);
}

std::unique_ptr<PreparedKernel> prepare_sort(const OpCall& call) {
  return prepare_order(call, cut_of(call).size,
                       call.attributes.flag("descending"));
}

}  // namespace

void register_cpu_sort(KernelRegistry& kernels) {
  kernels.add({"top_k", "cpu:keys", 10, sort_declines, prepare_top_k});
  kernels.add({"sort", "cpu:keys", 10, sort_declines, prepare_sort});
}

}  // namespace weft
