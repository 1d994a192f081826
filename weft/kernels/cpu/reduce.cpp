// Reductions over any axes, in one pass at the speed of memory.
//
// Adjacent axes of one kind are merged, so that a call is one of two shapes:
// rows (the innermost axis is reduced: contiguous runs fold into one number
// each) or columns (the innermost axis is kept: rows of numbers fold into a
// row of accumulators). Work is cut into tasks by the shape alone and their
// results are combined in order, so the bits do not depend on the threads.
#include <algorithm>
#include <array>
#include <vector>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/folder.h"
#include "weft/ops/support/axes.h"

namespace weft {
namespace {

constexpr std::int64_t kRun = 8192;  // elements of a piece of a row
constexpr std::int64_t kMostFoldTasks = 64;
constexpr std::int64_t kTaskSize = 16 << 10;          // elements
constexpr std::int64_t kWidth = Folder::kMostTotals;  // columns of a task

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
    return columns == 1 && segments.count() == 1 && rows <= kRun;
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

class Reduction {
 public:
  Reduction(const Layout& layout, const Folder& folder, bool is_mean)
      : layout_(layout), folder_(folder), divisor_(is_mean ? layout.count : 1) {
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
                       std::max<std::int64_t>(1, kMostFoldTasks / tasks));
  }

  std::size_t scratch_bytes() const {
    return at(results() * chunks_) * folder_.total_bytes;
  }

  void operator()(const KernelBuffers& buffers) const {
    const auto* x = static_cast<const std::byte*>(buffers.inputs[0]);
    auto* y = static_cast<std::byte*>(buffers.outputs[0]);
    if (layout_.is_rows()) return fold_each_row(x, y);
    auto* partial = static_cast<std::byte*>(buffers.scratch);
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
  std::int64_t results() const {
    return layout_.items.count() * layout_.columns;
  }
  template <class Byte>
  Byte* element(Byte* base, std::int64_t index) const {
    return base + at(index) * folder_.element_bytes;
  }
  std::byte* total(std::byte* base, std::int64_t index) const {
    return base + at(index) * folder_.total_bytes;
  }

  // Rows one after another, short enough to be one task each.
  void fold_each_row(const std::byte* x, std::byte* y) const {
    const std::int64_t size = layout_.rows;
    parallel_for(layout_.items.count(),
                 std::max<std::int64_t>(1, 2 * kTaskSize / size),
                 [&](std::int64_t begin, std::int64_t end) {
                   folder_.each_row(element(x, begin * size), end - begin, size,
                                    divisor_, element(y, begin));
                 });
  }

  // Task -> (item, block of columns, chunk of the reduced places).
  void run_task(std::int64_t task, const std::byte* x, std::byte* y,
                std::byte* partial) const {
    const std::int64_t chunk = task % chunks_;
    const std::int64_t block = task / chunks_ % blocks_;
    const std::int64_t item = task / chunks_ / blocks_;
    const std::int64_t column = block * kWidth;
    const std::int64_t width = std::min(kWidth, layout_.columns - column);
    const std::int64_t place = item * layout_.columns + column;
    // On the stack, since threads that add to neighbours in memory would wait
    // for each other.
    alignas(64) std::array<std::byte, kWidth * sizeof(double)> totals;
    folder_.clear(totals.data(), width);
    const std::int64_t start = layout_.items.offset(item) + column;
    // Chunks are cut over segments and pieces together, so that they are equal
    // however long either is.
    const auto [first, last] =
        share(layout_.segments.count() * pieces_, chunk, chunks_);
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t row = unit % pieces_ * unit_;
      fold_unit(element(x, start + layout_.segments.offset(unit / pieces_) +
                               row * layout_.columns),
                std::min(unit_, layout_.rows - row), width, totals.data());
    }
    if (chunks_ == 1) {
      folder_.finish(totals.data(), width, divisor_, element(y, place));
    } else {
      std::copy_n(totals.data(), at(width) * folder_.total_bytes,
                  total(partial, chunk * results() + place));
    }
  }

  void fold_unit(const std::byte* x, std::int64_t rows, std::int64_t width,
                 std::byte* totals) const {
    if (layout_.columns == 1) {
      folder_.run(x, rows, totals);
    } else if (layout_.columns <= kWidth / 2 && rows > 8) {
      folder_.narrow_rows(x, rows, width, totals);
    } else {
      folder_.rows(x, rows, layout_.columns, width, totals);
    }
  }

  void combine(std::byte* partial, std::byte* y) const {
    // The chunks are added in order, on one thread.
    for (std::int64_t chunk = 1; chunk < chunks_; ++chunk) {
      folder_.totals(total(partial, chunk * results()), results(), partial);
    }
    folder_.finish(partial, results(), divisor_, y);
  }

  Layout layout_;
  Folder folder_;
  double divisor_;
  std::int64_t unit_;
  std::int64_t pieces_;
  std::int64_t blocks_;
  std::int64_t chunks_;
};

template <Fold kFold, bool kIsMean = false>
std::unique_ptr<PreparedKernel> prepare_reduce(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const AxisSet axes(call.attributes.integers("axes"), shape.rank());
  Reduction reduction(Layout(shape, axes),
                      folder_of(kFold, call.input(0).dtype), kIsMean);
  const std::size_t scratch = reduction.scratch_bytes();
  return make_kernel(std::move(reduction), scratch);
}

std::optional<std::string> declines_truth(const OpCall& call) {
  if (call.input(0).shape.num_elements() == 0) return "nothing to reduce";
  return std::nullopt;
}

}  // namespace

void register_cpu_reduce(KernelRegistry& kernels) {
  const auto add = [&](const char* op, auto declines, auto make) {
    kernels.add({op, "cpu:fold", 10, declines, make});
  };
  add("sum", declines_fold, prepare_reduce<Fold::kSum>);
  add("mean", declines_fold, prepare_reduce<Fold::kSum, true>);
  add("max", declines_fold, prepare_reduce<Fold::kMax>);
  add("min", declines_fold, prepare_reduce<Fold::kMin>);
  add("prod", declines_fold, prepare_reduce<Fold::kProduct>);
  add("any", declines_truth, prepare_reduce<Fold::kAny>);
  add("all", declines_truth, prepare_reduce<Fold::kAll>);
}

}  // namespace weft
