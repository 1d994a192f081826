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
#include <cmath>
#include <hwy/foreach_target.h>
#include <limits>
#include <vector>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/axes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kLanes = 64;   // accumulators of a run
constexpr std::int64_t kRun = 8192;   // elements of a piece of a row
constexpr std::int64_t kWidth = 512;  // columns of a task
// A task is worth its start from about so many elements on.
constexpr std::int64_t kTaskSize = 16 << 10;
// The results of chunks are combined one after the other, so a call is cut into
// no more of them than keep many threads busy.
constexpr std::int64_t kMostTasks = 64;

// What floats narrower than f32 and integers narrower than i64 add up in.
template <class T>
using Accumulator = std::conditional_t<
    std::is_integral_v<T>, std::int64_t,
    std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <class T>
Accumulator<T> widen(T value) {
  return static_cast<Accumulator<T>>(value);
}

struct Sum {
  template <class A>
  static constexpr A identity = A{0};
  template <class A>
  static A fold(A a, A b) {
    return a + b;
  }
};

struct Product {
  template <class A>
  static constexpr A identity = A{1};
  template <class A>
  static A fold(A a, A b) {
    return a * b;
  }
};

// NaN wins on either side: (b != b) takes it, and nothing beats it after.
struct Max {
  template <class A>
  static constexpr A identity = std::numeric_limits<A>::has_infinity
                                    ? -std::numeric_limits<A>::infinity()
                                    : std::numeric_limits<A>::lowest();
  template <class A>
  static A fold(A a, A b) {
    // Without branches, compilers make vectors of it: hence | and not ||.
    return ((b > a) | (b != b)) ? b : a;
  }
};

struct Min {
  template <class A>
  static constexpr A identity = std::numeric_limits<A>::has_infinity
                                    ? std::numeric_limits<A>::infinity()
                                    : std::numeric_limits<A>::max();
  template <class A>
  static A fold(A a, A b) {
    return ((b < a) | (b != b)) ? b : a;
  }
};

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

// One contiguous run, into independent chains of additions.
template <class Op, std::int64_t kChains, class T>
Accumulator<T> fold_chains(const T* x, std::int64_t size) {
  using A = Accumulator<T>;
  // A chain waits for its own last addition only, so many of them keep the
  // units busy.
  A lanes[kChains];
  std::fill_n(lanes, kChains, Op::template identity<A>);
  std::int64_t i = 0;
  for (; i + kChains <= size; i += kChains) {
    for (std::int64_t lane = 0; lane < kChains; ++lane) {
      lanes[lane] = Op::fold(lanes[lane], widen(x[i + lane]));
    }
  }
  for (std::int64_t lane = 0; lane < size - i; ++lane) {
    lanes[lane] = Op::fold(lanes[lane], widen(x[i + lane]));
  }
  // Pairs are folded as a tree, whose rounding errors grow with its depth
  // alone.
  for (std::int64_t half = kChains / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) {
      lanes[lane] = Op::fold(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

template <class Op, class T>
Accumulator<T> fold_run(const T* x, std::int64_t size) {
  // A short run would spend most of its time folding empty chains.
  if (size >= kLanes) return fold_chains<Op, kLanes>(x, size);
  return fold_chains<Op, 4>(x, size);
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

template <class Body>
std::unique_ptr<PreparedKernel> for_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF64:
      return body(double{});
    case DType::kBF16:
      return body(bfloat16{});
    case DType::kI32:
      return body(std::int32_t{});
    case DType::kI64:
      return body(std::int64_t{});
    default:
      return body(float{});
  }
}

std::optional<std::string> declines(const OpCall& call) {
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

template <class Op, bool kIsMean = false>
std::unique_ptr<PreparedKernel> prepare(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const Layout layout(shape,
                      AxisSet(call.attributes.integers("axes"), shape.rank()));
  return for_type(call.input(0).dtype, [&]<class T>(T) {
    Reduction<Op, T> reduction(layout, kIsMean);
    const std::size_t scratch = reduction.scratch_bytes();
    return make_kernel(std::move(reduction), scratch);
  });
}

// The first place of the maximum of a run, or of its first NaN, which Max
// keeps. Whole vectors find the piece that it is in; an element at a time would
// look at half of the run for the place.
template <class T>
std::int64_t argmax_run(const T* x, std::int64_t size) {
  constexpr std::int64_t kPiece = 256;
  using A = Accumulator<T>;
  A best = Max::identity<A>;
  std::int64_t place = 0;
  // The search ends at the first NaN, which nothing beats. A later piece must
  // be greater to win, so the first of equals stays.
  for (std::int64_t begin = 0; begin < size && best == best; begin += kPiece) {
    const A most = fold_run<Max>(x + begin, std::min(kPiece, size - begin));
    if (most > best || most != most) {
      best = most;
      place = begin;
    }
  }
  const auto is_best = [&](A value) {
    return best == best ? value == best : value != value;
  };
  // The piece holds the value, so the loop ends within it.
  while (!is_best(widen(x[place]))) ++place;
  return place;
}

// The same down each of `width` columns.
template <class T>
void argmax_columns(const T* x, std::int64_t rows, std::int64_t stride,
                    std::int64_t width, std::int64_t* y) {
  using A = Accumulator<T>;
  A best[kWidth];
  std::fill_n(best, width, Max::identity<A>);
  std::fill_n(y, width, 0);
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    for (std::int64_t i = 0; i < width; ++i) {
      const A value = widen(x[i]);
      const bool wins =
          (value > best[i]) | ((value != value) & (best[i] == best[i]));
      // Selecting instead of branching lets the columns be one vector.
      y[i] = wins ? row : y[i];
      best[i] = wins ? value : best[i];
    }
  }
}

std::unique_ptr<PreparedKernel> prepare_argmax(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const AxisCut cut(
      shape, resolved_axis(call.attributes.integer("axis"), shape.rank()));
  return for_type(call.input(0).dtype, [&]<class T>(T) {
    return make_kernel([cut](const KernelBuffers& buffers) {
      const T* x = input_of<T>(buffers, 0);
      auto* y = output_of<std::int64_t>(buffers, 0);
      const std::int64_t blocks = (cut.inner + kWidth - 1) / kWidth;
      const std::int64_t work =
          std::max<std::int64_t>(1, cut.size * std::min(cut.inner, kWidth));
      parallel_for(
          cut.outer * blocks, std::max<std::int64_t>(1, kTaskSize / work),
          [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t task = begin; task < end; ++task) {
              const std::int64_t outer = task / blocks;
              const std::int64_t column = task % blocks * kWidth;
              const T* from = x + outer * cut.size * cut.inner + column;
              std::int64_t* to = y + outer * cut.inner + column;
              if (cut.inner == 1) {
                *to = argmax_run(from, cut.size);
              } else {
                argmax_columns(from, cut.size, cut.inner,
                               std::min(kWidth, cut.inner - column), to);
              }
            }
          });
    });
  });
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
  add("argmax", prepare_argmax);
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
