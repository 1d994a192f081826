#include "weft/place/part_transfers.h"

#include <algorithm>
#include <map>
#include <optional>

#include "weft/base/index.h"

namespace weft {
namespace {

using Indices = std::vector<std::size_t>;

void add(Indices& to, const Indices& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void sort_out(Indices& indices) {
  std::ranges::sort(indices);
  indices.erase(std::ranges::unique(indices).begin(), indices.end());
}

// What must have come, and run, before a value is there.
struct Needs {
  Indices transfers;
  Indices computations;

  void also(const Needs& other) {
    add(transfers, other.transfers);
    add(computations, other.computations);
  }
};

class Builder {
 public:
  Builder(const FlatGraph& part, int rank, std::span<const RegionSteps> steps)
      : part_(part), steps_(steps), known_(part.nodes.size()) {
    for (std::size_t i = 0; i < part.crossings.size(); ++i) {
      const Crossing& crossing = part.crossings[i];
      if (crossing.to != rank) continue;
      transfer_of_[static_cast<int>(i)] = result_.crossings.size();
      if (crossing.argument >= 0) {
        transfer_of_argument_[crossing.argument] = result_.crossings.size();
      }
      result_.crossings.push_back(static_cast<int>(i));
    }
    result_.graph.transfers.resize(result_.crossings.size());
  }

  PartTransfers build() {
    for (int id = 0; id < static_cast<int>(part_.nodes.size()); ++id) {
      needs_of(id);
    }
    return std::move(result_);
  }

 private:
  // Nodes follow in the order of what they read, which a recursion may lead
  // back to.
  const Needs& needs_of(int id) {
    std::optional<Needs>& known = known_[at(id)];
    if (known) return *known;
    known.emplace();
    Needs needs = find(id);
    sort_out(needs.transfers);
    sort_out(needs.computations);
    return known.emplace(std::move(needs));
  }

  Needs find(int id) {
    const FlatNode& node = part_.node(id);
    if (node.kind == FlatKind::kRegion) return run(node);
    Needs needs;
    if (node.kind == FlatKind::kReceive) {
      needs.transfers = {transfer_of_.at(node.index)};
    } else if (node.kind == FlatKind::kParameter && node.body == 0) {
      const auto found = transfer_of_argument_.find(node.index);
      if (found != transfer_of_argument_.end()) {
        needs.transfers = {found->second};
      }
    }
    for (const Endpoint input : node.inputs) needs.also(needs_of(input.node));
    if (node.trigger.node >= 0) needs.also(needs_of(node.trigger.node));
    return needs;
  }

  // A region gives its results when its last step has run.
  Needs run(const FlatNode& node) {
    Needs before;
    if (node.trigger.node >= 0) before = needs_of(node.trigger.node);
    std::vector<Needs> inputs;
    for (const Endpoint input : node.inputs) {
      inputs.push_back(needs_of(input.node));
      // What is computed elsewhere must be there before the region begins; what
      // is read in place, before the step that reads it.
      if (!part_.is_argument(input)) before.also(inputs.back());
    }
    const RegionSteps& steps = steps_[at(node.region)];
    auto& computations = result_.graph.computations;
    const std::size_t first = computations.size();
    for (const RegionStep& step : steps) {
      Needs needs = before;
      for (const std::size_t argument : step.arguments) {
        needs.also(inputs[argument]);
      }
      for (const std::size_t earlier : step.predecessors) {
        needs.computations.push_back(first + earlier);
      }
      sort_out(needs.transfers);
      sort_out(needs.computations);
      computations.push_back({.seconds = step.seconds,
                              .transfers = std::move(needs.transfers),
                              .predecessors = std::move(needs.computations)});
    }
    if (steps.empty()) return before;
    return {.transfers = {}, .computations = {computations.size() - 1}};
  }

  const FlatGraph& part_;
  std::span<const RegionSteps> steps_;
  std::vector<std::optional<Needs>> known_;  // by node
  std::map<int, std::size_t> transfer_of_;   // by crossing
  std::map<int, std::size_t> transfer_of_argument_;
  PartTransfers result_;
};

}  // namespace

RegionSteps steps_of_nodes(const Function& function) {
  std::map<ValueId, std::size_t> argument_of;
  for (std::size_t i = 0; i < function.parameters().size(); ++i) {
    argument_of[function.parameters()[i]] = i;
  }
  RegionSteps steps;
  for (const Node& node : function.nodes()) {
    RegionStep& step = steps.emplace_back();
    for (const ValueId id : node.inputs) {
      if (function.is_parameter(id)) {
        step.arguments.push_back(argument_of.at(id));
      } else {
        step.predecessors.push_back(
            static_cast<std::size_t>(function.value(id).node));
      }
    }
  }
  return steps;
}

PartTransfers transfers_of(const FlatGraph& part, int rank,
                           std::span<const RegionSteps> steps) {
  return Builder(part, rank, steps).build();
}

}  // namespace weft
