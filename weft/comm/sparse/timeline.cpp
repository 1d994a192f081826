#include "weft/comm/sparse/timeline.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft {
namespace {

// What a rank gives to a gather travels with its length.
constexpr double kLengthBytes = sizeof(std::uint64_t);

}  // namespace

int gather_steps(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1));
}

// Every rank's clock: a message leaves when its sender has finished the step
// before, and a rank goes on when it has sent and received.
double gather_seconds(std::span<const double> bytes, const Level& network) {
  const std::size_t ranks = bytes.size();
  std::vector<double> before = {0};  // bytes of the ranks before, twice around
  before.reserve(2 * ranks + 1);
  for (int turn = 0; turn < 2; ++turn) {
    for (const double of_rank : bytes) {
      before.push_back(before.back() + of_rank + kLengthBytes);
    }
  }
  std::vector<double> clock(ranks);
  std::vector<double> is_sent(ranks);
  for (std::size_t step = 1; step < ranks; step *= 2) {
    // A rank has twice as much after each step, and the last one moves only
    // what is left (exchange.h).
    const std::size_t count = std::min(step, ranks - step);
    for (std::size_t i = 0; i < ranks; ++i) {
      // All ranks send at once, and each then waits for the message of one
      // other.
      is_sent[i] =
          clock[i] + (before[i + count] - before[i]) * network.seconds_per_byte;
    }
    for (std::size_t i = 0; i < ranks; ++i) {
      const std::size_t sender = i + step < ranks ? i + step : i + step - ranks;
      clock[i] = std::max(is_sent[i], is_sent[sender] + network.latency);
    }
  }
  return std::ranges::max(clock);
}

Timeline::Timeline(const SparseWorkload& workload, const Level& network)
    : workload_(workload),
      network_(network),
      contribution_(workload.support.sum_items(1, workload.partitions)) {}

double Timeline::bytes(double items, double size) const {
  const StreamType& type = workload_.type;
  return std::min(items * static_cast<double>(type.pair_bytes()),
                  size * static_cast<double>(type.value_bytes()));
}

std::vector<double> Timeline::part_bytes(double ranks) const {
  std::vector<double> result =
      workload_.support.sum_items(ranks, workload_.partitions);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto size = workload_.partitions.size(static_cast<int>(i));
    result[i] = bytes(result[i], static_cast<double>(size));
  }
  return result;
}

double Timeline::received_bytes() const {
  return (workload_.ranks - 1) * std::ranges::max(part_bytes(1));
}

Doubling Timeline::doubling(int steps, std::span<const double> items,
                            double size) const {
  const StreamType& type = workload_.type;
  const SumRates& rates = workload_.rates;
  const double dense_bytes = size * static_cast<double>(type.value_bytes());
  const double dense_at = dense_bytes / static_cast<double>(type.pair_bytes());
  Doubling result;
  // What has become dense once stays dense.
  bool is_dense = false;  // once for ever
  for (const double one : items.first(static_cast<std::size_t>(steps))) {
    is_dense = is_dense || one >= dense_at;
    result.bytes.push_back(is_dense ? dense_bytes : bytes(one, size));
    if (is_dense) {
      result.seconds.push_back(size * rates.add);
      // The sum is made in a dense stream as soon as its items might not fit
      // into a smaller sparse one.
    } else if (2 * one >= dense_at) {
      result.seconds.push_back(size * rates.clear + 2 * one * rates.scatter);
      is_dense = true;
    } else {
      result.seconds.push_back(2 * one * rates.merge);
    }
  }
  return result;
}

Doubling Timeline::doubling(int steps, double start) const {
  std::vector<double> items;
  for (int i = 0; i < steps; ++i) {
    items.push_back(workload_.support.sum_items(std::ldexp(start, i)));
  }
  return doubling(steps, items, workload_.support.size());
}

