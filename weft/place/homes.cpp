#include "weft/place/homes.h"

#include <algorithm>

#include "weft/base/index.h"

namespace weft {
namespace {

// The entry runs once, and other functions any number of times, which is known
// only when they run. A reader inside of a function counts as so many in the
// entry.
constexpr int kInnerWeight = 16;

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
      flow_(graph),
      states_(graph.nodes.size(), State::kUnknown),
      homes_(graph.nodes.size(), RankPlacement::kEverywhere) {
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    resolve(static_cast<int>(id));
  }
}

// The home of a node may depend on that of its source, and a recursion leads
// from source to source back to where it began. It does so only for a value
// that no region reads, as a value that is read has its home where that is.
// Nothing computes on such a circle, so any rank will do.
int Homes::resolve(int id) {
  State& state = states_[at(id)];
  if (state == State::kKnown) return homes_[at(id)];
  if (state == State::kAsked) return 0;
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
      // An argument crosses before the call, while it still has the tag of the
      // caller: a Call moves a value between activations of one rank.
      return node.index < 0 ? RankPlacement::kEverywhere
                            : resolve(parameter_of(graph_, node));
    case FlatKind::kReturn:
      return resolve(node.inputs[0].node);
    case FlatKind::kParameter:
      if (node.body == 0) return placement_.rank_of_argument(at(node.index));
      break;
    case FlatKind::kSwitch: {
      // What is not taken is not sent: the value crosses behind the Switch, if
      // at all.
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
  const int home = most_read_on(id);
  if (home != RankPlacement::kEverywhere) return home;
  // Nobody reads the value, so it stays where it is made and crosses nowhere.
  if (node.inputs.empty()) return 0;
  const Endpoint source = node.kind == FlatKind::kParameter
                              ? graph_.node(node.inputs[0].node).inputs[0]
                              : node.inputs[0];
  return std::max(0, resolve(source.node));
}

// Where most regions are that read a node's values in the end; kEverywhere if
// there are none.
int Homes::most_read_on(int id) const {
  std::vector<int> votes(at(placement_.ranks), 0);
  for (const auto [region, result] : flow_.readers_of(id)) {
    if (region >= 0) {
      const FlatNode& node = graph_.node(region);
      votes[at(graph_.regions[at(node.region)].rank)] +=
          node.body == 0 ? 1 : kInnerWeight;
      // A result that all ranks want speaks for none of them.
    } else if (placement_.rank_of_result(at(result)) >= 0) {
      ++votes[at(placement_.rank_of_result(at(result)))];
    }
  }
  const auto most = std::max_element(votes.begin(), votes.end());
  return *most == 0 ? RankPlacement::kEverywhere
                    : static_cast<int>(most - votes.begin());
}

}  // namespace weft
