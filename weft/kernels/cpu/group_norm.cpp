// Group normalisation and its gradient. The moments of an example's channels
// give those of its groups; with them, each channel has a few numbers by which
// one more pass makes the result. An example that fits the L2 cache is read
// from memory once.
//
// Examples are taken in parts, and their pixels in chunks, that depend on the
// shape alone: any number of threads gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/group_norm.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/foreach_target.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/any_float.h"
#include "weft/kernels/cpu/channel_moments.h"
#include "weft/kernels/simd/streaming.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

// What both directions share. T is the element of images; scale, shift and
// sums are of A.
template <class T, bool kIsGradient>
class GroupNormKernel : public PreparedKernel {
 public:
  explicit GroupNormKernel(const OpCall& call)
      : moments_(static_cast<std::size_t>(call.input(0).shape.back()),
                 static_cast<std::size_t>(call.input(0).shape.num_elements() /
                                          call.input(0).shape[0] /
                                          call.input(0).shape.back())),
        examples_(call.input(0).shape[0]),
        groups_(static_cast<std::size_t>(call.attributes.integer("groups"))),
        epsilon_(call.attributes.real("epsilon")),
        parts_(std::min(examples_, kMostParts)),
        is_large_((kIsGradient ? 3 : 2) * call.input(0).bytes() >=
                  least_streamed_bytes()) {}

