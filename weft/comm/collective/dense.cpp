#include "weft/comm/collective/dense.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/collective/dense.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <memory>

#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

template <class T>
void add_plain(const T* from, T* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

template <class Half>
void add_halves(const Half* from, Half* to, std::size_t count) {
  std::size_t i = 0;
  // Whole vectors and what is left over are both added in float and rounded
  // once, so an element's bits do not depend on where it lies.
  for (; i + simd::kLanes <= count; i += simd::kLanes) {
    simd::store(simd::hn::Add(simd::load(to + i), simd::load(from + i)),
                to + i);
  }
  for (; i < count; ++i) {
    to[i] = Half(static_cast<float>(to[i]) + static_cast<float>(from[i]));
  }
}

void add_elements(DType dtype, const std::byte* from, std::byte* to,
                  std::size_t count) {
  dispatch(dtype, [&]<class T>(T) {
    const auto* source = reinterpret_cast<const T*>(from);
    auto* target = reinterpret_cast<T*>(to);
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      add_halves(source, target, count);
    } else if constexpr (std::is_same_v<T, std::int32_t> ||
                         std::is_same_v<T, std::int64_t>) {
      // Sums wrap around, which C++ defines for unsigned numbers alone.
      using Word = std::make_unsigned_t<T>;
      add_plain(reinterpret_cast<const Word*>(source),
                reinterpret_cast<Word*>(target), count);
    } else if constexpr (std::is_floating_point_v<T>) {
      add_plain(source, target, count);
    }
  });
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {

// One core adds this fast: from its share of memory, and within its own cache.
constexpr double kAddedBytesPerSecond = 5e9;
constexpr double kAddedInCache = 20e9;
constexpr double kCacheBytes = 32 * 1024;

// This is add() as a Fold.
template <DType kDtype>
void add_bytes(const std::byte* from, std::byte* into, std::size_t bytes) {
  add(kDtype, from, into, bytes / size_of(kDtype));
}

// A Fold is a plain function, which transports can call without knowing of
// dtypes; so each dtype has one.
Fold adding(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return add_bytes<DType::kF32>;
    case DType::kF64:
      return add_bytes<DType::kF64>;
    case DType::kF16:
      return add_bytes<DType::kF16>;
    case DType::kBF16:
      return add_bytes<DType::kBF16>;
    case DType::kI32:
      return add_bytes<DType::kI32>;
    case DType::kI64:
      return add_bytes<DType::kI64>;
    default:
      WEFT_CHECK(false, "no sums of {}", to_string(dtype));
      return nullptr;
  }
}

}  // namespace

// This is for the clock of simulated ranks and for predictions; nothing that is
// really added waits for it.
double adding_seconds(double bytes) {
  return bytes / (bytes <= kCacheBytes ? kAddedInCache : kAddedBytesPerSecond);
}

bool is_summable(DType dtype) {
  return is_floating(dtype) || dtype == DType::kI32 || dtype == DType::kI64;
}

void add(DType dtype, const std::byte* from, std::byte* to, std::size_t count) {
  WEFT_CHECK(is_summable(dtype), "no sums of {}", to_string(dtype));
  WEFT_FOR_MACHINE(add_elements)(dtype, from, to, count);
}

Pause add(const Channel& channel, const std::byte* from,
          const DenseBuffer& buffer, Interval part) {
  const auto to = buffer.bytes(part);
  // Where a simulated world carries no payload, adding takes time and nothing
  // else.
  if (to.data() != nullptr && from != nullptr) {
    add(buffer.dtype, from, to.data(), part.size());
  }
  return channel.pause(adding_seconds(static_cast<double>(to.size())));
}

std::vector<Interval> segments_of(DType dtype, Interval part) {
  // No element is cut in two, as segments are added one by one.
  const std::size_t most = kSegmentBytes / size_of(dtype);
  std::vector<Interval> segments;
  for (std::size_t i = part.begin; i < part.end; i += most) {
    segments.push_back({i, std::min(part.end, i + most)});
  }
  return segments;
}

void send_part(Transfers& transfers, int to, const DenseBuffer& buffer,
               Interval part) {
  for (const Interval segment : segments_of(buffer.dtype, part)) {
    transfers.send(to, buffer.bytes(segment));
  }
}

void receive_part(Transfers& transfers, int from, const DenseBuffer& buffer,
                  Interval part) {
  for (const Interval segment : segments_of(buffer.dtype, part)) {
    transfers.receive(from, buffer.bytes(segment));
  }
}

Task<> receive_and_add(Channel channel, DenseBuffer buffer, AddStream stream) {
  constexpr std::size_t kSlots = 2;  // one is filled while one is added
  std::vector<Interval> segments;
  std::size_t forwarded = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < stream.parts.size(); ++i) {
    for (const Interval segment : segments_of(buffer.dtype, stream.parts[i])) {
      segments.push_back(segment);
      longest = std::max(longest, buffer.bytes(segment).size());
    }
    if (stream.forward_to >= 0 && i + 1 < stream.parts.size()) {
      // The last part stays here.
      forwarded = segments.size();
    }
  }
  // It is asked once, for the longest segment, as all of them go the same way.
  const bool is_folded =
      buffer.data != nullptr && channel.can_fold(stream.from, longest);
  std::unique_ptr<std::byte[]> scratch;
  if (buffer.data != nullptr && !is_folded) {
    scratch = std::make_unique_for_overwrite<std::byte[]>(kSlots * longest);
  }
  const auto slot = [&](std::size_t i) -> std::byte* {
    return scratch ? scratch.get() + i % kSlots * longest : nullptr;
  };
  Transfers received(channel);
  Transfers sent(channel);
  const auto expect = [&](std::size_t i) {
    if (i >= segments.size()) return;
    const std::span<std::byte> place = buffer.bytes(segments[i]);
    if (is_folded) {
      received.fold(stream.from, place, adding(buffer.dtype));
    } else {
      received.receive(stream.from, {slot(i), place.size()});
    }
  };
  // Receives are open before anything is sent.
  for (std::size_t i = 0; i < kSlots; ++i) expect(i);
  if (stream.forward_to >= 0) {
    send_part(sent, stream.forward_to, buffer, stream.lead);
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    Transfer& arrival = received[i];
    co_await arrival;
    if (is_folded) {
      // It has been added on its way, which takes a simulated rank as long.
      const auto bytes = static_cast<double>(buffer.bytes(segments[i]).size());
      co_await channel.pause(adding_seconds(bytes));
    } else {
      co_await add(channel, slot(i), buffer, segments[i]);
    }
    if (i < forwarded) {
      // From the buffer, not from the slot: this segment is added to only once,
      // so it does not change while it travels.
      sent.send(stream.forward_to, buffer.bytes(segments[i]));
    }
    // The slot is free again.
    expect(i + kSlots);
  }
  co_await sent.all();
}

}  // namespace weft
#endif
