#include "weft/runtime/tagged/homes.h"

#include <algorithm>
#include <set>

namespace weft {
namespace {

// A reader inside of a function counts as so many in the entry, which runs
// once.
constexpr int kInnerWeight = 16;

std::size_t at(int id) { return static_cast<std::size_t>(id); }

}  // namespace

int parameter_of(const FlatGraph& graph, const FlatNode& call) {
  const Body& callee = graph.body(graph.sites[at(call.site)].callee);
  const auto found =
      std::find_if(callee.parameters.begin(), callee.parameters.end(),
                   [&](int id) { return graph.node(id).index == call.index; });
  WEFT_CHECK(found != callee.parameters.end());
  return *found;
}

Homes::Homes(const FlatGraph& graph, const RankPlacement& placement)
    : graph_(graph),
      placement_(placement),
      readers_(graph.nodes.size()),
      states_(graph.nodes.size(), State::kUnknown),
      homes_(graph.nodes.size(), RankPlacement::kEverywhere) {
  find_readers();
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    resolve(static_cast<int>(id));
  }
}

void Homes::find_readers() {
  for (std::size_t id = 0; id < graph_.nodes.size(); ++id) {
    for (const Endpoint input : graph_.nodes[id].inputs) {
      readers_[at(input.node)].push_back(static_cast<int>(id));
    }
  }
}

// What is asked for while it is looked for passes a value round in a circle,
// and nothing on it computes.
int Homes::resolve(int id) {
  State& state = states_[at(id)];
  if (state == State::kKnown) return homes_[at(id)];
  if (state == State::kAsked) return placement_.others;
  state = State::kAsked;
  homes_[at(id)] = choose(id);
  state = State::kKnown;
  return homes_[at(id)];
}

int Homes::choose(int id) {
  const FlatNode& node = graph_.node(id);
  switch (node.kind) {
    case FlatKind::kRegion:
      return graph_.regions[at(node.region)].rank;
    case FlatKind::kCall:
      return node.index < 0 ? RankPlacement::kEverywhere
                            : resolve(parameter_of(graph_, node));
    case FlatKind::kReturn:
      return resolve(node.inputs[0].node);
    case FlatKind::kParameter:
      if (node.body == 0) return placement_.rank_of_argument(at(node.index));
      break;
    case FlatKind::kSwitch: {
      const int home = resolve(node.inputs[0].node);
      if (home != RankPlacement::kEverywhere) return home;
      break;
    }
    case FlatKind::kMerge:
      break;
    case FlatKind::kAccumulate:
    case FlatKind::kTotal:
    case FlatKind::kSend:
    case FlatKind::kReceive:
      WEFT_CHECK(false, "a placed graph has no {}", to_string(graph_, id));
  }
  std::vector<Endpoint> values;
  for (int i = 0; i < static_cast<int>(node.types.size()); ++i) {
    values.push_back({id, i});
  }
  const int home = most_read_on(std::move(values));
  if (home != RankPlacement::kEverywhere) return home;
  if (node.inputs.empty()) return placement_.others;
  const Endpoint source = node.kind == FlatKind::kParameter
                              ? graph_.node(node.inputs[0].node).inputs[0]
                              : node.inputs[0];
  return std::max(0, resolve(source.node));
}

// Where most regions are that read the values, directly or through what only
// passes them on; kEverywhere if there are none.
int Homes::most_read_on(std::vector<Endpoint> values) const {
  std::vector<int> votes(at(placement_.ranks), 0);
  std::set<Endpoint> seen(values.begin(), values.end());
  const auto follow = [&](Endpoint value) {
    if (seen.insert(value).second) values.push_back(value);
  };
  const auto follow_result = [&](Endpoint value) {
    const int body = graph_.node(value.node).body;
    const auto& results = graph_.body(body).results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!(results[i] == value)) continue;
      if (body == 0 && placement_.rank_of_result(i) >= 0) {
        ++votes[at(placement_.rank_of_result(i))];
      }
    }
  };
  while (!values.empty()) {
    const Endpoint value = values.back();
    values.pop_back();
    follow_result(value);
    for (const int id : readers_[at(value.node)]) {
      const FlatNode& node = graph_.node(id);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!(node.inputs[i] == value)) continue;
        if (node.kind == FlatKind::kRegion) {
          votes[at(graph_.regions[at(node.region)].rank)] +=
              node.body == 0 ? 1 : kInnerWeight;
        } else if (node.kind == FlatKind::kCall) {
          follow({parameter_of(graph_, node), 0});
        } else if (node.kind == FlatKind::kSwitch) {
          if (i == 1) continue;  // where its data are
          follow({id, 0});
          follow({id, 1});
        } else {
          follow({id, 0});  // a Merge, a Return
        }
      }
    }
  }
  const auto most = std::max_element(votes.begin(), votes.end());
  return *most == 0 ? RankPlacement::kEverywhere
                    : static_cast<int>(most - votes.begin());
}

}  // namespace weft
