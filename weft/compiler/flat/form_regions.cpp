#include <algorithm>
#include <map>
#include <set>

#include "weft/base/index.h"
#include "weft/compiler/flat/region_groups.h"

namespace weft {
namespace {

// Writes the function of one group: its ops, in order.
class RegionBuilder {
 public:
  RegionBuilder(const Draft& draft, std::string name,
                const std::vector<int>& members)
      : draft_(draft), members_(members), function_(std::move(name)) {
    for (const int id : members_) add_parameters(id);
    for (const int id : members_) add(id);
  }

  // The function that returns `results`.
  Region finish(std::span<const Endpoint> results) {
    std::vector<ValueId> ids;
    for (const Endpoint result : results) ids.push_back(values_.at(result));
    function_.set_results(std::move(ids));
    return {.function = std::move(function_)};
  }

  // What its parameters stand for.
  const std::vector<Endpoint>& inputs() const { return inputs_; }

 private:
  bool is_made_here(Endpoint value) const {
    return is_copied(draft_, value.node) ||
           std::binary_search(members_.begin(), members_.end(), value.node);
  }

  void add_parameters(int id) {
    for (const Endpoint input : draft_.graph.node(id).inputs) {
      if (is_made_here(input) || values_.contains(input)) continue;
      inputs_.push_back(input);
      values_[input] = function_.add_parameter(draft_.graph.type(input), "");
    }
  }

  void add(int id) {
    // A copied op may be an operand of several members.
    if (values_.contains({id, 0})) return;
    const FlatNode& node = draft_.graph.node(id);
    const Node& op = *draft_.ops[at(node.region)];
    std::vector<ValueId> inputs;
    for (const Endpoint input : node.inputs) {
      // A constant is made anew in every region that reads it, rather than
      // passed as a value.
      if (is_copied(draft_, input.node)) add(input.node);
      inputs.push_back(values_.at(input));
    }
    const Node& made = function_.add_node(*op.op, std::move(inputs),
                                          op.attributes, op.location);
    for (std::size_t i = 0; i < made.outputs.size(); ++i) {
      values_[{id, static_cast<int>(i)}] = made.outputs[i];
    }
  }

  const Draft& draft_;
  const std::vector<int>& members_;
  Function function_;
  std::map<Endpoint, ValueId> values_;
  std::vector<Endpoint> inputs_;
};

class RegionFormer {
 public:
  explicit RegionFormer(const Draft& draft)
      : draft_(draft), groups_(group_ops(draft)) {}

  FlatGraph run() {
    find_needed();
    for (int id = 0; id < nodes(); ++id) {
      // Members come by rising number, which is an order in which they can run.
      if (is_needed_[at(id)] && groups_[at(id)] >= 0) {
        members_[groups_[at(id)]].push_back(id);
      }
    }
    for (int id = 0; id < nodes(); ++id) {
      if (!is_needed_[at(id)]) continue;
      const int group = groups_[at(id)];
      if (group < 0) {
        if (!is_copied(draft_, id)) copy(id);
        // At its last member all that the region reads stands before it.
      } else if (members_.at(group).back() == id) {
        add_region(group);
      }
    }
    rename();
    return std::move(made_);
  }

 private:
  const FlatNode& node(int id) const { return draft_.graph.node(id); }
  int nodes() const { return static_cast<int>(draft_.graph.nodes.size()); }

  // Code of the program does more than compute.
  bool is_host(int id) const {
    return node(id).kind == FlatKind::kRegion &&
           draft_.ops[at(node(id).region)]->op->has(kHost);
  }

  void need(int id) {
    if (id < 0 || is_needed_[at(id)]) return;
    is_needed_[at(id)] = true;
    work_.push_back(id);
  }

  // What results need, and all arguments that are passed: a call is made even
  // if the callee does not use what it is given.
  void find_needed() {
    is_needed_.assign(draft_.graph.nodes.size(), false);
    for (const Body& body : draft_.graph.bodies) {
      for (const Endpoint value : body.results) need(value.node);
    }
    for (int id = 0; id < nodes(); ++id) {
      // Nothing reads what these give, and they count all the same.
      if (node(id).kind == FlatKind::kAccumulate || is_host(id)) need(id);
    }
    for (const Body& body : draft_.graph.bodies) {
      for (const int parameter : body.parameters) {
        if (!draft_.is_in_place[at(parameter)]) need(parameter);
      }
    }
    // A trigger that is needed may need more values, and these more triggers.
    while (!work_.empty()) {
      while (!work_.empty()) {
        const int id = work_.back();
        work_.pop_back();
        for (const Endpoint input : node(id).inputs) need(input.node);
        need(node(id).trigger.node);
      }
      need_triggers();
    }
  }

