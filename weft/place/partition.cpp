#include "weft/place/partition.h"

#include <algorithm>
#include <map>
#include <set>

#include "weft/base/index.h"
#include "weft/compiler/flat/branches.h"
#include "weft/place/homes.h"

namespace weft {
namespace {

// What crosses between ranks, numbered alike for all of them.
class Crossings {
 public:
  explicit Crossings(const FlatGraph& whole) : whole_(whole) {}

  // The crossing of a value to a rank; `argument` of the entry, or -1.
  int of(Endpoint value, int from, int to, int argument = -1) {
    // A value crosses once to a rank, however many read it there.
    const auto [found, is_new] =
        numbers_.emplace(std::pair(value, to), static_cast<int>(all_.size()));
    if (is_new) {
      const FlatNode& node = whole_.node(value.node);
      all_.push_back({.from = from,
                      .to = to,
                      .type = whole_.type(value),
                      .value = to_string(whole_, value.node) + ", in @" +
                               whole_.body(node.body).name,
                      .argument = argument});
      values_.push_back(value);
    }
    return found->second;
  }

  const std::vector<Crossing>& all() const { return all_; }
  Endpoint value(int crossing) const { return values_[at(crossing)]; }

 private:
  const FlatGraph& whole_;
  std::vector<Crossing> all_;
  std::vector<Endpoint> values_;  // by crossing
  std::map<std::pair<Endpoint, int>, int> numbers_;
};

// What all parts are made from.
struct PartitionPlan {
  PartitionPlan(const FlatGraph& graph, const RankPlacement& given)
      : whole(graph),
        placement(given),
        branches(graph),
        homes(graph, given),
        crossings(graph),
        is_read(graph.nodes.size()),
        participants(graph.bodies.size()) {
    for (const FlatNode& node : graph.nodes) {
      for (const Endpoint input : node.inputs) is_read[at(input.node)] = true;
    }
    for (const Body& body : graph.bodies) {
      for (const Endpoint value : body.results) is_read[at(value.node)] = true;
    }
    find_participants();
  }

  // Switches that only mark a branch are made where they are needed.
  bool is_marker(int id) const {
    return whole.node(id).kind == FlatKind::kSwitch && !is_read[at(id)];
  }

  bool takes_part(int rank, int body) const {
    return participants[at(body)].contains(rank);
  }

  const FlatGraph& whole;
  const RankPlacement& placement;
  Branches branches;
  Homes homes;
  Crossings crossings;
  std::vector<bool> is_read;                // by node, other than as a trigger
  std::vector<std::set<int>> participants;  // ranks, by body

 private:
  // A rank that has a node of a body follows all calls that lead there.
  void find_participants() {
    for (int rank = 0; rank < placement.ranks; ++rank) {
      participants[0].insert(rank);
    }
    for (std::size_t id = 0; id < whole.nodes.size(); ++id) {
      const FlatNode& node = whole.nodes[id];
      const int home = homes.of(static_cast<int>(id));
      // What is everywhere, or is made wherever it is needed, makes nobody take
      // part.
      if (home < 0 || is_marker(static_cast<int>(id))) continue;
      participants[at(node.body)].insert(home);
    }
    // Whoever calls a body in which a rank takes part leads there, and so do
    // those that call it: this goes on until no body gains a rank.
    for (bool changed = true; changed;) {
      changed = false;
      for (const CallSite& site : whole.sites) {
        std::set<int>& caller = participants[at(site.caller)];
        const std::size_t before = caller.size();
        caller.insert(participants[at(site.callee)].begin(),
                      participants[at(site.callee)].end());
        changed = changed || caller.size() != before;
      }
    }
  }
};

// Makes one rank's graph.
class PartBuilder {
 public:
  PartBuilder(PartitionPlan& plan, int rank)
      : plan_(plan), whole_(plan.whole), rank_(rank) {}

  // All but the Sends.
  void build() {
    FlatGraph& graph = part_.graph;
    for (const Body& body : whole_.bodies) graph.bodies.push_back({body.name});
    graph.sites = whole_.sites;
    // Sites keep their numbers, by which ranks make the same tags.
    for (CallSite& site : graph.sites) site.calls = site.returns = {};
    add_own_nodes();
    set_results();
    connect_own_nodes();
    begin_calls();
  }

