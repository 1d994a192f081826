#include "weft/compiler/flat/region_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "weft/base/index.h"
#include "weft/graph/known_ops.h"

namespace weft {
namespace {

class Groups {
 public:
  explicit Groups(const Draft& draft) : draft_(draft) {
    // Ops that wait for the same values can always run together, so they are
    // grouped first. Groups that one other alone reads then join it, as nothing
    // else waits for them. Ops that may wait are moved last, between groups
    // that stand.
    find_sources();
    find_adding();
    group_by_sources();
    while (absorb()) {
    }
    sink();
  }

  std::vector<int> take() { return std::move(group_); }

 private:
  using Sources = std::set<Endpoint>;

  const FlatNode& node(int id) const { return draft_.graph.node(id); }
  int nodes() const { return static_cast<int>(draft_.graph.nodes.size()); }
  bool is_op(int id) const { return node(id).kind == FlatKind::kRegion; }
  int rank(int id) const { return draft_.ranks[at(node(id).region)]; }

  // What an op waits for, through other ops of its rank: what another rank
  // computes must come first. Ops stand after their operands.
  void find_sources() {
    sources_.resize(draft_.graph.nodes.size());
    for (int id = 0; id < nodes(); ++id) {
      if (!is_op(id)) continue;
      Sources& sources = sources_[at(id)];
      for (const Endpoint input : node(id).inputs) {
        if (is_copied(draft_, input.node)) continue;
        if (is_op(input.node) && rank(input.node) == rank(id)) {
          const Sources& more = sources_[at(input.node)];
          sources.insert(more.begin(), more.end());
          // Arguments of the entry are there from the start; nobody waits for
          // them.
        } else if (!draft_.graph.is_argument(input)) {
          sources.insert(input);
        }
      }
    }
  }

  // What some result, call or accumulator depends on.
  std::vector<bool> find_live() const {
    std::vector<bool> live(draft_.graph.nodes.size(), false);
    std::vector<int> work;
    const auto need = [&](int id) {
      if (id < 0 || live[at(id)]) return;
      live[at(id)] = true;
      work.push_back(id);
    };
    for (const Body& body : draft_.graph.bodies) {
      for (const Endpoint value : body.results) need(value.node);
    }
    for (int id = 0; id < nodes(); ++id) {
      const FlatKind kind = node(id).kind;
      if (kind == FlatKind::kCall || kind == FlatKind::kAccumulate) need(id);
    }
    while (!work.empty()) {
      const FlatNode& next = node(work.back());
      work.pop_back();
      for (const Endpoint input : next.inputs) need(input.node);
      need(next.trigger.node);
    }
    return live;
  }

  // Ops stand after their operands.
  void find_adding() {
    const std::vector<bool> live = find_live();
    std::vector<bool> leads_on(draft_.graph.nodes.size(), false);
    for (const Body& body : draft_.graph.bodies) {
      for (const Endpoint value : body.results) leads_on[at(value.node)] = true;
    }
    const auto lead_on = [&](int id) {
      for (const Endpoint input : node(id).inputs) {
        leads_on[at(input.node)] = true;
      }
    };
    for (int id = 0; id < nodes(); ++id) {
      if (live[at(id)] && !is_op(id) &&
          node(id).kind != FlatKind::kAccumulate) {
        lead_on(id);
      }
    }
    is_adding_.assign(live.size(), false);
    // Backwards, the readers of an op are decided before it is.
    for (int id = nodes() - 1; id >= 0; --id) {
      if (!live[at(id)] || !is_op(id)) continue;
      is_adding_[at(id)] = !leads_on[at(id)];
      if (!is_adding_[at(id)]) lead_on(id);
    }
  }

  // Readers of each node that are no ops, and results, count as -1.
  std::vector<std::set<int>> readers() const {
    std::vector<std::set<int>> result(draft_.graph.nodes.size());
    for (int id = 0; id < nodes(); ++id) {
      for (const Endpoint input : node(id).inputs) {
        result[at(input.node)].insert(is_op(id) ? group_[at(id)] : -1);
      }
    }
    for (const Body& body : draft_.graph.bodies) {
      for (const Endpoint value : body.results) {
        result[at(value.node)].insert(-1);
      }
    }
    return result;
  }

  void group_by_sources() {
    group_.assign(draft_.graph.nodes.size(), -1);
    std::map<std::tuple<int, Endpoint, int, bool, Sources>, int> known;
    const auto join = [&](int id) {
      // The branch counts beside the sources: ops that read arguments alone
      // have no sources, and must not run on the side that is not taken.
      const auto key =
          std::tuple(node(id).body, draft_.markers[at(id)], rank(id),
                     is_adding_[at(id)], sources_[at(id)]);
      const auto [found, is_new] = known.emplace(key, static_cast<int>(count_));
      if (is_new) {
        ++count_;
        ranks_.push_back(rank(id));
      }
      group_[at(id)] = found->second;
    };
    for (int id = 0; id < nodes(); ++id) {
      if (is_op(id) && !is_copied(draft_, id)) join(id);
    }
    const auto read_by = readers();
    for (int id = 0; id < nodes(); ++id) {
      // A constant that a call or a result reads must be made somewhere; one
      // that only ops read is made in each of their regions.
      if (is_copied(draft_, id) && read_by[at(id)].contains(-1)) join(id);
    }
  }

