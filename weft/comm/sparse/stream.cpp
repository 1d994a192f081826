#include "weft/comm/sparse/stream.h"

#include <algorithm>
#include <cstring>

#include "weft/comm/codec/bytes.h"

namespace weft {
namespace {

constexpr std::uint32_t kMagic = 0x31727453;  // "Str1"

std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

// Where the values of `count` items start.
std::size_t offset_of_values(const StreamType& type, std::uint64_t count) {
  // A dense stream has no indices.
  if (count == type.size) return Stream::kHeaderBytes;
  // Values are aligned to their size, so that they can be used where they lie.
  return Stream::kHeaderBytes +
         round_up(count * type.index_bytes(), type.value_bytes());
}

std::size_t bytes_of_message(const StreamType& type, std::uint64_t count) {
  return offset_of_values(type, count) + count * type.value_bytes();
}

void write_header(const StreamType& type, std::uint64_t count,
                  std::byte* message) {
  // Layout: u32 magic, u8 dtype, u8 bytes of an index, u16 reserved, u64 size,
  // u64 count. These 24 bytes keep what follows aligned to 8.
  const std::uint32_t kinds = static_cast<std::uint32_t>(type.dtype) |
                              static_cast<std::uint32_t>(type.index_bytes())
                                  << 8;
  std::memcpy(message, &kMagic, 4);
  std::memcpy(message + 4, &kinds, 4);
  std::memcpy(message + 8, &type.size, 8);
  std::memcpy(message + 16, &count, 8);
}

template <class Index>
bool is_ascending(std::span<const Index> indices) {
  // There is no early exit, which would keep the loop from being vectorised:
  // indices that are checked are in order, but for damage.
  bool result = true;
  for (std::size_t i = 1; i < indices.size(); ++i) {
    result &= indices[i - 1] < indices[i];
  }
  return result;
}

// The number of items that the header promises.
std::uint64_t read_header(ByteReader& in, const StreamType& type) {
  if (in.read<std::uint32_t>("magic") != kMagic) {
    throw in.damaged("magic", "is not that of a stream");
  }
  const auto dtype = in.read<std::uint8_t>("dtype");
  if (dtype != static_cast<std::uint8_t>(type.dtype)) {
    throw in.damaged(
        "dtype", fmt::format("is {}, not {}", dtype, to_string(type.dtype)));
  }
  const auto index_bytes = in.read<std::uint8_t>("index bytes");
  if (index_bytes != type.index_bytes()) {
    throw in.damaged("index bytes", fmt::format("are {}, not {}", index_bytes,
                                                type.index_bytes()));
  }
  // A later format may use it, and must not be read by this one.
  if (in.read<std::uint16_t>("reserved") != 0) {
    throw in.damaged("reserved", "is not zero");
  }
  const auto size = in.read<std::uint64_t>("size");
  if (size != type.size) {
    throw in.damaged("size", fmt::format("is {}, not {}", size, type.size));
  }
  const auto count = in.read<std::uint64_t>("count");
  // Everything below computes with the count, so it is bounded first.
  if (count > size) {
    throw in.damaged("count", fmt::format("is {} of {} elements", count, size));
  }
  // Both ends follow the rule of the smaller form, so nobody has written this.
  if (count < size && type.is_dense_at(count)) {
    throw in.damaged("count",
                     fmt::format("is {} of {} elements, too many for a sparse "
                                 "stream",
                                 count, size));
  }
  return count;
}

}  // namespace

std::size_t StreamType::most_bytes(std::uint64_t count) const {
  // Where so many items are dense, no message is larger than the dense one:
  // fewer items are sparse only while they take less.
  return std::min(count, size) >= size || is_dense_at(count)
             ? bytes_of_message(*this, size)
             // Fewer items may need padding that this many do not.
             : bytes_of_message(*this, count) + Stream::kMostPadding;
}

Stream::Stream(const StreamType& type)
    : Stream(type, 0, RawBytes(kHeaderBytes)) {
  WEFT_CHECK(type.size <= StreamType::kMostSize);
  WEFT_CHECK(type.dtype == DType::kF32 || type.dtype == DType::kF64);
}

Stream::Stream(const StreamType& type, std::uint64_t count, RawBytes message)
    : type_(type),
      count_(count),
      message_(std::move(message)),
      message_bytes_(bytes_of_message(type, count)) {
  write_header(type_, count_, message_.data());
}

template <class Index, class Value>
Stream Stream::of(std::uint64_t size, std::span<const Index> indices,
                  std::span<const Value> values) {
  const StreamType type{dtype_of<Value>(), size};
  WEFT_CHECK(sizeof(Index) == type.index_bytes());
  WEFT_CHECK(indices.size() == values.size() && is_ascending(indices) &&
             (indices.empty() || indices.back() < size));
  // Both ends follow the rule of the smaller form, so the sender may not
  // choose.
  if (type.is_dense_at(indices.size())) {
    Stream result = dense_zeros(type);
    const auto all = result.mutable_values<Value>();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      all[indices[i]] = values[i];
    }
    return result;
  }
  SparseWriter writer(type, indices.size());
  std::copy(indices.begin(), indices.end(), writer.indices<Index>());
  std::copy(values.begin(), values.end(), writer.values<Value>());
  return std::move(writer).finish(indices.size());
}

