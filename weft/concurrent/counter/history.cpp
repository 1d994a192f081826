#include "weft/concurrent/counter/history.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::concurrent {
namespace {

double count_below(const std::vector<std::uint64_t>& sorted,
                   std::uint64_t stamp) {
  return static_cast<double>(
      std::lower_bound(sorted.begin(), sorted.end(), stamp) - sorted.begin());
}

}  // namespace

CostBounds read_costs(std::span<const CounterOperation> history) {
  using Kind = CounterOperation::Kind;
  std::vector<std::uint64_t> called;
  std::vector<std::uint64_t> returned;
  for (const CounterOperation& operation : history) {
    if (operation.returned < operation.called)
      throw Error(ErrorCode::kInvalidArgument, "read_costs",
                  "an operation returned at {} and was called at {}",
                  operation.returned, operation.called);
    if (operation.kind == Kind::kRead) continue;
    called.push_back(operation.called);
    returned.push_back(operation.returned);
  }
  std::sort(called.begin(), called.end());
  std::sort(returned.begin(), returned.end());

  std::vector<double> lowest;
  std::vector<double> highest;
  for (const CounterOperation& read : history) {
    if (read.kind != Kind::kRead) continue;
    // What had returned before the call is in the count, and what was called
    // after the return is not.
    const double least = count_below(returned, read.called);
    const double most = count_below(called, read.returned);
    const auto answer = static_cast<double>(read.answer);
    // An answer between the bounds may have been right.
    lowest.push_back(std::max({0.0, least - answer, answer - most}));
    highest.push_back(std::max(answer - least, most - answer));
  }
  return {CostDistribution(std::move(lowest)),
          CostDistribution(std::move(highest))};
}

}  // namespace weft::concurrent