  // Each part of the examples has these: sums of each channel over them, then
  // the moments of one example and the numbers that each of its channels needs.
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(parts_) * part_size() * sizeof(double);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const auto grain = 1 + kLeastWork / static_cast<std::int64_t>(size());
    const auto run_parts = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        run_part(buffers, part);
      }
    };
    // With too few parts for all threads, they share the chunks of each.
    if (parts_ < thread_count()) {
      run_parts(0, parts_);
    } else {
      parallel_for(parts_, grain, run_parts);
    }
    if constexpr (kIsGradient) add_parts(buffers);
  }

 private:
  using A = simd::Computed<T>;
  using V = simd::ComputedVector<T>;

  static constexpr std::int64_t kLeastWork = 4096;  // elements of a thread
  // Enough for most machines, and few enough that adding them up costs little.
  static constexpr std::int64_t kMostParts = 128;
  static constexpr std::size_t kSums = kIsGradient ? 2 : 0;
  // y = (x - a) b + c, or dx = (x - a) b + dy c + d.
  static constexpr std::size_t kNumbers = kIsGradient ? 4 : 3;

  std::size_t channels() const { return moments_.channels(); }
  std::size_t size() const { return moments_.rows() * channels(); }

  // In doubles, so that the sums of the next part are aligned.
  std::size_t part_size() const {
    const std::size_t bytes =
        (moments_.kept() + kNumbers * moments_.width()) * sizeof(A);
    return kSums * channels() + (bytes + sizeof(double) - 1) / sizeof(double);
  }

  struct Scratch {
    double* sums;  // for scale, then for shift
    A* kept;
    A* numbers;
  };

  Scratch scratch_of(const KernelBuffers& buffers, std::int64_t part) const {
    double* sums = static_cast<double*>(buffers.scratch) +
                   static_cast<std::size_t>(part) * part_size();
    auto* kept = reinterpret_cast<A*>(sums + kSums * channels());
    return {sums, kept, kept + moments_.kept()};
  }

  void run_part(const KernelBuffers& buffers, std::int64_t part) const {
    const Scratch scratch = scratch_of(buffers, part);
    std::fill_n(scratch.sums, kSums * channels(), 0.0);
    for (std::int64_t example = examples_ * part / parts_;
         example < examples_ * (part + 1) / parts_; ++example) {
      run_example(buffers, static_cast<std::size_t>(example) * size(), scratch);
    }
  }

  void run_example(const KernelBuffers& buffers, std::size_t first,
                   const Scratch& scratch) const {
    const T* x = static_cast<const T*>(buffers.inputs[0]) + first;
    const T* dy = nullptr;
    if constexpr (kIsGradient) {
      dy = static_cast<const T*>(buffers.inputs[2]) + first;
    }
    const auto chunks = static_cast<std::int64_t>(moments_.chunks());
    parallel_for(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk) {
        moments_.measure(x, dy, static_cast<std::size_t>(chunk), scratch.kept);
      }
    });
    for (std::size_t group = 0; group < groups_; ++group) {
      if constexpr (kIsGradient) {
        prepare_gradient(buffers, x, dy, group, scratch);
      } else {
        prepare_forward(buffers, x, group, scratch);
      }
    }
    repeat_numbers(scratch.numbers);
    T* y = static_cast<T*>(buffers.outputs[0]) + first;
    // A result that overwrites an operand finds its lines in the cache already.
    const bool streams = is_large_ && buffers.outputs[0] != buffers.inputs[0];
    // What chunks leave over, as it fills no row of theirs, joins the last one.
    const std::int64_t ranges = std::max<std::int64_t>(1, chunks);
    parallel_for(ranges, 1, [&](std::int64_t begin, std::int64_t end) {
      const std::size_t from =
          static_cast<std::size_t>(begin) * moments_.chunk_elements();
      const std::size_t to = end == ranges ? size()
                                           : static_cast<std::size_t>(end) *
                                                 moments_.chunk_elements();
      make_range(x + from, dy == nullptr ? dy : dy + from, scratch.numbers,
                 y + from, to - from, streams);
      if (streams) finish_streaming();
    });
  }

  // What a gradient needs of a group of channels of one example.
  struct GroupMoments {
    double mean, factor;
  };

  GroupMoments moments_of(const T* x, const T* dy, std::size_t group,
                          const A* kept) const {
    const auto for_each = [&](auto&& body) {
      for (std::size_t c = first_of(group); c < first_of(group + 1); ++c) {
        moments_.for_each_group(x, dy, kept, c, body);
      }
    };
    double sum = 0;
    // Means weighted by their counts do not cancel, where sums of squares would
    // (Chan et al., "Algorithms for computing the sample variance", 1983).
    for_each([&](const ChannelGroup& own) { sum += own.count * own.mean; });
    const double mean = sum / set_size();
    double squares = 0;
    for_each([&](const ChannelGroup& own) {
      // The squares about the common centre are those about the group's own,
      // and the distance of the two for each of its elements.
      const double distance = own.mean - mean;
      squares += own.squares + own.count * distance * distance;
    });
    return {mean, 1 / std::sqrt(squares / set_size() + epsilon_)};
  }

  std::size_t first_of(std::size_t group) const {
    return channels() / groups_ * group;
  }
  double set_size() const {
    return static_cast<double>(size()) / static_cast<double>(groups_);
  }

  A* numbers_of(const Scratch& scratch, std::size_t kind) const {
    return scratch.numbers + kind * moments_.width();
  }

  void prepare_forward(const KernelBuffers& buffers, const T* x,
                       std::size_t group, const Scratch& scratch) const {
    const A* scale = static_cast<const A*>(buffers.inputs[1]);
    const A* shift = static_cast<const A*>(buffers.inputs[2]);
    const GroupMoments of = moments_of(x, nullptr, group, scratch.kept);
    for (std::size_t c = first_of(group); c < first_of(group + 1); ++c) {
      numbers_of(scratch, 0)[c] = static_cast<A>(of.mean);
      numbers_of(scratch, 1)[c] =
          static_cast<A>(of.factor * static_cast<double>(scale[c]));
      numbers_of(scratch, 2)[c] = shift[c];
    }
  }

  // With c = x - mean, g = dy scale and f = 1 / sqrt(mean(c^2) + epsilon):
  //   dx = f (g - mean(g) - c f^2 mean(g c)),  dscale += dy c f,  dshift += dy.
  void prepare_gradient(const KernelBuffers& buffers, const T* x, const T* dy,
                        std::size_t group, const Scratch& scratch) const {
    const A* scale = static_cast<const A*>(buffers.inputs[1]);
    const GroupMoments of = moments_of(x, dy, group, scratch.kept);
    double mean_g = 0;
    double mean_gc = 0;
    for (std::size_t c = first_of(group); c < first_of(group + 1); ++c) {
      double slope = 0;
      double product = 0;
      moments_.for_each_group(
          x, dy, scratch.kept, c, [&](const ChannelGroup& own) {
            slope += own.slope;
            // The product was taken about the small group's own mean; this
            // moves it to that of the set.
            product += own.product + (own.mean - of.mean) * own.slope;
          });
      scratch.sums[c] += product * of.factor;
      scratch.sums[channels() + c] += slope;
      const auto weight = static_cast<double>(scale[c]);
      // Infinity times slopes of both signs would have met as NaN, which their
      // sum, taken first, may hide.
      const double nan_unless_finite = weight - weight;
      mean_g += weight * slope / set_size() + nan_unless_finite;
      mean_gc += weight * product / set_size();
    }
    const double curve = of.factor * of.factor * of.factor * mean_gc;
    for (std::size_t c = first_of(group); c < first_of(group + 1); ++c) {
      numbers_of(scratch, 0)[c] = static_cast<A>(of.mean);
      numbers_of(scratch, 1)[c] = static_cast<A>(-curve);
      numbers_of(scratch, 2)[c] =
          static_cast<A>(of.factor * static_cast<double>(scale[c]));
      numbers_of(scratch, 3)[c] = static_cast<A>(-of.factor * mean_g);
    }
  }

  // Pixels that lie side by side have the same numbers.
  void repeat_numbers(A* numbers) const {
    for (std::size_t kind = 0; kind < kNumbers; ++kind) {
      A* own = numbers + kind * moments_.width();
      for (std::size_t i = channels(); i < moments_.width(); ++i) {
        own[i] = own[i - channels()];
      }
    }
  }

  // Results [0, count), where the first one is of the first channel.
  void make_range(const T* x, const T* dy, const A* numbers, T* y,
                  std::size_t count, bool streams) const {
    const std::size_t width = moments_.width();
    make_tiles(reinterpret_cast<std::byte*>(y),
               static_cast<std::int64_t>(count), sizeof(T), streams,
               [=](std::int64_t first, std::int64_t some, std::byte* to) {
                 T* results = reinterpret_cast<T*>(to);
                 const auto begin = static_cast<std::size_t>(first);
                 const auto end = begin + static_cast<std::size_t>(some);
                 for (std::size_t i = begin; i < end;) {
                   const std::size_t c = i % width;
                   const std::size_t run = std::min(width - c, end - i);
                   make_run(x + i, dy == nullptr ? dy : dy + i, numbers + c,
                            width, results + (i - begin), run);
                   i += run;
                 }
               });
  }

  static void make_run(const T* x, const T* dy, const A* numbers,
                       std::size_t width, T* y, std::size_t count) {
    simd::for_each_vector_of<T>(
        count, [=](std::size_t i, auto lanes, std::size_t) {
          const A* own = numbers + i;
          const V c = hn::Sub(lanes.load(x + i), lanes.load(own));
          const V b = lanes.load(own + width);
          if constexpr (kIsGradient) {
            const V rest =
                hn::MulAdd(lanes.load(dy + i), lanes.load(own + 2 * width),
                           lanes.load(own + 3 * width));
            lanes.store(hn::MulAdd(c, b, rest), y + i);
          } else {
            lanes.store(hn::MulAdd(c, b, lanes.load(own + 2 * width)), y + i);
          }
        });
  }

  // They are added in the order of the parts.
  void add_parts(const KernelBuffers& buffers) const {
    for (std::size_t kind = 0; kind < kSums; ++kind) {
      A* result = static_cast<A*>(buffers.outputs[1 + kind]);
      for (std::size_t c = 0; c < channels(); ++c) {
        double total = 0;
        for (std::int64_t part = 0; part < parts_; ++part) {
          total += scratch_of(buffers, part).sums[kind * channels() + c];
        }
        result[c] = static_cast<A>(total);
      }
    }
  }

  ChannelMoments<T, kIsGradient> moments_;  // of one example
  std::int64_t examples_;
  std::size_t groups_;
  double epsilon_;
  std::int64_t parts_;  // of the examples
  bool is_large_;
};

template <class T>
using GroupNorm = GroupNormKernel<T, false>;
template <class T>
using GroupNormGradient = GroupNormKernel<T, true>;

void add_kernels(KernelRegistry& kernels) {
  kernels.add({.op = "group_norm",
               .name = "simd:group_norm",
               .rank = 10,
               .declines = declines_no_float,
               .prepare = prepare_any_float<GroupNorm>,
               .in_place = true});
  kernels.add({.op = "group_norm_gradient",
               .name = "simd:group_norm_gradient",
               .rank = 10,
               .declines = declines_no_float,
               .prepare = prepare_any_float<GroupNormGradient>,
               .in_place = true});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_group_norm(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