  // When all parts have said what they receive.
  GraphPart finish() {
    FlatGraph& graph = part_.graph;
    graph.crossings = plan_.crossings.all();
    for (std::size_t i = 0; i < graph.crossings.size(); ++i) {
      const Crossing& crossing = graph.crossings[i];
      // Arguments are no Sends: they are exchanged before a run begins.
      if (crossing.from != rank_ || crossing.argument >= 0) continue;
      const Endpoint value = plan_.crossings.value(static_cast<int>(i));
      graph.nodes.push_back({.kind = FlatKind::kSend,
                             .body = whole_.node(value.node).body,
                             .inputs = {own(value)},
                             .index = static_cast<int>(i)});
    }
    verify(graph);
    return std::move(part_);
  }

 private:
  int add(FlatNode node) {
    part_.graph.nodes.push_back(std::move(node));
    return static_cast<int>(part_.graph.nodes.size()) - 1;
  }

  bool is_own(int id) const {
    const FlatNode& node = whole_.node(id);
    // Every rank has a place for every argument, so that arguments keep their
    // numbers; some stay undefined.
    if (node.kind == FlatKind::kParameter && node.body == 0) return true;
    return plan_.homes.of(id) == rank_ && !plan_.is_marker(id);
  }

  void add_own_nodes() {
    for (int id = 0; id < static_cast<int>(whole_.nodes.size()); ++id) {
      if (!is_own(id)) continue;
      FlatNode node = whole_.node(id);
      // Inputs are connected when all nodes that are here have their numbers.
      node.inputs.clear();
      node.trigger = {};
      if (node.kind == FlatKind::kRegion) {
        // Regions are numbered anew: a worker keeps a plan for each, and a part
        // has few.
        node.region = static_cast<int>(part_.graph.regions.size());
        part_.graph.regions.push_back(
            whole_.regions[at(whole_.node(id).region)]);
      }
      const int made = own_[id] = add(std::move(node));
      own_ids_.push_back(id);
      const FlatNode& added = part_.graph.node(made);
      if (added.kind == FlatKind::kParameter) {
        part_.graph.bodies[at(added.body)].parameters.push_back(made);
      } else if (added.kind == FlatKind::kCall) {
        part_.graph.sites[at(added.site)].calls.push_back(made);
      } else if (added.kind == FlatKind::kReturn) {
        part_.graph.sites[at(added.site)].returns.push_back(made);
      }
    }
  }

  // A body returns here what is here; the entry what is wanted here.
  void set_results() {
    for (std::size_t body = 0; body < whole_.bodies.size(); ++body) {
      const auto& results = whole_.bodies[body].results;
      for (std::size_t i = 0; i < results.size(); ++i) {
        const int index = static_cast<int>(i);
        auto& made = part_.graph.bodies[body].results;
        if (body == 0) {
          const int to = plan_.placement.rank_of_result(i);
          if (to != rank_ && to != RankPlacement::kEverywhere) continue;
          part_.results.push_back(index);
          made.push_back(local(results[i]));
          // Other results reach the caller on another rank, where its Return
          // is.
        } else if (is_own(results[i].node)) {
          result_indices_[{static_cast<int>(body), index}] =
              static_cast<int>(made.size());
          made.push_back(own(results[i]));
        }
      }
    }
  }

  void connect_own_nodes() {
    for (const int id : own_ids_) {
      const FlatNode& node = whole_.node(id);
      if (node.kind == FlatKind::kParameter) {
        connect_parameter(id);
        continue;
      }
      std::vector<Endpoint> inputs;
      if (node.kind == FlatKind::kReturn) {
        // A Return is at home where its result is.
        inputs.push_back(own(node.inputs[0]));
        part_.graph.nodes[at(own_.at(id))].index = result_indices_.at(
            {whole_.sites[at(node.site)].callee, node.index});
      } else {
        for (const Endpoint input : node.inputs) inputs.push_back(local(input));
      }
      Endpoint trigger;
      if (node.trigger.node >= 0) {
        trigger = trigger_of(plan_.branches.of({id, 0}));
      }
      FlatNode& made = part_.graph.nodes[at(own_.at(id))];
      made.inputs = std::move(inputs);
      made.trigger = trigger;
    }
  }

