#include "weft/comm/sparse/stream_sum.h"

#include <algorithm>
#include <bit>

namespace weft {
namespace {

// `value`, or else -0, which changes no sum. In integers: compilers make
// branches of choices between floats.
template <class Value>
Value keep_if(bool condition, Value value) {
  using Bits =
      std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;
  const Bits mask = Bits{0} - Bits{condition};
  const Bits minus_zero = std::bit_cast<Bits>(Value{-0.0});
  return std::bit_cast<Value>((std::bit_cast<Bits>(value) & mask) |
                              (minus_zero & ~mask));
}

// Whether all of `first` lies before all of `second`.
template <class Index>
bool precedes(std::span<const Index> first, std::span<const Index> second) {
  return first.empty() || second.empty() || first.back() < second.front();
}

// Items into their places of a dense stream.
template <class Index, class Value>
void scatter(const Stream& from, std::span<Value> to) {
  const auto indices = from.indices<Index>();
  const auto values = from.values<Value>();
  // An index occurs once in a stream, and there are zeros before.
  for (std::size_t i = 0; i < indices.size(); ++i) to[indices[i]] = values[i];
}

// to = first + second, where `to` is the dense one of the two.
template <class Index, class Value>
void scatter_add(const Stream& first, const Stream& second,
                 std::span<Value> to) {
  const bool is_first_dense = first.is_dense();
  const Stream& items = is_first_dense ? second : first;
  const auto indices = items.indices<Index>();
  const auto values = items.values<Value>();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Value& sum = to[indices[i]];
    sum = is_first_dense ? sum + values[i] : values[i] + sum;
  }
}

template <class Index, class Value>
Stream sum_in_dense(Stream first, Stream second) {
  // The sum is made in whichever is dense, and takes no further memory.
  if (first.is_dense()) {
    const auto to = first.mutable_values<Value>();
    if (second.is_dense()) {
      const auto from = second.values<Value>();
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = to[i] + from[i];
    } else {
      scatter_add<Index, Value>(first, second, to);
    }
    return first;
  }
  if (!second.is_dense()) {
    Stream result = Stream::dense_zeros(first.type());
    const auto to = result.mutable_values<Value>();
    scatter<Index, Value>(first, to);
    scatter_add<Index, Value>(result, second, to);
    return result;
  }
  scatter_add<Index, Value>(first, second, second.mutable_values<Value>());
  return second;
}

// One after the other: no index is in both.
template <class Index, class Value>
Stream join(const Stream& first, const Stream& second) {
  SparseWriter writer(first.type(), first.count() + second.count());
  Index* index = writer.indices<Index>();
  Value* value = writer.values<Value>();
  for (const Stream* part : {&first, &second}) {
    const auto indices = part->indices<Index>();
    const auto values = part->values<Value>();
    index = std::copy(indices.begin(), indices.end(), index);
    value = std::copy(values.begin(), values.end(), value);
  }
  return std::move(writer).finish(first.count() + second.count());
}

template <class Index, class Value>
Stream sum_sparse(const Stream& first, const Stream& second) {
  const auto a = first.indices<Index>();
  const auto b = second.indices<Index>();
  // Items of separate ranges only have to be put one behind the other, which
  // compares nothing.
  if (precedes(a, b)) return join<Index, Value>(first, second);
  if (precedes(b, a)) return join<Index, Value>(second, first);
  SparseWriter writer(first.type(), first.count() + second.count());
  const std::size_t count = merge_items(
      a, first.values<Value>().data(), b, second.values<Value>().data(),
      writer.indices<Index>(), writer.values<Value>());
  return std::move(writer).finish(count);
}

bool becomes_dense(const Stream& first, const Stream& second) {
  return first.is_dense() || second.is_dense() ||
         first.type().is_dense_at(first.count() + second.count());
}

}  // namespace

template <class Index, class Value>
std::size_t merge_items(std::span<const Index> first_indices,
                        const Value* first_values,
                        std::span<const Index> second_indices,
                        const Value* second_values, Index* indices,
                        Value* values) {
  std::size_t i = 0;
  std::size_t j = 0;
  std::size_t count = 0;
  // The merge has no branch per item: which of two random supports is next
  // cannot be predicted.
  for (;;) {
    // A step advances each of the two by one at most, so this many steps pass
    // the end of neither.
    const std::size_t steps =
        std::min(first_indices.size() - i, second_indices.size() - j);
    if (steps == 0) break;
    for (const std::size_t end = count + steps; count < end; ++count) {
      const Index a = first_indices[i];
      const Index b = second_indices[j];
      const bool takes_first = a <= b;
      const bool takes_second = b <= a;
      indices[count] = std::min(a, b);
      values[count] = keep_if(takes_first, first_values[i]) +
                      keep_if(takes_second, second_values[j]);
      i += takes_first;
      j += takes_second;
    }
  }
  for (; i < first_indices.size(); ++i, ++count) {
    indices[count] = first_indices[i];
    values[count] = first_values[i];
  }
  for (; j < second_indices.size(); ++j, ++count) {
    indices[count] = second_indices[j];
    values[count] = second_values[j];
  }
  return count;
}

Stream sum(Stream first, Stream second) {
  WEFT_CHECK(first.type() == second.type());
  return with_stream_types(first.type(), [&]<class Index, class Value>() {
    return becomes_dense(first, second)
               ? sum_in_dense<Index, Value>(std::move(first), std::move(second))
               : sum_sparse<Index, Value>(first, second);
  });
}

double sum_seconds(const Stream& first, const Stream& second,
                   const SumRates& rates) {
  const auto size = static_cast<double>(first.type().size);
  const auto items = static_cast<double>(first.count() + second.count());
  if (first.is_dense() && second.is_dense()) return size * rates.add;
  if (first.is_dense() || second.is_dense()) {
    // A dense stream counts all its elements, and what is left are the items of
    // the sparse one.
    return (items - size) * rates.scatter;
  }
  return becomes_dense(first, second)
             ? size * rates.clear + items * rates.scatter
             : items * rates.merge;
}

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types
#define WEFT_MERGE(Index, Value)                                         \
  template std::size_t merge_items(std::span<const Index>, const Value*, \
                                   std::span<const Index>, const Value*, \
                                   Index*, Value*);
WEFT_MERGE(std::uint32_t, float)
WEFT_MERGE(std::uint32_t, double)
WEFT_MERGE(std::uint64_t, float)
WEFT_MERGE(std::uint64_t, double)
#undef WEFT_MERGE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace weft
