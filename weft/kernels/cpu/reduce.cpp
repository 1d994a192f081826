// Reductions over any axes, in one pass at the speed of memory.
//
// Adjacent axes of one kind are merged, so that a call is one of two shapes:
// rows (the innermost axis is reduced: contiguous runs fold into one number
// each) or columns (the innermost axis is kept: rows of numbers fold into a
// row of accumulators). Work is cut into tasks by the shape alone and their
// results are combined in order, so the bits do not depend on the threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/reduce.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <vector>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/fold.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/axes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using namespace folds;

constexpr std::int64_t kRun = 8192;  // elements of a piece of a row
constexpr std::int64_t kMostTasks = 64;

// Some axes of the operand, counted through in row-major order.
class Walk {
 public:
  void add(std::int64_t extent, std::int64_t stride) {
    axes_.push_back({extent, stride});
    count_ *= extent;
  }
  std::int64_t count() const { return count_; }
  std::int64_t offset(std::int64_t index) const {
    std::int64_t offset = 0;
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
      offset += index % axis->first * axis->second;
      index /= axis->first;
    }
    return offset;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> axes_;
  std::int64_t count_ = 1;
};

// The call as rows x columns of contiguous elements, at `items` places that
// are kept and `segments` places each that are reduced.
struct Layout {
  Walk items;
  Walk segments;
  std::int64_t rows = 1;
  std::int64_t columns = 1;  // 1: the innermost axis is reduced
  double count = 1;          // elements behind each result

  // A matrix whose rows are short.
  bool is_rows() const {
    return columns == 1 && segments.count() == 1 && rows <= kRun &&
           items.count() >= kMostTasks;
  }

  Layout(const Shape& shape, const AxisSet& axes) {
    struct Group {
      std::int64_t extent;
      bool is_reduced;
    };
    std::vector<Group> groups;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      // An axis of one is of both kinds, and would only part neighbours.
      if (shape[axis] == 1) continue;
      // Neighbours of one kind are one longer axis: elements keep their order.
      if (!groups.empty() && groups.back().is_reduced == axes.has(axis)) {
        groups.back().extent *= shape[axis];
      } else {
        groups.push_back({shape[axis], axes.has(axis)});
      }
      if (axes.has(axis)) count *= static_cast<double>(shape[axis]);
    }
    std::int64_t stride = 1;
    const auto take = [&](std::int64_t& extent) {
      extent = groups.back().extent;
      stride *= extent;
      groups.pop_back();
    };
    if (!groups.empty() && !groups.back().is_reduced) take(columns);
    if (!groups.empty()) take(rows);
    std::vector<std::pair<Group, std::int64_t>> outer;
    for (; !groups.empty(); groups.pop_back()) {
      outer.push_back({groups.back(), stride});
      stride *= groups.back().extent;
    }
    for (auto group = outer.rbegin(); group != outer.rend(); ++group) {
      (group->first.is_reduced ? segments : items)
          .add(group->first.extent, group->second);
    }
  }
};

// Range `part` of `parts` equal ones of [0, size).
std::pair<std::int64_t, std::int64_t> share(std::int64_t size,
                                            std::int64_t part,
                                            std::int64_t parts) {
  return {size * part / parts, size * (part + 1) / parts};
}

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

template <class Op, class T>
class Reduction {
 public:
  using A = Accumulator<T>;

  Reduction(const Layout& layout, bool is_mean)
      : layout_(layout), divisor_(is_mean ? layout.count : 1) {
    const bool in_rows = layout.columns == 1;
    // A unit is what one task takes at least.
    unit_ =
        in_rows ? kRun : std::max<std::int64_t>(64, kTaskSize / layout.columns);
    pieces_ = (layout.rows + unit_ - 1) / unit_;
    blocks_ = (layout.columns + kWidth - 1) / kWidth;
    const std::int64_t tasks = layout.items.count() * blocks_;
    // Where results are many, each is one task; where they are few, the reduced
    // places are cut too, into as many chunks as keep the threads busy.
    chunks_ = std::min(layout.segments.count() * pieces_,
                       std::max<std::int64_t>(1, kMostTasks / tasks));
  }

  std::size_t scratch_bytes() const {
    return at(layout_.items.count() * layout_.columns * chunks_) * sizeof(A);
  }

