// Transpositions between planes of a few channels and pixels whose channels lie
// side by side, as images are given and as they are computed with: vectors of
// the channels are woven into each other, or taken apart.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/channels.cpp"
#include <hwy/foreach_target.h>
#include <optional>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/axes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;
using simd::kLanes;

constexpr Dim kFewest = 2, kMost = 4;  // channels

bool are_few(Dim channels) { return channels >= kFewest && channels <= kMost; }

// [images, channels, pixels] and [images, pixels, channels].
struct Planes {
  std::size_t images, channels, pixels;
  bool are_woven;  // whether the planes are the operand
};

// What the call moves, if it does nothing but that. Axes before are images;
// pixels may have several axes.
std::optional<Planes> planes_of(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const int rank = shape.rank();
  Integers order = call.attributes.integers("permutation");
  if (order.empty()) return std::nullopt;
  for (std::int64_t& axis : order) axis = resolved_axis(axis, rank);
  int first = 0;
  while (first < rank && order[at(first)] == first) ++first;
  if (rank - first < 2) return std::nullopt;
  const auto product_of = [&](int begin, int end) {
    std::size_t count = 1;
    for (int axis = begin; axis < end; ++axis) count *= at(shape[axis]);
    return count;
  };
  const std::size_t images = product_of(0, first);
  // The moved axis goes to the end, or comes from there; others keep their
  // order.
  const bool goes_back = order.back() == first && are_few(shape[first]);
  const bool comes_forward = order[at(first)] == rank - 1;
  for (int axis = first; axis + 1 < rank; ++axis) {
    const std::size_t place = at(goes_back ? axis : axis + 1);
    if (order[place] != (goes_back ? axis + 1 : axis)) return std::nullopt;
  }
  if (goes_back) {
    return Planes{images, at(shape[first]), product_of(first + 1, rank), true};
  }
  if (!comes_forward) return std::nullopt;
  return Planes{images, at(shape[rank - 1]), product_of(first, rank - 1),
                false};
}

template <std::size_t kChannels>
void weave(const float* planes, std::size_t pixels, std::size_t begin,
           std::size_t end, float* to) {
  const simd::Floats floats;
  std::size_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    const auto plane = [&](std::size_t channel) {
      return hn::LoadU(floats, planes + channel * pixels + i);
    };
    float* place = to + i * kChannels;
    if constexpr (kChannels == 2) {
      hn::StoreInterleaved2(plane(0), plane(1), floats, place);
    } else if constexpr (kChannels == 3) {
      hn::StoreInterleaved3(plane(0), plane(1), plane(2), floats, place);
    } else {
      hn::StoreInterleaved4(plane(0), plane(1), plane(2), plane(3), floats,
                            place);
    }
  }
  for (; i < end; ++i) {
    for (std::size_t c = 0; c < kChannels; ++c) {
      to[i * kChannels + c] = planes[c * pixels + i];
    }
  }
}

template <std::size_t kChannels>
void take_apart(const float* woven, std::size_t pixels, std::size_t begin,
                std::size_t end, float* planes) {
  const simd::Floats floats;
  std::size_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    const float* place = woven + i * kChannels;
    simd::Vector plane[4];
    if constexpr (kChannels == 2) {
      hn::LoadInterleaved2(floats, place, plane[0], plane[1]);
    } else if constexpr (kChannels == 3) {
      hn::LoadInterleaved3(floats, place, plane[0], plane[1], plane[2]);
    } else {
      hn::LoadInterleaved4(floats, place, plane[0], plane[1], plane[2],
                           plane[3]);
    }
    for (std::size_t c = 0; c < kChannels; ++c) {
      hn::StoreU(plane[c], floats, planes + c * pixels + i);
    }
  }
  for (; i < end; ++i) {
    for (std::size_t c = 0; c < kChannels; ++c) {
      planes[c * pixels + i] = woven[i * kChannels + c];
    }
  }
}

template <std::size_t kChannels>
class Channels : public PreparedKernel {
 public:
  explicit Channels(const Planes& planes) : planes_(planes) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const std::size_t size = kChannels * planes_.pixels;
    for (std::size_t image = 0; image < planes_.images; ++image) {
      const float* from =
          static_cast<const float*>(buffers.inputs[0]) + image * size;
      float* to = static_cast<float*>(buffers.outputs[0]) + image * size;
      parallel_for(static_cast<std::int64_t>(planes_.pixels), kPixelsOfThread,
                   [&](std::int64_t begin, std::int64_t end) {
                     if (planes_.are_woven) {
                       weave<kChannels>(from, planes_.pixels, at(begin),
                                        at(end), to);
                     } else {
                       take_apart<kChannels>(from, planes_.pixels, at(begin),
                                             at(end), to);
                     }
                   });
    }
  }

 private:
  static constexpr std::int64_t kPixelsOfThread = 8 << 10;

  Planes planes_;
};

std::optional<std::string> declines(const OpCall& call) {
  if (size_of(call.input(0).dtype) != sizeof(float)) {
    return "moves elements of four bytes";
  }
  const auto planes = planes_of(call);
  if (!planes) return "moves one axis to the end or from there";
  if (!are_few(static_cast<Dim>(planes->channels))) {
    return fmt::format("weaves {} to {} channels", kFewest, kMost);
  }
  if (call.input(0).shape.num_elements() == 0) return "the operand is empty";
  return std::nullopt;
}

std::unique_ptr<PreparedKernel> prepare(const OpCall& call) {
  const Planes planes = *planes_of(call);
  switch (planes.channels) {
    case 2:
      return std::make_unique<Channels<2>>(planes);
    case 3:
      return std::make_unique<Channels<3>>(planes);
    default:
      return std::make_unique<Channels<4>>(planes);
  }
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add({.op = "transpose",
               .name = "simd:channels",
               .rank = 20,
               .declines = declines,
               .prepare = prepare});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_channels(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
