// Vectors that collectives move and add.
//
// Sums of 16-bit types are computed in f32 and rounded after each addition.
//
// Threads: value types; caller synchronises.
#pragma once

#include <span>
#include <vector>

#include "weft/comm/collective/parts.h"
#include "weft/comm/transport/communicator.h"
#include "weft/tensor/dtype.h"

namespace weft {

struct DenseBuffer {
  DType dtype = DType::kF32;
  std::byte* data = nullptr;  // null where the transport carries no payload
  std::size_t count = 0;      // elements

  Interval all() const { return {0, count}; }
  std::size_t bytes() const { return count * size_of(dtype); }
  std::span<std::byte> bytes(Interval part) const {
    const std::size_t element = size_of(dtype);
    return {data == nullptr ? nullptr : data + part.begin * element,
            part.size() * element};
  }
};

template <class T>
DenseBuffer dense(std::span<T> values) {
  return {dtype_of<T>(), std::as_writable_bytes(values).data(), values.size()};
}

// Whether vectors of this type can be added: f32, f64, i32, i64, f16, bf16.
bool is_summable(DType dtype);

// What adding a vector of so many bytes takes a core, roughly: the price that
// models use and simulated ranks are charged.
double adding_seconds(double bytes);

// to[i] += from[i] for i < count. No overlap; the dtype is summable. Cost: as
// memory allows.
void add(DType dtype, const std::byte* from, std::byte* to, std::size_t count);

// The same for a part of a buffer; to be awaited, which charges simulated
// ranks for the time.
Pause add(const Channel& channel, const std::byte* from,
          const DenseBuffer& buffer, Interval part);

// Large parts travel in segments, so that a segment is added, or passed on,
// while the next is under way, and is still in the cache.
inline constexpr std::size_t kSegmentBytes = std::size_t{256} * 1024;
std::vector<Interval> segments_of(DType dtype, Interval part);

// Sends a part, segment by segment.
void send_part(Transfers& transfers, int to, const DenseBuffer& buffer,
               Interval part);
// Receives a part into its place.
void receive_part(Transfers& transfers, int from, const DenseBuffer& buffer,
                  Interval part);

// Receives parts in order and adds each to its place. Where `forward_to` is
// not negative, `lead` is sent there first, and all parts but the last are
// sent on as soon as they are added.
struct AddStream {
  int from = 0;
  std::vector<Interval> parts;
  int forward_to = -1;
  Interval lead = {};
};
Task<> receive_and_add(Channel channel, DenseBuffer buffer, AddStream stream);

}  // namespace weft
