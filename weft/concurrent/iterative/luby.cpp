#include "weft/concurrent/iterative/luby.h"

#include <algorithm>
#include <numeric>

#include "weft/base/philox.h"

namespace weft::concurrent {
namespace {

constexpr std::uint32_t kLubyStream = 0x6c756279;  // "luby"

// Ties go to the smaller vertex.
std::uint64_t priority(const RandomStream& random, Vertex v) {
  return std::uint64_t{random.word(v)} << 32U | v;
}

}  // namespace

LubySet luby_independent_set(const Graph& graph, std::uint64_t seed) {
  LubySet result{std::vector<std::uint8_t>(graph.vertices(), 0)};
  std::vector<std::uint8_t> is_live(graph.vertices(), 1);
  std::vector<Vertex> live(graph.vertices());
  std::iota(live.begin(), live.end(), 0);
  while (!live.empty()) {
    // Priorities are drawn anew in each round, as its analysis asks for.
    const RandomStream random{seed, kLubyStream,
                              static_cast<std::uint32_t>(result.rounds++)};
    std::vector<Vertex> winners;
    for (const Vertex v : live) {
      const auto neighbours = graph.neighbours(v);
      const bool wins =
          std::none_of(neighbours.begin(), neighbours.end(), [&](Vertex u) {
            return is_live[u] != 0 && priority(random, u) < priority(random, v);
          });
      if (wins) winners.push_back(v);
    }
    // All winners are known before any takes effect, as if the round ran at
    // once.
    for (const Vertex v : winners) {
      result.chosen[v] = 1;
      is_live[v] = 0;
      for (const Vertex u : graph.neighbours(v)) is_live[u] = 0;
    }
    std::erase_if(live, [&](Vertex v) { return is_live[v] == 0; });
  }
  return result;
}

}  // namespace weft::concurrent