  void operator()(const KernelBuffers& buffers) const {
    const T* x = input_of<T>(buffers, 0);
    T* y = output_of<T>(buffers, 0);
    if (layout_.is_rows()) return fold_each_row(x, y);
    A* partial = static_cast<A*>(buffers.scratch);
    const std::int64_t work = std::max<std::int64_t>(
        1, layout_.segments.count() * layout_.rows *
               std::min(layout_.columns, kWidth) / chunks_);
    const std::int64_t tasks = layout_.items.count() * blocks_ * chunks_;
    parallel_for(tasks, std::max<std::int64_t>(1, 2 * kTaskSize / work),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t task = begin; task < end; ++task) {
                     run_task(task, x, y, partial);
                   }
                 });
    if (chunks_ > 1) combine(partial, y);
  }

 private:
  // Rows one after another, short enough to be one task each.
  void fold_each_row(const T* x, T* y) const {
    const std::int64_t size = layout_.rows;
    parallel_for(layout_.items.count(),
                 std::max<std::int64_t>(1, 2 * kTaskSize / size),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     y[row] = finish(fold_run<Op>(x + row * size, size));
                   }
                 });
  }

  // Task -> (item, block of columns, chunk of the reduced places).
  void run_task(std::int64_t task, const T* x, T* y, A* partial) const {
    const std::int64_t chunk = task % chunks_;
    const std::int64_t block = task / chunks_ % blocks_;
    const std::int64_t item = task / chunks_ / blocks_;
    const std::int64_t column = block * kWidth;
    const std::int64_t width = std::min(kWidth, layout_.columns - column);
    A totals[kWidth];
    std::fill_n(totals, width, Op::template identity<A>);
    const T* start = x + layout_.items.offset(item) + column;
    const auto [first, last] =
        share(layout_.segments.count() * pieces_, chunk, chunks_);
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t row = unit % pieces_ * unit_;
      fold_unit(start + layout_.segments.offset(unit / pieces_) +
                    row * layout_.columns,
                std::min(unit_, layout_.rows - row), width, totals);
    }
    const std::int64_t place = item * layout_.columns + column;
    if (chunks_ == 1) {
      for (std::int64_t i = 0; i < width; ++i) y[place + i] = finish(totals[i]);
    } else {
      std::copy_n(
          totals, width,
          partial + chunk * layout_.items.count() * layout_.columns + place);
    }
  }

  void fold_unit(const T* x, std::int64_t rows, std::int64_t width,
                 A* totals) const {
    if (layout_.columns == 1) {
      totals[0] = Op::fold(totals[0], fold_run<Op>(x, rows));
    } else if (layout_.columns <= kWidth / 8 && rows > 8) {
      fold_narrow_rows<Op>(x, rows, width, totals);
    } else {
      fold_rows<Op>(x, rows, layout_.columns, width, totals);
    }
  }

  void combine(const A* partial, T* y) const {
    const std::int64_t size = layout_.items.count() * layout_.columns;
    for (std::int64_t i = 0; i < size; ++i) {
      A total = partial[i];
      for (std::int64_t chunk = 1; chunk < chunks_; ++chunk) {
        total = Op::fold(total, partial[chunk * size + i]);
      }
      y[i] = finish(total);
    }
  }

  T finish(A total) const {
    if constexpr (std::is_integral_v<T>) {
      // Inference refuses a mean of integers, so nothing is divided.
      return static_cast<T>(total);
    } else {
      return static_cast<T>(total / static_cast<A>(divisor_));
    }
  }

  Layout layout_;
  double divisor_;
  std::int64_t unit_;
  std::int64_t pieces_;
  std::int64_t blocks_;
  std::int64_t chunks_;
};

Layout layout_of(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  return {shape, AxisSet(call.attributes.integers("axes"), shape.rank())};
}

template <class Op, class T>
std::unique_ptr<PreparedKernel> prepare_for(const OpCall& call, bool is_mean) {
  Reduction<Op, T> reduction(layout_of(call), is_mean);
  const std::size_t scratch = reduction.scratch_bytes();
  return make_kernel(std::move(reduction), scratch);
}

template <class Op, bool kIsMean = false>
std::unique_ptr<PreparedKernel> prepare(const OpCall& call) {
  return for_type(call.input(0).dtype, [&]<class T>(T) {
    return prepare_for<Op, T>(call, kIsMean);
  });
}

template <class Op>
std::unique_ptr<PreparedKernel> prepare_truth(const OpCall& call) {
  return prepare_for<Op, std::uint8_t>(call, false);
}

std::optional<std::string> declines_truth(const OpCall& call) {
  if (call.input(0).shape.num_elements() == 0) return "nothing to reduce";
  return std::nullopt;
}

void add_kernels(KernelRegistry& kernels) {
  const auto add = [&](const char* op,
                       std::unique_ptr<PreparedKernel> (*make)(const OpCall&)) {
    kernels.add({op, "cpu:fold", 10, declines, make});
  };
  add("sum", prepare<Sum>);
  add("mean", prepare<Sum, true>);
  add("max", prepare<Max>);
  add("min", prepare<Min>);
  add("prod", prepare<Product>);
  kernels.add({"any", "cpu:fold", 10, declines_truth, prepare_truth<Any>});
  kernels.add({"all", "cpu:fold", 10, declines_truth, prepare_truth<All>});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_reduce(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
