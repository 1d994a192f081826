#include "weft/compiler/vertex_cut.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace weft {
namespace {

constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max() / 4;

// Maximum flow by blocking flows in layers.
class FlowNetwork {
 public:
  explicit FlowNetwork(int vertices)
      : arcs_of_(static_cast<std::size_t>(vertices)) {}

  void add(int from, int to, std::int64_t capacity) {
    arcs_of_[at(from)].push_back(static_cast<int>(arcs_.size()));
    arcs_.push_back({to, capacity});
    arcs_of_[at(to)].push_back(static_cast<int>(arcs_.size()));
    arcs_.push_back({from, 0});
  }

  std::int64_t flow(int source, int sink, std::int64_t most) {
    std::int64_t total = 0;
    while (total < most && find_layers(source, sink)) {
      next_.assign(arcs_of_.size(), 0);
      while (const std::int64_t more = push(source, sink)) {
        total += more;
        if (total >= most) break;
      }
    }
    return total;
  }

  // The vertices that more flow could reach.
  std::vector<bool> reached(int source) {
    find_layers(source, -1);
    std::vector<bool> is_reached;
    for (const int layer : layers_) is_reached.push_back(layer >= 0);
    return is_reached;
  }

 private:
  struct Arc {
    int to;
    std::int64_t left;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  bool find_layers(int source, int sink) {
    layers_.assign(arcs_of_.size(), -1);
    layers_[at(source)] = 0;
    std::queue<int> open;
    open.push(source);
    while (!open.empty()) {
      const int vertex = open.front();
      open.pop();
      for (const int index : arcs_of_[at(vertex)]) {
        const Arc& arc = arcs_[at(index)];
        if (arc.left == 0 || layers_[at(arc.to)] >= 0) continue;
        layers_[at(arc.to)] = layers_[at(vertex)] + 1;
        open.push(arc.to);
      }
    }
    return sink >= 0 && layers_[at(sink)] >= 0;
  }

  // One path along the layers; graphs are too deep for a recursion.
  std::int64_t push(int source, int sink) {
    std::vector<int> path;
    int vertex = source;
    while (vertex != sink) {
      std::size_t& next = next_[at(vertex)];
      const std::vector<int>& arcs = arcs_of_[at(vertex)];
      while (next < arcs.size() && !leads_on(vertex, arcs[next])) ++next;
      if (next < arcs.size()) {
        path.push_back(arcs[next]);
        vertex = arcs_[at(arcs[next])].to;
        continue;
      }
      if (path.empty()) return 0;
      // Nothing leads on from here: one step back, and not here again.
      vertex = arcs_[at(path.back() ^ 1)].to;
      path.pop_back();
      ++next_[at(vertex)];
    }
    std::int64_t amount = kEndless;
    for (const int index : path) {
      amount = std::min(amount, arcs_[at(index)].left);
    }
    for (const int index : path) {
      arcs_[at(index)].left -= amount;
      arcs_[at(index ^ 1)].left += amount;
    }
    return amount;
  }

  bool leads_on(int vertex, int index) const {
    const Arc& arc = arcs_[at(index)];
    return arc.left > 0 && layers_[at(arc.to)] == layers_[at(vertex)] + 1;
  }

  std::vector<Arc> arcs_;  // each beside its reverse
  std::vector<std::vector<int>> arcs_of_;
  std::vector<int> layers_;
  std::vector<std::size_t> next_;
};

}  // namespace

VertexCut min_vertex_cut(const CutGraph& graph) {
  const int count = static_cast<int>(graph.successors.size());
  const auto enter = [](int node) { return 2 * node; };
  const auto leave = [](int node) { return 2 * node + 1; };
  const int source = 2 * count;
  const int sink = source + 1;
  FlowNetwork network(sink + 1);
  for (int node = 0; node < count; ++node) {
    const auto index = static_cast<std::size_t>(node);
    network.add(enter(node), leave(node), graph.capacities[index]);
    for (const int next : graph.successors[index]) {
      network.add(leave(node), enter(next), kEndless);
      // Where a node is upper, so is what it reads: an arc against the edge
      // makes any other cut endless.
      network.add(enter(next), enter(node), kEndless);
    }
  }
  for (const int node : graph.sources)
    network.add(source, enter(node), kEndless);
  for (const int node : graph.sinks) network.add(leave(node), sink, kEndless);
  VertexCut cut;
  cut.capacity = network.flow(source, sink, CutGraph::kNever);
  const std::vector<bool> reached = network.reached(source);
  for (int node = 0; node < count; ++node) {
    const bool is_upper = cut.capacity >= CutGraph::kNever ||
                          reached[static_cast<std::size_t>(enter(node))];
    cut.is_upper.push_back(is_upper);
    if (is_upper && !reached[static_cast<std::size_t>(leave(node))]) {
      cut.nodes.push_back(node);
    }
  }
  return cut;
}

}  // namespace weft