  void connect_parameter(int id) {
    std::vector<Endpoint> calls;
    for (const Endpoint call : whole_.node(id).inputs) {
      calls.push_back(own(call));
    }
    part_.graph.nodes[at(own_.at(id))].inputs = std::move(calls);
  }

  // Where no argument begins an activation that this rank takes part in, a
  // bare Call does.
  void begin_calls() {
    for (std::size_t i = 0; i < whole_.sites.size(); ++i) {
      const CallSite& site = whole_.sites[i];
      if (!plan_.takes_part(rank_, site.callee)) continue;
      const auto& own_calls = part_.graph.sites[i].calls;
      if (std::any_of(own_calls.begin(), own_calls.end(), [&](int call) {
            return part_.graph.node(call).phase == 0;
          })) {
        continue;
      }
      const int branch = plan_.branches.of({site.calls.at(0), 0});
      const int call = add({.kind = FlatKind::kCall,
                            .body = site.caller,
                            .trigger = trigger_of(branch),
                            .site = static_cast<int>(i)});
      auto& made = part_.graph.sites[i].calls;
      made.insert(made.begin(), call);  // where it stands in whole graphs too
    }
  }

  Endpoint own(Endpoint value) const {
    return {own_.at(value.node), value.output};
  }

  // A value of the whole graph as it is read here.
  Endpoint local(Endpoint value) {
    const int home = plan_.homes.of(value.node);
    if (whole_.is_argument(value)) {
      if (home != rank_ && home != RankPlacement::kEverywhere) {
        plan_.crossings.of(value, home, rank_, whole_.node(value.node).index);
      }
      return own(value);
    }
    // One Receive serves all readers of a value here.
    if (home == rank_) return own(value);
    const auto known = received_.find(value);
    if (known != received_.end()) return known->second;
    const Endpoint trigger = trigger_of(plan_.branches.of(value));
    const int made = add({.kind = FlatKind::kReceive,
                          .body = whole_.node(value.node).body,
                          .trigger = trigger,
                          .index = plan_.crossings.of(value, home, rank_),
                          .types = {whole_.type(value)}});
    return received_[value] = {made};
  }

  // What arrives here when the branch is taken.
  Endpoint trigger_of(int branch) {
    if (branch < 0) return {};
    // An outer branch need not be asked for: the predicate itself comes only
    // where that one is taken.
    const auto [outer, predicate, side] = plan_.branches[branch];
    // One Switch marks both sides of its branch.
    const auto known = markers_.find(predicate);
    if (known != markers_.end()) return {known->second, side};
    const Endpoint here = local(predicate);
    const TensorType& type = whole_.type(predicate);
    // Only whether something comes is asked of it, so the predicate is the
    // value as well.
    const int made = add({.kind = FlatKind::kSwitch,
                          .body = whole_.node(predicate.node).body,
                          .inputs = {here, here},
                          .types = {type, type}});
    markers_[predicate] = made;
    return {made, side};
  }

  PartitionPlan& plan_;
  const FlatGraph& whole_;
  int rank_;
  GraphPart part_;
  std::map<int, int> own_;  // nodes of the whole that are here
  std::vector<int> own_ids_;
  std::map<Endpoint, Endpoint> received_;
  std::map<Endpoint, int> markers_;                    // by predicate
  std::map<std::pair<int, int>, int> result_indices_;  // by body and result
};

}  // namespace

std::vector<GraphPart> partition(const FlatGraph& whole,
                                 const RankPlacement& placement) {
  std::vector<GraphPart> parts;
  if (placement.ranks == 1) {
    parts.push_back({.graph = whole, .results = {}});
    for (std::size_t i = 0; i < whole.body(0).results.size(); ++i) {
      parts[0].results.push_back(static_cast<int>(i));
    }
    return parts;
  }
  PartitionPlan plan(whole, placement);
  std::vector<PartBuilder> builders;
  // All parts say first what they receive; only then is it known what each has
  // to send.
  for (int rank = 0; rank < placement.ranks; ++rank) {
    builders.emplace_back(plan, rank).build();
  }
  for (PartBuilder& builder : builders) parts.push_back(builder.finish());
  return parts;
}

}  // namespace weft
