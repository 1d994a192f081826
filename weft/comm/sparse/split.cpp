#include <algorithm>

#include "weft/comm/sparse/stream.h"

namespace weft {
namespace {

// The items [first, last), all of them in a partition of `type`.
template <class Index, class Value>
Stream cut(const Stream& stream, std::size_t first, std::size_t last,
           std::uint64_t begin, const StreamType& type) {
  const auto indices = stream.indices<Index>().subspan(first, last - first);
  const auto values = stream.values<Value>().subspan(first, last - first);
  // A part may be nearly full where the whole is sparse.
  if (type.is_dense_at(indices.size())) {
    Stream part = Stream::dense_zeros(type);
    const auto all = part.mutable_values<Value>();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      all[indices[i] - begin] = values[i];
    }
    return part;
  }
  SparseWriter writer(type, indices.size());
  // A part may count in 32 bits where the whole needs 64.
  with_stream_types(type, [&]<class PartIndex, class>() {
    std::transform(
        indices.begin(), indices.end(), writer.indices<PartIndex>(),
        [&](Index index) { return static_cast<PartIndex>(index - begin); });
  });
  std::copy(values.begin(), values.end(), writer.values<Value>());
  return std::move(writer).finish(indices.size());
}

template <class Index, class Value>
std::vector<Stream> split_items(const Stream& stream,
                                const Partitions& partitions) {
  const StreamType& type = stream.type();
  std::vector<Stream> result;
  std::size_t first = 0;
  for (int i = 0; i < partitions.count(); ++i) {
    const std::uint64_t begin = partitions.begin(i);
    const std::uint64_t size = partitions.size(i);
    if (stream.is_dense()) {
      // A dense stream stays dense in every part, as its zeros are items too.
      result.push_back(
          Stream::of_dense(stream.values<Value>().subspan(begin, size)));
      continue;
    }
    const auto indices = stream.indices<Index>();
    // Partitions are in order, so each search begins where the last one ended.
    const auto end =
        std::lower_bound(indices.begin() + static_cast<std::ptrdiff_t>(first),
                         indices.end(), partitions.end(i));
    const auto last = static_cast<std::size_t>(end - indices.begin());
    result.push_back(
        cut<Index, Value>(stream, first, last, begin, {type.dtype, size}));
    first = last;
  }
  return result;
}

template <class Value>
Stream join_dense(const StreamType& type, std::span<const Stream> parts) {
  Stream result = Stream::dense_zeros(type);
  auto rest = result.mutable_values<Value>();
  for (const Stream& part : parts) {
    part.copy_to(rest.first(part.type().size));
    rest = rest.subspan(part.type().size);
  }
  return result;
}

template <class Index, class Value>
Stream join_sparse(const StreamType& type, std::span<const Stream> parts,
                   std::uint64_t count) {
  SparseWriter writer(type, count);
  Index* to_index = writer.indices<Index>();
  Value* to_value = writer.values<Value>();
  std::uint64_t begin = 0;
  for (const Stream& part : parts) {
    const auto values = part.values<Value>();
    to_value = std::copy(values.begin(), values.end(), to_value);
    // All elements of a dense part become items, zeros too, as a zero is an
    // item like others.
    if (part.is_dense()) {
      for (std::uint64_t i = 0; i < part.type().size; ++i) {
        *to_index++ = static_cast<Index>(begin + i);
      }
    } else {
      with_stream_types(part.type(), [&]<class PartIndex, class>() {
        for (const PartIndex index : part.indices<PartIndex>()) {
          *to_index++ = static_cast<Index>(begin + index);
        }
      });
    }
    begin += part.type().size;
  }
  return std::move(writer).finish(count);
}

}  // namespace

std::vector<Stream> split(const Stream& stream, const Partitions& partitions) {
  WEFT_CHECK(partitions.whole() == stream.type().size);
  return with_stream_types(stream.type(), [&]<class Index, class Value>() {
    return split_items<Index, Value>(stream, partitions);
  });
}

Stream concatenate(const StreamType& type, std::span<const Stream> parts) {
  std::uint64_t size = 0;
  std::uint64_t count = 0;
  for (const Stream& part : parts) {
    size += part.type().size;
    count += part.count();
  }
  WEFT_CHECK(size == type.size);
  return with_stream_types(type, [&]<class Index, class Value>() {
    // What it becomes follows from type and count alone, so that all ranks
    // choose alike.
    return type.is_dense_at(count)
               ? join_dense<Value>(type, parts)
               : join_sparse<Index, Value>(type, parts, count);
  });
}

}  // namespace weft
