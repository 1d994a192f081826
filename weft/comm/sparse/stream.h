// Sparse streams: vectors of N elements that may be mostly zeros, in the very
// bytes that travel.
//
// A stream is sparse (pairs of index and value, by ascending index, no index
// twice) or dense (N values), whichever is smaller: it is sparse while
//
//   count (bytes of an index + bytes of a value) < N (bytes of a value).
//
// Zeros are items like others: what cancels stays. One that holds N items is
// dense by definition. Indices have 32 bits where N allows it, else 64; both
// ends follow this rule and check it.
//
// The message is a header (magic, dtype, bytes of an index, N, count), then
// the indices, then the values. A stream keeps its message: sending it copies
// nothing, and a received one is checked and used where it came.
//
// Source: Renggli, Ashkboos, Aghagolzadeh, Alistarh, Hoefler, "SparCML:
// High-Performance Sparse Communication for Machine Learning", SC 2019. There
// pairs alternate; here indices and values lie apart, which vectors like.
//
// Threads: a value type; caller synchronises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/comm/sparse/partitions.h"
#include "weft/tensor/allocator.h"
#include "weft/tensor/dtype.h"

namespace weft {

// Memory that is not cleared: pages that nobody writes take no memory, so that
// room for the largest message costs what the message costs. It is tensors'
// memory, as large blocks of that are used again: a sum in each step of a
// training would else fault its pages in anew each time.
class RawBytes {
 public:
  RawBytes() = default;
  explicit RawBytes(std::size_t size) : block_(allocate(size)), size_(size) {}
  RawBytes(RawBytes&&) noexcept = default;
  RawBytes& operator=(RawBytes&&) noexcept = default;

  std::byte* data() const { return block_ ? block_->data : nullptr; }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data(), size_}; }

 private:
  BlockRef block_;
  std::size_t size_ = 0;
};

// What streams that are summed have in common.
struct StreamType {
  DType dtype = DType::kF32;  // or kF64
  std::uint64_t size = 0;     // N, at most kMostSize

  static constexpr std::uint64_t kMostSize = std::uint64_t{1} << 40;

  std::size_t value_bytes() const { return size_of(dtype); }
  std::size_t index_bytes() const { return size >> 32 == 0 ? 4 : 8; }
  std::size_t pair_bytes() const { return value_bytes() + index_bytes(); }
  // Whether this many items are smaller without indices.
  bool is_dense_at(std::uint64_t count) const {
    return count * pair_bytes() >= size * value_bytes();
  }
  // The largest message of at most this many items.
  std::size_t most_bytes(std::uint64_t count) const;

  bool operator==(const StreamType&) const = default;
};

class Stream {
 public:
  static constexpr std::size_t kHeaderBytes = 24;
  // Values of 8 bytes after an odd number of indices of 4.
  static constexpr std::size_t kMostPadding = 4;

  Stream() : Stream(StreamType{}) {}
  // Zero.
  explicit Stream(const StreamType& type);
  // Items by ascending index. Dense if that is smaller.
  template <class Index, class Value>
  static Stream of(std::uint64_t size, std::span<const Index> indices,
                   std::span<const Value> values);
  // Every element is an item.
  template <class Value>
  static Stream of_dense(std::span<const Value> values);
  // All zeros, each an item.
  static Stream dense_zeros(const StreamType& type);
  // What came in the first `size` bytes. Throws Error(kDataLoss), with
  // `where` ("rank 3") and the field, for anything but a message of
  // this type that message() may give.
  static Stream from_message(RawBytes message, std::size_t size,
                             const StreamType& type, std::string_view where);

  const StreamType& type() const { return type_; }
  // Items: the size, if dense.
  std::uint64_t count() const { return count_; }
  bool is_dense() const { return count_ == type_.size; }
  std::span<const std::byte> message() const {
    return {message_.data(), message_bytes_};
  }

  // The places of a sparse stream's items. Index is std::uint32_t or
  // std::uint64_t, as the type says.
  template <class Index>
  std::span<const Index> indices() const;
  // There is one per item.
  template <class Value>
  std::span<const Value> values() const;
  template <class Value>
  std::span<Value> mutable_values();

  // The vector. `values` has N elements.
  template <class Value>
  void copy_to(std::span<Value> values) const;
  Stream copy() const;

  // Asserts that items are sorted, unique and inside, and that the
  // representation is the smaller one. O(count).
  void check() const;

 private:
  friend class SparseWriter;
  Stream(const StreamType& type, std::uint64_t count, RawBytes message);
  void check_types(DType dtype) const;
  std::size_t values_offset() const;

  StreamType type_;
  std::uint64_t count_ = 0;
  RawBytes message_;
  std::size_t message_bytes_ = 0;
};

// Makes a stream whose number of items is known only afterwards.
class SparseWriter {
 public:
  // Room for `most` items, which a sparse stream must be able to have.
  SparseWriter(const StreamType& type, std::uint64_t most);

  // Both are to be filled from the front.
  template <class Index>
  Index* indices();
  template <class Value>
  Value* values();
  // The stream has the first `count` items.
  Stream finish(std::uint64_t count) &&;

 private:
  StreamType type_;
  std::uint64_t most_;
  RawBytes message_;
};

// Calls body.operator()<Index, Value>() with the C++ types of a stream.
template <class Body>
decltype(auto) with_stream_types(const StreamType& type, Body&& body) {
  const bool is_wide = type.index_bytes() == 8;
  if (type.dtype == DType::kF64) {
    return is_wide ? body.template operator()<std::uint64_t, double>()
                   : body.template operator()<std::uint32_t, double>();
  }
  return is_wide ? body.template operator()<std::uint64_t, float>()
                 : body.template operator()<std::uint32_t, float>();
}

// The partitions, with indices relative to the begin of each, and each sparse
// or dense by its own size.
std::vector<Stream> split(const Stream& stream, const Partitions& partitions);
// The inverse: `parts` are the partitions of a vector of `type`, in order.
Stream concatenate(const StreamType& type, std::span<const Stream> parts);

}  // namespace weft