template <class Value>
Stream Stream::of_dense(std::span<const Value> values) {
  const StreamType type{dtype_of<Value>(), values.size()};
  Stream result(type, type.size, RawBytes(bytes_of_message(type, type.size)));
  std::copy(values.begin(), values.end(),
            result.mutable_values<Value>().begin());
  return result;
}

Stream Stream::dense_zeros(const StreamType& type) {
  Stream result(type, type.size, RawBytes(bytes_of_message(type, type.size)));
  std::memset(result.message_.data() + kHeaderBytes, 0,
              result.message_bytes_ - kHeaderBytes);
  return result;
}

Stream Stream::from_message(RawBytes message, std::size_t size,
                            const StreamType& type, std::string_view where) {
  // The room was for the largest message; what came may be shorter.
  WEFT_CHECK(size <= message.size());
  ByteReader in({message.data(), size}, where);
  const std::uint64_t count = read_header(in, type);
  if (count < type.size) {
    const std::size_t offset = offset_of_values(type, count);
    const auto bytes = in.take(offset - kHeaderBytes, "indices");
    with_stream_types(type, [&]<class Index, class Value>() {
      // Memory of new[] is aligned to 16 bytes and the header has 24, so
      // indices of 8 bytes may be read in place. They are checked to be there,
      // and in order, before anything is written to where they point.
      const std::span indices(reinterpret_cast<const Index*>(bytes.data()),
                              count);
      if (!is_ascending(indices)) {
        throw in.damaged("indices", "are not ascending");
      }
      if (!indices.empty() && indices.back() >= type.size) {
        throw in.damaged("indices", fmt::format("reach {} of {} elements",
                                                indices.back(), type.size));
      }
    });
  }
  // Values may hold anything, also NaN, so nothing is to be checked but their
  // number.
  in.take(count * type.value_bytes(), "values");
  in.expect_end();
  return {type, count, std::move(message)};
}

void Stream::check_types(DType dtype) const {
  WEFT_CHECK(dtype == type_.dtype, "a stream of {} is read as {}",
             to_string(type_.dtype), to_string(dtype));
}

std::size_t Stream::values_offset() const {
  return offset_of_values(type_, count_);
}

template <class Index>
std::span<const Index> Stream::indices() const {
  WEFT_CHECK(!is_dense() && sizeof(Index) == type_.index_bytes());
  // The memory was checked, or written here, when the stream was made.
  return {reinterpret_cast<const Index*>(message_.data() + kHeaderBytes),
          count_};
}