  // A call that enters without arguments needs a Call that only begins it, and
  // a region that receives nothing is told of its branch.
  void need_triggers() {
    for (const CallSite& site : draft_.graph.sites) {
      int begins = -1;
      bool is_begun = false;
      for (const int call : site.calls) {
        if (node(call).index < 0) begins = call;
        if (node(call).phase == 0 && is_needed_[at(call)]) is_begun = true;
      }
      // Where an argument that is passed begins the activation, the bare Call
      // would only be one unit of work more.
      if (!is_begun) need(begins);
    }
    std::map<int, bool> receives;  // by group
    for (int id = 0; id < nodes(); ++id) {
      const int group = groups_[at(id)];
      if (!is_needed_[at(id)] || group < 0) continue;
      receives[group] = receives[group] || receives_token(id);
    }
    for (int id = 0; id < nodes(); ++id) {
      const auto found = receives.find(groups_[at(id)]);
      // Without a value to wait for, such a region would run in either branch.
      if (found != receives.end() && is_needed_[at(id)] && !found->second) {
        need(draft_.markers[at(id)].node);
      }
    }
  }

  // Whether an op has an operand that comes from no region and no argument.
  bool receives_token(int id) const {
    const auto& inputs = node(id).inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](Endpoint input) {
      if (draft_.graph.is_argument(input)) return false;
      return node(input.node).kind != FlatKind::kRegion ||
             (groups_[at(input.node)] >= 0 &&
              groups_[at(input.node)] != groups_[at(id)]);
    });
  }

  void copy(int id) {
    FlatNode made = node(id);
    // A parameter may be left with fewer Calls: those of sites that are gone.
    std::erase_if(made.inputs,
                  [&](Endpoint input) { return !is_needed_[at(input.node)]; });
    emplace(std::move(made));
    for (int output = 0; output < static_cast<int>(node(id).types.size());
         ++output) {
      renamed_[{id, output}] = {last(), output};
    }
    new_ids_[id] = last();
  }

  void add_region(int group) {
    const std::vector<int>& members = members_.at(group);
    FlatNode made{.kind = FlatKind::kRegion, .body = node(members[0]).body};
    made.region = static_cast<int>(made_.regions.size());
    RegionBuilder builder(
        draft_,
        fmt::format("{}.{}", draft_.graph.body(made.body).name, made.region),
        members);
    std::vector<Endpoint> results;
    for (const int id : members) {
      for (int i = 0; i < static_cast<int>(node(id).types.size()); ++i) {
        // Values that only this region reads stay inside its plan.
        if (!is_read_outside({id, i}, group)) continue;
        renamed_[{id, i}] = {static_cast<int>(made_.nodes.size()),
                             static_cast<int>(results.size())};
        results.push_back({id, i});
        made.types.push_back(draft_.graph.type({id, i}));
      }
    }
    made.inputs = builder.inputs();
    // Such a region receives nothing within the activation, so something has to
    // say when it may run.
    if (std::all_of(made.inputs.begin(), made.inputs.end(),
                    [&](Endpoint v) { return draft_.graph.is_argument(v); })) {
      made.trigger = draft_.markers[at(members[0])];
    }
    made_.regions.push_back(builder.finish(results));
    // Groups hold ops of one rank.
    made_.regions.back().rank = draft_.ranks[at(node(members[0]).region)];
    emplace(std::move(made));
  }

  bool is_read_outside(Endpoint value, int group) {
    if (readers_.empty()) find_readers();
    const auto found = readers_.find(value);
    if (found == readers_.end()) return false;
    return std::any_of(
        found->second.begin(), found->second.end(), [&](int reader) {
          return reader < 0 ||
                 (reader != group && !is_copied(draft_, value.node));
        });
  }

  // Finds the groups that read each value, -1 among them for what is no op.
  void find_readers() {
    for (int id = 0; id < nodes(); ++id) {
      if (!is_needed_[at(id)]) continue;
      for (const Endpoint input : node(id).inputs) {
        readers_[input].insert(groups_[at(id)]);
      }
    }
    for (const Body& body : draft_.graph.bodies) {
      for (const Endpoint value : body.results) readers_[value].insert(-1);
    }
  }

  void emplace(FlatNode made) { made_.nodes.push_back(std::move(made)); }
  int last() const { return static_cast<int>(made_.nodes.size()) - 1; }

  // Goes over from the draft's numbers to the new ones.
  void rename() {
    const auto rename_value = [&](Endpoint& value) {
      if (value.node >= 0) value = renamed_.at(value);
    };
    for (FlatNode& made : made_.nodes) {
      for (Endpoint& input : made.inputs) rename_value(input);
      rename_value(made.trigger);
    }
    const auto rename_nodes = [&](std::vector<int>& ids) {
      std::erase_if(ids, [&](int id) { return !is_needed_[at(id)]; });
      for (int& id : ids) id = new_ids_.at(id);
    };
    made_.bodies = draft_.graph.bodies;
    for (Body& body : made_.bodies) {
      rename_nodes(body.parameters);
      for (Endpoint& result : body.results) rename_value(result);
    }
    made_.sites = draft_.graph.sites;
    for (CallSite& site : made_.sites) {
      rename_nodes(site.calls);
      rename_nodes(site.returns);
    }
  }

  const Draft& draft_;
  std::vector<int> groups_;
  std::vector<bool> is_needed_;
  std::vector<int> work_;
  std::map<int, std::vector<int>> members_;  // by group
  std::map<Endpoint, std::set<int>> readers_;
  FlatGraph made_;
  std::map<Endpoint, Endpoint> renamed_;
  std::map<int, int> new_ids_;  // regions have none
};

}  // namespace

FlatGraph form_regions(const Draft& draft) { return RegionFormer(draft).run(); }

}  // namespace weft
