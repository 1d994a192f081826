#include "weft/concurrent/iterative/order.h"

#include <algorithm>
#include <utility>

#include "weft/base/philox.h"

namespace weft::concurrent {
namespace {

constexpr std::uint32_t kLabelStream = 0x6c61626c;  // "labl"

template <class Label>
Order order_of(Task tasks, Label&& label) {
  std::vector<std::pair<std::uint64_t, Task>> labelled(tasks);
  for (Task task = 0; task < tasks; ++task)
    labelled[task] = {label(task), task};
  // Pairs: equal labels go by number, so that the order is a function of the
  // labels.
  std::sort(labelled.begin(), labelled.end());
  Order order{std::vector<Task>(tasks), std::vector<Task>(tasks)};
  for (Task rank = 0; rank < tasks; ++rank) {
    const Task task = labelled[rank].second;
    order.at_rank[rank] = task;
    order.rank_of[task] = rank;
  }
  return order;
}

}  // namespace

Order order_by_label(std::span<const std::uint64_t> labels) {
  return order_of(static_cast<Task>(labels.size()),
                  [&](Task task) { return labels[task]; });
}

Order random_order(Task tasks, std::uint64_t seed) {
  const RandomStream random{seed, kLabelStream, 0};
  return order_of(tasks, [&](Task task) {
    const PhiloxBlock block = random.block(task);
    return std::uint64_t{block[0]} << 32U | block[1];
  });
}

}  // namespace weft::concurrent
