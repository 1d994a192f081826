// Unique. How many elements differ is a size, so they must be known while
// importing.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/base/index.h"
#include "weft/onnx/node.h"
#include "weft/ops/index.h"
#include "weft/ops/shape.h"

namespace weft::onnx {
namespace {

// NaN comes last, and is like itself.
template <class T>
int compare(const T& a, const T& b) {
  // Floats of 16 bits are widened, which keeps their order.
  using Wide =
      std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, T,
                         float>;
  const auto x = static_cast<Wide>(a);
  const auto y = static_cast<Wide>(b);
  if constexpr (!std::is_integral_v<T>) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) - std::isnan(y);
  }
  return (x > y) - (x < y);
}

// The order of rows [n, m], by their first elements first; equal rows stay in
// the order that they have.
struct RowOrder {
  Integers rows;
  std::vector<bool> begins_group;  // differs from the one before it
};

RowOrder order_of_rows(const Tensor& x) {
  const Dim count = x.shape()[0];
  const Dim width = x.shape()[1];
  RowOrder order{Integers(at(count)), std::vector<bool>(at(count))};
  std::iota(order.rows.begin(), order.rows.end(), 0);
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* data = x.data<T>();
    const auto compare_rows = [&](std::int64_t a, std::int64_t b) {
      for (Dim i = 0; i < width; ++i) {
        const int by = compare(data[a * width + i], data[b * width + i]);
        if (by != 0) return by;
      }
      return 0;
    };
    std::ranges::stable_sort(
        order.rows, [&](auto a, auto b) { return compare_rows(a, b) < 0; });
    for (std::size_t i = 0; i < order.rows.size(); ++i) {
      order.begins_group[i] =
          i == 0 || compare_rows(order.rows[i - 1], order.rows[i]) != 0;
    }
  });
  return order;
}

Value as_vector(const Integers& numbers) {
  return Tensor::of<std::int64_t>({static_cast<Dim>(numbers.size())},
                                  std::span<const std::int64_t>(numbers));
}

void import_unique(OnnxNode& node) {
  const Value x = node.known(0);
  // A file may say any sizes beside one that is 0.
  if (x.tensor().size() == 0) throw node.unsupported("of nothing");
  const ContextScope eager(eager_context());
  const bool is_flat = !node.has_attribute("axis");
  const Value flat = is_flat ? reshape(x, {-1}) : x;
  const int axis = is_flat ? 0 : node.axis("axis", {}, x.shape().rank());
  Integers front{axis};
  for (int i = 0; i < flat.shape().rank(); ++i) {
    if (i != axis) front.push_back(i);
  }
  const Dim count = flat.shape()[axis];
  const Dim width = x.tensor().size() / count;
  const RowOrder order =
      order_of_rows(reshape(transpose(flat, front), {count, width}).tensor());
  // Groups of equal rows: where each was first, and how many there are.
  Integers first;
  Integers counts;
  Integers group_of(at(count));
  for (std::size_t i = 0; i < order.rows.size(); ++i) {
    if (order.begins_group[i]) {
      first.push_back(order.rows[i]);
      counts.push_back(0);
    }
    ++counts.back();
    group_of[at(order.rows[i])] = std::ssize(first) - 1;
  }
  Integers place(first.size());  // of a group among the results
  std::iota(place.begin(), place.end(), 0);
  if (node.integer("sorted", 1) == 0) {
    std::ranges::sort(place, {}, [&](auto group) { return first[at(group)]; });
  }
  Integers firsts, numbers, rank(place.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    firsts.push_back(first[at(place[i])]);
    numbers.push_back(counts[at(place[i])]);
    rank[at(place[i])] = static_cast<std::int64_t>(i);
  }
  for (std::int64_t& group : group_of) group = rank[at(group)];
  node.set_all({gather(flat, as_vector(firsts), axis), as_vector(firsts),
                as_vector(group_of), as_vector(numbers)});
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_uniques(OnnxRegistry& ops) {
  ops.add({.name = "Unique", .import = onnx::import_unique});
}

}  // namespace weft
