// Non-maximum suppression, a set of boxes on each thread.
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/cpu/ordered_key.h"
#include "weft/ops/support/suppression.h"

namespace weft {
namespace {

// Sorts by the upper 32 bits, and leaves equal ones in their order: four
// passes, a byte each, from keys to spare and back. A thousand scores take a
// quarter of the time of comparisons, whose outcomes no processor foresees.
void sort_by_upper_half(std::uint64_t* keys, std::uint64_t* spare,
                        std::int64_t n) {
  constexpr int kPasses = 4;
  const auto digit_of = [](std::uint64_t key, int pass) {
    return static_cast<std::size_t>(key >> (32 + 8 * pass) & 0xff);
  };
  std::array<std::array<std::int64_t, 256>, kPasses> places{};
  for (std::int64_t i = 0; i < n; ++i) {
    for (int pass = 0; pass < kPasses; ++pass)
      ++places[static_cast<std::size_t>(pass)][digit_of(keys[i], pass)];
  }
  for (int pass = 0; pass < kPasses; ++pass) {
    auto& place = places[static_cast<std::size_t>(pass)];
    std::int64_t before = 0;
    for (std::int64_t& count : place) before += std::exchange(count, before);
    for (std::int64_t i = 0; i < n; ++i)
      spare[place[digit_of(keys[i], pass)]++] = keys[i];
    std::swap(keys, spare);
  }
}

void order_scores(const float* scores, std::int64_t n, std::int64_t* order,
                  std::uint64_t* room) {
  for (std::int64_t i = 0; i < n; ++i)
    room[i] = key_of(scores[i], i, /*descending=*/true);
  sort_by_upper_half(room, room + n, n);
  for (std::int64_t i = 0; i < n; ++i)
    order[i] = static_cast<std::uint32_t>(room[i]);
}

// 32 bits do not hold what 64 distinguish.
void order_scores(const double* scores, std::int64_t n, std::int64_t* order,
                  std::uint64_t* /*room*/) {
  order_by_score(scores, n, order);
}

// The boxes that are kept, coordinate by coordinate, so that the compiler
// compares several of them with a box at once.
class KeptBoxes {
 public:
  static constexpr std::int64_t kNumbers = 5;  // of a box

  // `room` has kNumbers of `most` boxes.
  KeptBoxes(double* room, std::int64_t most)
      : left_(room),
        top_(room + most),
        right_(room + 2 * most),
        bottom_(room + 3 * most),
        area_(room + 4 * most) {}

  void add(const BoxCorners& box) {
    left_[count_] = box.left;
    top_[count_] = box.top;
    right_[count_] = box.right;
    bottom_[count_] = box.bottom;
    area_[count_++] = box.area();
  }

  bool hide(const BoxCorners& box, double threshold) const {
    constexpr std::int64_t kBlock = 32;
    for (std::int64_t begin = 0; begin < count_; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, count_);
      int any = 0;  // GCC makes no vectors of bools
      for (std::int64_t i = begin; i < end; ++i) {
        any |= overlap_by_more({left_[i], top_[i], right_[i], bottom_[i]},
                               area_[i], box, box.area(), threshold)
                   ? 1
                   : 0;
      }
      if (any != 0) return true;
    }
    return false;
  }

 private:
  double* left_;
  double* top_;
  double* right_;
  double* bottom_;
  double* area_;
  std::int64_t count_ = 0;
};

// As suppress() says.
template <class T>
std::int64_t suppress_fast(const T* boxes, std::int64_t n, double threshold,
                           std::int64_t most, const std::int64_t* order,
                           double* room, std::int64_t* indices) {
  KeptBoxes kept(room, most);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n && count < most; ++i) {
    const BoxCorners box = corners_of(boxes + 4 * order[i]);
    if (kept.hide(box, threshold)) continue;
    kept.add(box);
    indices[count++] = order[i];
  }
  std::fill(indices + count, indices + most, -1);
  return count;
}

template <class T>
std::unique_ptr<PreparedKernel> make_nms(const OpCall& call) {
  const std::int64_t sets = call.outputs[1].shape.num_elements();
  const std::int64_t n = call.input(1).shape.back();
  const std::int64_t most = call.attributes.integer("most");
  const double threshold = call.attributes.real("threshold");
  // A thread takes at least so many boxes.
  const std::int64_t grain = 1 + 256 / (n + 1);
  // Words of eight bytes: the order, keys and room to sort them, kept boxes.
  const std::int64_t words = 3 * n + KeptBoxes::kNumbers * most;
  static_assert(sizeof(double) == sizeof(std::int64_t));
  return make_kernel(
      [=](const KernelBuffers& buffers) {
        parallel_for(sets, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t set = begin; set < end; ++set) {
            auto* order =
                static_cast<std::int64_t*>(buffers.scratch) + set * words;
            order_scores(input_of<T>(buffers, 1) + set * n, n, order,
                         reinterpret_cast<std::uint64_t*>(order + n));
            output_of<std::int64_t>(buffers, 1)[set] = suppress_fast(
                input_of<T>(buffers, 0) + 4 * set * n, n, threshold, most,
                order, reinterpret_cast<double*>(order + 3 * n),
                output_of<std::int64_t>(buffers, 0) + set * most);
          }
        });
      },
      static_cast<std::size_t>(sets * words) * sizeof(std::int64_t));
}

std::optional<std::string> nms_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64)
    return fmt::format("takes f32 and f64, not {}", to_string(dtype));
  if (call.input(1).shape.back() > std::numeric_limits<std::int32_t>::max())
    return "positions do not fit into 32 bits";
  return std::nullopt;
}

std::unique_ptr<PreparedKernel> prepare_nms(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) return make_nms<double>(call);
  return make_nms<float>(call);
}

}  // namespace

void register_cpu_nms(KernelRegistry& kernels) {
  kernels.add({.op = "nms",
               .name = "cpu:nms",
               .rank = 10,
               .declines = nms_declines,
               .prepare = prepare_nms});
}

}  // namespace weft