template <class Value>
std::span<const Value> Stream::values() const {
  check_types(dtype_of<Value>());
  return {reinterpret_cast<const Value*>(message_.data() + values_offset()),
          count_};
}

template <class Value>
std::span<Value> Stream::mutable_values() {
  check_types(dtype_of<Value>());
  return {reinterpret_cast<Value*>(message_.data() + values_offset()), count_};
}

template <class Value>
void Stream::copy_to(std::span<Value> values) const {
  WEFT_CHECK(values.size() == type_.size);
  const auto items = this->values<Value>();
  if (is_dense()) {
    std::copy(items.begin(), items.end(), values.begin());
    return;
  }
  std::fill(values.begin(), values.end(), Value{0});
  with_stream_types(type_, [&]<class Index, class>() {
    const auto at = indices<Index>();
    for (std::size_t i = 0; i < at.size(); ++i) values[at[i]] = items[i];
  });
}

Stream Stream::copy() const {
  // The room behind the message is not copied along.
  RawBytes message(message_bytes_);
  std::memcpy(message.data(), message_.data(), message_bytes_);
  return {type_, count_, std::move(message)};
}

void Stream::check() const {
  WEFT_CHECK(message_bytes_ <= message_.size());
  if (is_dense()) return;
  WEFT_CHECK(count_ < type_.size && !type_.is_dense_at(count_));
  with_stream_types(type_, [&]<class Index, class>() {
    const auto at = indices<Index>();
    WEFT_CHECK(is_ascending(at) && (at.empty() || at.back() < type_.size));
  });
}

SparseWriter::SparseWriter(const StreamType& type, std::uint64_t most)
    : type_(type), most_(most), message_(bytes_of_message(type, most)) {
  // No more than `most` items follow, so the result is sparse whatever its
  // number.
  WEFT_CHECK(!type.is_dense_at(most));
}

template <class Index>
Index* SparseWriter::indices() {
  return reinterpret_cast<Index*>(message_.data() + Stream::kHeaderBytes);
}

template <class Value>
Value* SparseWriter::values() {
  // Where values begin depends on how many items there are, which is not known
  // yet; finish() moves them.
  return reinterpret_cast<Value*>(message_.data() +
                                  offset_of_values(type_, most_));
}

Stream SparseWriter::finish(std::uint64_t count) && {
  WEFT_CHECK(count <= most_);
  // Fewer indices than there was room for: the values move down to them.
  if (count < most_) {
    // Old and new place may overlap.
    std::memmove(message_.data() + offset_of_values(type_, count),
                 message_.data() + offset_of_values(type_, most_),
                 count * type_.value_bytes());
  }
  return {type_, count, std::move(message_)};
}

#define WEFT_STREAM_OF(Index, Value)                                \
  template Stream Stream::of(std::uint64_t, std::span<const Index>, \
                             std::span<const Value>);
WEFT_STREAM_OF(std::uint32_t, float)
WEFT_STREAM_OF(std::uint32_t, double)
WEFT_STREAM_OF(std::uint64_t, float)
WEFT_STREAM_OF(std::uint64_t, double)
#undef WEFT_STREAM_OF

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types
#define WEFT_STREAM_INDEX(Index)                           \
  template std::span<const Index> Stream::indices() const; \
  template Index* SparseWriter::indices();
WEFT_STREAM_INDEX(std::uint32_t)
WEFT_STREAM_INDEX(std::uint64_t)
#undef WEFT_STREAM_INDEX

#define WEFT_STREAM_VALUE(Value)                                \
  template Stream Stream::of_dense(std::span<const Value>);     \
  template std::span<const Value> Stream::values() const;       \
  template std::span<Value> Stream::mutable_values();           \
  template void Stream::copy_to(std::span<Value> values) const; \
  template Value* SparseWriter::values();
WEFT_STREAM_VALUE(float)
WEFT_STREAM_VALUE(double)
#undef WEFT_STREAM_VALUE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace weft
