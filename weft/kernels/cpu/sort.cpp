// Order along an axis.
//
// An element and its position travel as one 64-bit key: the value's bits,
// mapped so that they compare as unsigned integers, above the position. So a
// plain sort of integers is a stable sort of the elements. Every NaN maps to
// the same largest value, and -0 to +0, as the references order them.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/ops/support/axes.h"

namespace weft {
namespace {

// Rows are shared out over at most this many pieces of scratch memory.
constexpr std::int64_t kMostSortTasks = 16;

constexpr std::uint32_t kSignBit = 0x80000000u;

std::uint32_t ordered(float value) {
  if (value != value) return ~std::uint32_t{0};
  // Adding zero makes +0 of -0 and changes nothing else.
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);
  // Floats are magnitudes with a sign: those of negative ones count backwards,
  // and the positive ones stand above them.
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}
std::uint32_t ordered(bfloat16 value) {
  return ordered(static_cast<float>(value));
}
std::uint32_t ordered(std::int32_t value) {
  // Turning the sign bit puts the negative ones below.
  return static_cast<std::uint32_t>(value) ^ kSignBit;
}

// Descending order keeps lower positions first, so only the value is turned.
template <class T>
std::uint64_t key_of(T value, std::int64_t position, bool descending) {
  const std::uint32_t order = ordered(value);
  return std::uint64_t{descending ? ~order : order} << 32 |
         static_cast<std::uint32_t>(position);
}

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

// Few keys of many are kept in a heap, whose top hardly ever changes.
constexpr std::int64_t kMostInHeap = 64;

// Leaves the `count` smallest keys of a line in order at the front of `keys`,
// which has room for the line. Its elements are `stride` apart.
template <class T>
void order_keys(const T* x, std::int64_t stride, std::int64_t size,
                std::int64_t count, bool descending, std::uint64_t* keys) {
  const bool uses_heap = count <= kMostInHeap && count < size / 4;
  const std::int64_t first = uses_heap ? count : size;
  for (std::int64_t i = 0; i < first; ++i) {
    keys[i] = key_of(x[i * stride], i, descending);
  }
  std::uint64_t* const end = keys + count;
  if (uses_heap) {
    std::make_heap(keys, end);
    for (std::int64_t i = first; i < size; ++i) {
      const std::uint64_t key = key_of(x[i * stride], i, descending);
      // The heap's top is the largest key that is kept, so that most keys need
      // one comparison.
      if (key > keys[0]) continue;
      std::pop_heap(keys, end);
      end[-1] = key;
      std::push_heap(keys, end);
    }
  } else if (count < size) {
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