  // Moves one group whose results only one other of its rank needs into that
  // one: nothing else waits for it.
  bool absorb() {
    // Groups change with every step, so their readers are found anew. Bodies
    // are small: this is quadratic in the groups of one.
    const auto read_by = readers();
    std::vector<std::set<int>> needed_by(count_);
    for (int id = 0; id < nodes(); ++id) {
      if (group_[at(id)] < 0) continue;
      auto& groups = needed_by[at(group_[at(id)])];
      for (const int reader : read_by[at(id)]) {
        if (reader != group_[at(id)]) groups.insert(reader);
      }
    }
    for (std::size_t group = 0; group < count_; ++group) {
      if (needed_by[group].size() != 1) continue;
      const int into = *needed_by[group].begin();
      // What a call or a result reads must not wait for the other inputs of a
      // larger region.
      if (into < 0 || ranks_[at(into)] != ranks_[group]) continue;
      for (int& other : group_) {
        if (other == static_cast<int>(group)) other = into;
      }
      return true;
    }
    return false;
  }

  void sink() {
    readers_of_.assign(draft_.graph.nodes.size(), {});
    for (int id = 0; id < nodes(); ++id) {
      for (const Endpoint input : node(id).inputs) {
        readers_of_[at(input.node)].push_back(is_op(id) ? id : -1);
        if (is_op(id)) received_[input].insert(group_[at(id)]);
      }
    }
    for (const Body& body : draft_.graph.bodies) {
      for (const Endpoint value : body.results) {
        readers_of_[at(value.node)].push_back(-1);
      }
    }
    // Backwards, a chain of ops is met at its end, and moves as a whole.
    for (int id = nodes() - 1; id >= 0; --id) {
      if (group_[at(id)] < 0 || readers_of_[at(id)].empty()) continue;
      // One reader tells the group, and may_sink() sees whether all are of it.
      const int reader = readers_of_[at(id)][0];
      if (reader < 0 || group_[at(reader)] == group_[at(id)]) continue;
      if (rank(reader) != rank(id)) continue;
      std::set<int> chain;
      if (!may_sink(id, group_[at(reader)], chain)) continue;
      for (const int each : chain) {
        group_[at(each)] = group_[at(reader)];
        for (const Endpoint input : node(each).inputs) {
          received_[input].insert(group_[at(reader)]);
        }
      }
    }
  }

  // In the entry, which runs once, a lookup may wait too: its rows need not be
  // kept until they are read.
  bool may_wait(int id) const {
    const OpDef& op = *draft_.ops[at(node(id).region)]->op;
    return op.has(kElementwise) || (node(id).body == 0 && op == known::gather);
  }

  // Whether an op, with what only it needs, can be computed from what group
  // `into` receives; `chain` becomes these ops.
  bool may_sink(int id, int into, std::set<int>& chain) const {
    if (!may_wait(id)) return false;
    const auto& readers = readers_of_[at(id)];
    if (!std::all_of(readers.begin(), readers.end(), [&](int reader) {
          return reader >= 0 &&
                 (chain.contains(reader) || group_[at(reader)] == into);
        })) {
      return false;
    }
    chain.insert(id);
    const auto& inputs = node(id).inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](Endpoint input) {
      if (is_copied(draft_, input.node) || chain.contains(input.node) ||
          draft_.graph.is_argument(input)) {
        return true;
      }
      const auto found = received_.find(input);
      if (found != received_.end() && found->second.contains(into)) return true;
      // An op that only this chain needs may move with it.
      return group_[at(input.node)] == group_[at(id)] &&
             may_sink(input.node, into, chain);
    });
  }

  const Draft& draft_;
  std::vector<std::vector<int>> readers_of_;    // -1: no op
  std::map<Endpoint, std::set<int>> received_;  // groups that read a value
  std::vector<Sources> sources_;
  std::vector<bool> is_adding_;
  std::vector<int> group_;
  std::vector<int> ranks_;  // by group
  std::size_t count_ = 0;
};

}  // namespace

bool is_copied(const Draft& draft, int id) {
  const FlatNode& node = draft.graph.node(id);
  return node.kind == FlatKind::kRegion && node.inputs.empty() &&
         !draft.ops[at(node.region)]->op->has(kRandom);
}

std::vector<int> group_ops(const Draft& draft) { return Groups(draft).take(); }

}  // namespace weft
