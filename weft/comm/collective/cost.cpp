#include "weft/comm/collective/cost.h"

#include <algorithm>

#include "weft/comm/collective/dense.h"

namespace weft {

ExchangeCost exchange_cost(const Topology& topology, double bytes,
                           const std::function<int(int)>& to) {
  const int ranks = topology.ranks();
  struct Card {
    int out = 0;
    int in = 0;
  };
  std::vector<std::vector<Card>> cards(topology.levels.size());
  for (std::size_t s = 0; s < cards.size(); ++s) {
    // The last rank is in the last unit.
    const int units = topology.unit_of(ranks - 1, static_cast<int>(s)) + 1;
    cards[s].resize(static_cast<std::size_t>(units));
  }
  const auto card = [&](int rank, int level) -> Card& {
    return cards[static_cast<std::size_t>(level)]
                [static_cast<std::size_t>(topology.unit_of(rank, level))];
  };
  struct Message {
    int from;
    int to;
    int level;
  };
  std::vector<Message> messages;
  for (int rank = 0; rank < ranks; ++rank) {
    const int peer = to(rank);
    // A message to oneself crosses no fabric.
    if (peer < 0 || peer == rank) continue;
    const int level = topology.level_between(rank, peer);
    ++card(rank, level).out;
    ++card(peer, level).in;
    messages.push_back({rank, peer, level});
  }
  ExchangeCost cost;
  // All messages are counted by now: each waits for the busier of its two
  // cards.
  for (const auto& [from, peer, level] : messages) {
    const Level& fabric = topology.levels[static_cast<std::size_t>(level)];
    const int most = std::max(card(from, level).out, card(peer, level).in);
    const double seconds = most * bytes * fabric.seconds_per_byte;
    if (seconds > cost.transfer) {
      cost.transfer = seconds;
      cost.level = level;
    }
    cost.latency = std::max(cost.latency, fabric.latency);
    cost.mean += fabric.latency + seconds;
  }
  if (!messages.empty()) cost.mean /= static_cast<double>(messages.size());
  return cost;
}

ExchangeCost scatter_cost(const Topology& topology, ScatterMethod method,
                          StageShape shape, double bytes) {
  const int stride = shape.stride;
  const int size = shape.size;
  const double part = bytes / size;
  // Each rank sends to the one that is `distance` further around its group.
  const auto step = [&](int distance, double message) {
    return exchange_cost(topology, message, [=](int rank) {
      const int digit = rank / stride % size;
      return rank + ((digit + distance) % size - digit) * stride;
    });
  };
  ExchangeCost total;
  const auto add = [&](const ExchangeCost& cost, int times) {
    total.latency += times * cost.latency;
    total.transfer += times * cost.transfer;
    total.level = std::max(total.level, cost.level);
  };
  switch (method) {
    case ScatterMethod::kRing: {
      // Ranks of a ring run ahead: a step takes what a hop takes on average or
      // what the busiest card carries, whichever is longer.
      ExchangeCost cost = step(1, part);
      cost.latency = std::max(0.0, cost.mean - cost.transfer);
      add(cost, size - 1);
      break;
    }
    case ScatterMethod::kHalving:
      for (int d = 1; d < size; d *= 2) {
        // Where the ranks are no power of two, the last step has fewer parts
        // left.
        add(step(d, std::min(d, size - d) * part), 1);
      }
      break;
    case ScatterMethod::kDirect: {
      if (topology.levels.size() == 1) {
        // Each card sends one message and hears one, whatever the distance: all
        // steps cost the same, and there are as many as ranks.
        const ExchangeCost cost = step(1, part);
        add(cost, size - 1);
        total.latency = cost.latency;  // all are under way at once
        break;
      }
      double latency = 0;
      for (int d = 1; d < size; ++d) {
        const ExchangeCost cost = step(d, part);
        latency = std::max(latency, cost.latency);
        add(cost, 1);
      }
      total.latency = latency;  // all are under way at once
      break;
    }
  }
  return total;
}

double repeated_adding(const Topology& topology, int vectors, double bytes) {
  const double ranks = topology.ranks();
  // A scatter adds (P - 1) / P of a vector as well, so that much is counted for
  // no algorithm.
  return (vectors - (ranks - 1) / ranks) * adding_seconds(bytes);
}

}  // namespace weft