double Timeline::cascade_seconds(int count, const Doubling& joins) const {
  // SumTree joins as a counter carries: the stream that makes it `count` causes
  // a join for each zero below the lowest bit.
  const auto bits = static_cast<unsigned>(count);
  double seconds = 0;
  for (int level = 0; level < std::countr_zero(bits); ++level) {
    seconds += joins.seconds[static_cast<std::size_t>(level)];
  }
  if (count < workload_.ranks) return seconds;
  // What is left is joined from the small end.
  for (unsigned rest = bits & (bits - 1); rest != 0; rest &= rest - 1) {
    seconds += joins.seconds[static_cast<std::size_t>(
        std::bit_width(rest & -rest) - 1)];
  }
  return seconds;
}

double Timeline::tree_seconds() const {
  const Doubling joins = doubling(gather_steps(workload_.ranks), 1);
  double seconds = 0;
  for (int i = 1; i <= workload_.ranks; ++i) {
    seconds += cascade_seconds(i, joins);
  }
  return seconds;
}

double Timeline::sum_partition_seconds(bool is_dense) const {
  if (is_dense) {
    double most = 0;
    for (int part = 0; part < workload_.ranks; ++part) {
      most = std::max(most, dense_part_seconds(part));
    }
    return most;
  }
  // Items take time, or, where sums become dense, elements: the fullest part
  // decides, or the longest.
  int fullest = 0;
  int longest = 0;
  for (int part = 1; part < workload_.ranks; ++part) {
    const auto items = [&](int i) {
      return contribution_[static_cast<std::size_t>(i)];
    };
    if (items(part) > items(fullest)) fullest = part;
    if (workload_.partitions.size(part) > workload_.partitions.size(longest)) {
      longest = part;
    }
  }
  std::vector<double> of_fullest;  // sums of 1, 2, 4, … contributions
  std::vector<double> of_longest;
  for (int i = 0; i < gather_steps(workload_.ranks); ++i) {
    const std::vector<double> sums =
        workload_.support.sum_items(std::ldexp(1, i), workload_.partitions);
    of_fullest.push_back(sums[static_cast<std::size_t>(fullest)]);
    of_longest.push_back(sums[static_cast<std::size_t>(longest)]);
  }
  return std::max(sparse_part_seconds(fullest, of_fullest),
                  sparse_part_seconds(longest, of_longest));
}

// Seconds of a contribution to a part on the wire: behind the sender's other
// messages, or the receiver's.
double Timeline::message_seconds(int part) const {
  const Support& support = workload_.support;
  const auto size = static_cast<double>(workload_.partitions.size(part));
  const double mine =
      bytes(contribution_[static_cast<std::size_t>(part)], size);
  const double all = bytes(support.items(), support.size());
  return (std::max(mine, all / workload_.ranks) + Stream::kHeaderBytes) *
         network_.seconds_per_byte;
}

// Arrivals and sums are equally long: the first or the last arrival decides.
double Timeline::dense_part_seconds(int part) const {
  const SumRates& rates = workload_.rates;
  const StreamType& type = workload_.type;
  const auto size = static_cast<double>(workload_.partitions.size(part));
  const double items = contribution_[static_cast<std::size_t>(part)];
  const bool is_given_dense = items * static_cast<double>(type.pair_bytes()) >=
                              size * static_cast<double>(type.value_bytes());
  const double add = is_given_dense ? size * rates.add : items * rates.scatter;
  const double message = message_seconds(part);
  const int others = workload_.ranks - 1;
  return std::max({size * rates.clear + (others + 1) * add,
                   network_.latency + message + others * add,
                   network_.latency + others * message + add});
}

double Timeline::sparse_part_seconds(int part,
                                     std::span<const double> items) const {
  const auto size = static_cast<double>(workload_.partitions.size(part));
  const Doubling joins = doubling(gather_steps(workload_.ranks), items, size);
  const double message = message_seconds(part);
  double clock = 0;
  for (int i = 0; i < workload_.ranks; ++i) {
    if (i > 0) clock = std::max(clock, network_.latency + i * message);
    clock += cascade_seconds(i + 1, joins);
  }
  return clock;
}

}  // namespace weft
