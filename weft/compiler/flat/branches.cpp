#include "weft/compiler/flat/branches.h"

#include <algorithm>

#include "weft/base/index.h"

namespace weft {
namespace {

template <class Items>
int count(const Items& items) {
  return static_cast<int>(items.size());
}

}  // namespace

void fail_verification(const FlatGraph& graph, int node,
                       const std::string& message) {
  throw Error(ErrorCode::kInternal, "verify", "{}", message)
      .detail("node: " + to_string(graph, node))
      .detail("body: @" + graph.body(graph.node(node).body).name);
}

Branches::Branches(const FlatGraph& graph) : graph_(graph) {
  // The nodes are visited in topological order (Kahn, 1962). Parameters depend
  // on nothing here, which cuts the cycles that calls make; what then remains
  // unvisited is a true cycle.
  std::vector<int> missing(graph.nodes.size(), 0);
  std::vector<std::vector<int>> dependents(graph.nodes.size());
  std::vector<int> ready;
  for (int id = 0; id < count(graph.nodes); ++id) {
    for (const Endpoint value : antecedents(id)) {
      ++missing[at(id)];
      dependents[at(value.node)].push_back(id);
    }
    if (missing[at(id)] == 0) ready.push_back(id);
  }
  for (std::size_t seen = 0; seen < ready.size(); ++seen) {
    const int id = ready[seen];
    place(id);
    for (const int next : dependents[at(id)]) {
      if (--missing[at(next)] == 0) ready.push_back(next);
    }
  }
  for (int id = 0; id < count(graph.nodes); ++id) {
    if (missing[at(id)] > 0) {
      fail_verification(graph, id,
                        "a value depends on itself within one activation");
    }
  }
}

// What must have its branch known before node `id`: its inputs within the
// activation, and for a Return the Calls of its site.
std::vector<Endpoint> Branches::antecedents(int id) const {
  const FlatNode& node = graph_.node(id);
  std::vector<Endpoint> result;
  if (node.kind == FlatKind::kReturn) {
    for (const int call : graph_.sites[at(node.site)].calls) {
      // A result of an early phase does not wait for a later one.
      if (graph_.node(call).phase <= node.phase) result.push_back({call, 0});
    }
    return result;
  }
  if (node.kind == FlatKind::kParameter) return result;
  for (const Endpoint input : node.inputs) {
    // An argument that is read in place exists on every branch of every body.
    if (node.kind == FlatKind::kRegion && graph_.is_argument(input)) continue;
    result.push_back(input);
  }
  if (node.trigger.node >= 0) result.push_back(node.trigger);
  return result;
}

// Sets the branch of each output of a node.
void Branches::place(int id) {
  const FlatNode& node = graph_.node(id);
  int branch = -1;
  bool is_first = true;
  for (const Endpoint value : antecedents(id)) {
    const int other = of_.at(value);
    // A Merge alone joins values of different branches, and leads out of them.
    if (node.kind == FlatKind::kMerge && !is_first) {
      branch = common(id, branch, other);
      continue;
    }
    if (!is_first && other != branch) {
      fail_verification(graph_, id, "the inputs lie on different branches");
    }
    branch = other;
    is_first = false;
  }
  for (int output = 0; output < std::max(1, count(node.types)); ++output) {
    of_[{id, output}] = node.kind == FlatKind::kSwitch
                            ? intern({branch, node.inputs[1], output})
                            : branch;
  }
}

// Equal branches have equal ids.
int Branches::intern(const BranchSide& branch) {
  // Every value that enters a branch has a Switch of its own; all of them mean
  // one branch.
  const auto found = std::find(branches_.begin(), branches_.end(), branch);
  if (found != branches_.end()) {
    return static_cast<int>(found - branches_.begin());
  }
  branches_.push_back(branch);
  return count(branches_) - 1;
}

// The branch that two sides part.
int Branches::common(int id, int a, int b) const {
  if (a >= 0 && b >= 0) {
    const BranchSide& x = branches_[at(a)];
    const BranchSide& y = branches_[at(b)];
    if (x.outer == y.outer && x.predicate == y.predicate && x.side != y.side) {
      return x.outer;
    }
  }
  fail_verification(graph_, id,
                    "a Merge joins what are not the two sides of one branch");
}

}  // namespace weft
