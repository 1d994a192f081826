#include "weft/compiler/flat/flow.h"

#include <set>

#include "weft/base/index.h"

namespace weft {
namespace {

// Values that are to be looked at, each once.
class Ways {
 public:
  // A recursion leads back to values that were seen, which ends the search.
  void add(Endpoint value) {
    if (seen_.insert(value).second) open_.push_back(value);
  }
  bool is_empty() const { return open_.empty(); }
  Endpoint take() {
    const Endpoint value = open_.back();
    open_.pop_back();
    return value;
  }

 private:
  std::set<Endpoint> seen_;
  std::vector<Endpoint> open_;
};

}  // namespace

Flow::Flow(const FlatGraph& graph)
    : graph_(graph),
      readers_(graph.nodes.size()),
      parameters_(graph.bodies.size()) {
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const FlatNode& node = graph.nodes[id];
    for (const Endpoint input : node.inputs) {
      readers_[at(input.node)].push_back(static_cast<int>(id));
    }
    if (node.kind != FlatKind::kParameter) continue;
    auto& parameters = parameters_[at(node.body)];
    if (parameters.size() <= at(node.index)) {
      parameters.resize(at(node.index) + 1, -1);
    }
    // A draft lists its parameters by index; a graph may have dropped some.
    parameters[at(node.index)] = static_cast<int>(id);
  }
}

std::vector<Flow::Reader> Flow::readers_of(int from) const {
  std::vector<Reader> readers;
  Ways ways;
  for (int i = 0; i < static_cast<int>(graph_.node(from).types.size()); ++i) {
    ways.add({from, i});
  }
  while (!ways.is_empty()) {
    const Endpoint value = ways.take();
    // Only the entry's results leave the graph; those of other bodies go on by
    // their Returns.
    if (graph_.node(value.node).body == 0) {
      const auto& results = graph_.body(0).results;
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i] == value) {
          readers.push_back({.result = static_cast<int>(i)});
        }
      }
    }
    for (const int id : readers_[at(value.node)]) {
      const FlatNode& node = graph_.node(id);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!(node.inputs[i] == value)) continue;
        if (node.kind == FlatKind::kRegion) {
          readers.push_back({.region = id});
        } else if (node.kind == FlatKind::kCall) {
          const int callee = graph_.sites[at(node.site)].callee;
          ways.add({parameters_[at(callee)].at(at(node.index)), 0});
        } else if (node.kind != FlatKind::kSwitch) {
          ways.add({id, 0});  // a Merge, a Return
        } else if (i == 0) {  // a predicate is where the data are
          ways.add({id, 0});
          ways.add({id, 1});
        }
      }
    }
  }
  return readers;
}

std::vector<int> Flow::sources_of(Endpoint from) const {
  std::vector<int> sources;
  Ways ways;
  ways.add(from);
  while (!ways.is_empty()) {
    const int id = ways.take().node;
    const FlatNode& node = graph_.node(id);
    switch (node.kind) {
      case FlatKind::kSwitch:
      case FlatKind::kCall:
        ways.add(node.inputs[0]);
        break;
      case FlatKind::kMerge:
      case FlatKind::kReturn:
        for (const Endpoint input : node.inputs) ways.add(input);
        break;
      // Those of the entry are arguments, where the way ends; others are what
      // calls give them.
      case FlatKind::kParameter:
        if (node.body == 0) sources.push_back(id);
        for (const Endpoint call : node.inputs) ways.add(call);
        break;
      default:
        sources.push_back(id);
    }
  }
  return sources;
}

}  // namespace weft
