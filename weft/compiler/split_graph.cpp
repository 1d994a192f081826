#include "weft/compiler/split_graph.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "weft/compiler/vertex_cut.h"
#include "weft/graph/function_copy.h"

namespace weft {
namespace {

using Nodes = std::vector<NodeId>;

// Cuts parts in two, until all are small.
class Splitter {
 public:
  Splitter(const Function& function, std::vector<std::int64_t> capacities,
           std::size_t most)
      : function_(function),
        capacities_(std::move(capacities)),
        most_(most),
        place_(function.nodes().size(), -1) {}

  std::vector<Nodes> run() {
    Nodes all(function_.nodes().size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<Nodes> open = {std::move(all)};
    std::vector<Nodes> done;
    while (!open.empty()) {
      Nodes nodes = std::move(open.back());
      open.pop_back();
      if (nodes.size() <= most_) {
        if (!nodes.empty()) done.push_back(std::move(nodes));
        continue;
      }
      auto [upper, lower] = halves(nodes);
      open.push_back(std::move(lower));
      open.push_back(std::move(upper));
    }
    return done;
  }

 private:
  // The first quarter stays above the cut and the last one below: between them
  // the cheapest cut is taken.
  std::pair<Nodes, Nodes> halves(const Nodes& nodes) {
    const std::size_t quarter = std::max<std::size_t>(nodes.size() / 4, 1);
    CutGraph graph;
    graph.successors.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      place_[static_cast<std::size_t>(nodes[i])] = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ValueId id : function_.node(nodes[i]).inputs) {
        const NodeId maker = function_.value(id).node;
        if (maker < 0) continue;
        const int from = place_[static_cast<std::size_t>(maker)];
        if (from >= 0) {
          graph.successors[static_cast<std::size_t>(from)].push_back(
              static_cast<int>(i));
        }
      }
      // The last nodes are never upper: their predecessors may be cut.
      const bool is_free = i + 1 >= quarter && i + quarter < nodes.size();
      graph.capacities.push_back(
          is_free ? capacities_[static_cast<std::size_t>(nodes[i])]
                  : CutGraph::kNever);
      if (i < quarter) graph.sources.push_back(static_cast<int>(i));
      if (i + quarter >= nodes.size()) {
        graph.sinks.push_back(static_cast<int>(i));
      }
    }
    for (const NodeId id : nodes) place_[static_cast<std::size_t>(id)] = -1;
    const VertexCut cut = min_vertex_cut(graph);
    std::pair<Nodes, Nodes> result;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      // Where no cut is allowed, as an edge leads from the first quarter to the
      // last, the order decides.
      const bool is_upper = cut.capacity < CutGraph::kNever
                                ? cut.is_upper[i]
                                : i < nodes.size() / 2;
      (is_upper ? result.first : result.second).push_back(nodes[i]);
    }
    return result;
  }

  const Function& function_;
  std::vector<std::int64_t> capacities_;
  std::size_t most_;
  std::vector<int> place_;  // of nodes in the part that is being cut
};

}  // namespace

std::vector<std::int64_t> cut_capacities(
    const Function& function, std::span<const RuleDef* const> rules) {
  std::vector<std::int64_t> capacities(function.nodes().size());
  const Readers readers(function);
  for (const RuleDef* rule : rules) {
    for (const Match& match : find_matches(function, readers, *rule)) {
      const auto is_matched = [&](NodeId id) {
        return id >= 0 &&
               std::ranges::find(match.nodes, id) != match.nodes.end();
      };
      for (const NodeId id : match.nodes) {
        const Node& node = function.node(id);
        const bool reads = std::ranges::any_of(node.inputs, [&](ValueId v) {
          return is_matched(function.value(v).node);
        });
        const bool is_read = std::ranges::any_of(node.outputs, [&](ValueId v) {
          return std::ranges::any_of(readers.nodes(v), is_matched);
        });
        if (reads && is_read) ++capacities[static_cast<std::size_t>(id)];
      }
    }
  }
  return capacities;
}

std::vector<std::vector<NodeId>> split_graph(
    const Function& function, std::span<const RuleDef* const> rules,
    std::size_t most) {
  WEFT_CHECK(most > 0);
  return Splitter(function, cut_capacities(function, rules), most).run();
}

std::vector<std::vector<NodeId>> split_in_order(const Function& function,
                                                std::size_t most) {
  std::vector<Nodes> parts;
  Nodes nodes;
  std::size_t room = std::max<std::size_t>(most / 2, 1);
  for (std::size_t i = 0; i < function.nodes().size(); ++i) {
    nodes.push_back(static_cast<NodeId>(i));
    if (nodes.size() < room) continue;
    parts.push_back(std::move(nodes));
    nodes.clear();
    room = most;
  }
  if (!nodes.empty()) parts.push_back(std::move(nodes));
  return parts;
}

FunctionPart part_of(const Function& function, const Readers& readers,
                     std::vector<NodeId> nodes) {
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  FunctionPart part{std::move(nodes), {}, {}, Function()};
  FunctionCopy copy(function, "part");
  std::set<ValueId> seen;
  for (const NodeId id : part.nodes) {
    for (const ValueId input : function.node(id).inputs) {
      if (inside.contains(function.value(input).node)) continue;
      if (!seen.insert(input).second) continue;
      part.inputs.push_back(input);
      copy.add_parameter(input);
    }
  }
  for (const NodeId id : part.nodes) {
    copy.add_node(function.node(id));
    for (const ValueId output : function.node(id).outputs) {
      const bool is_read =
          readers.is_result(output) ||
          std::ranges::any_of(readers.nodes(output), [&](NodeId reader) {
            return !inside.contains(reader);
          });
      if (is_read) part.results.push_back(output);
    }
  }
  part.function = copy.finish(part.results);
  return part;
}

}  // namespace weft
