#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "weft/base/index.h"
#include "weft/compiler/flat/draft.h"
#include "weft/graph/known_ops.h"

namespace weft {
namespace {

// A result of a body.
using Result = std::pair<int, int>;

// What costs an activation no more to return than it costs to be run: it is
// added up in about a microsecond.
constexpr std::size_t kSmallSum = 16 << 10;

// What a result is the sum of.
struct Sum {
  std::vector<Endpoint> terms;
  std::vector<int> returns;  // nodes
};

// A negative zero stays a term like any other.
bool is_zero(const Node& op) {
  if (*op.op == known::full) {
    const double value = op.attributes.real("value");
    return value == 0 && !std::signbit(value);
  }
  if (*op.op != known::constant) return false;
  const Tensor& value = op.attributes.get<Tensor>("value");
  const auto* bytes = static_cast<const std::byte*>(value.raw());
  return std::all_of(bytes, bytes + value.bytes(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

class Accumulators {
 public:
  explicit Accumulators(Draft& draft) : draft_(draft), graph_(draft.graph) {
    count_readers();
    find_sums();
  }

  void run() {
    // It is all or nothing: where the accumulators of one body do not fit, sums
    // are returned and added as they were, which is right and slower.
    if (sums_.empty() || is_better_returned()) return;
    if (!name_accumulators() || !classify_sites()) return;
    for (const auto& [result, sum] : sums_) rewrite(result, sum);
    for (const int site : inner_) graph_.sites[at(site)].adds_to_caller = true;
  }

 private:
  // Among several workers the order in which terms arrive is nobody's, and the
  // last bits with it; a sum that activations return has the order of the
  // calls. Activations that hold products are batched instead, by one worker,
  // who sums many terms at once.
  bool is_better_returned() const {
    const auto is_small = [&](const auto& entry) {
      const auto [body, index] = entry.first;
      return graph_.type(graph_.body(body).results[at(index)]).bytes() <=
             kSmallSum;
    };
    const auto multiplies = [&](const FlatNode& node) {
      return node.kind == FlatKind::kRegion && node.body != 0 &&
             is_product(*draft_.ops[at(node.region)]);
    };
    return std::ranges::all_of(sums_, is_small) &&
           std::ranges::none_of(graph_.nodes, multiplies) &&
           has_parallel_calls();
  }

  bool has_parallel_calls() const {
    for (std::size_t a = 0; a < graph_.sites.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const CallSite& one = graph_.sites[a];
        const CallSite& other = graph_.sites[b];
        if (one.caller == other.caller && !exclude_each_other(one, other)) {
          return true;
        }
      }
    }
    return false;
  }

  // Whether two calls lie on different sides of one branch.
  bool exclude_each_other(const CallSite& one, const CallSite& other) const {
    const auto outer = [&](Endpoint marker) {
      return draft_.markers[at(marker.node)];
    };
    const Endpoint begin = outer({one.calls.front()});
    for (Endpoint x = begin; x.node >= 0; x = outer(x)) {
      for (Endpoint y = outer({other.calls.front()}); y.node >= 0;
           y = outer(y)) {
        if (x.node == y.node && x.output != y.output) return true;
      }
    }
    return false;
  }

  void count_readers() {
    for (const FlatNode& node : graph_.nodes) {
      if (node.kind == FlatKind::kReturn) continue;
      for (const Endpoint input : node.inputs) ++readers_[input];
    }
    for (const Body& body : graph_.bodies) {
      for (const Endpoint value : body.results) ++readers_[value];
    }
  }

  Result result_of(int return_node) const {
    const FlatNode& node = graph_.node(return_node);
    return {graph_.sites[at(node.site)].callee, node.index};
  }

  // Results that leave in the last phase, so that nothing of the activation
  // waits for them.
  bool may_come_last(Result result) const {
    const TensorType& type =
        graph_.type(graph_.body(result.first).results[at(result.second)]);
    // An accumulator takes tensors, and a scalar lies in the frame as a word.
    if (!is_floating(type.dtype) || type.shape.is_scalar()) return false;
    for (const CallSite& site : graph_.sites) {
      if (site.callee != result.first) continue;
      int last = 0;
      for (const int call : site.calls) {
        last = std::max(last, graph_.node(call).phase);
      }
      for (const int id : site.returns) {
        const FlatNode& node = graph_.node(id);
        // A total is complete only when the activation has ended; a later phase
        // might wait for it, and the activation for that phase.
        if (node.index == result.second && node.phase < last) return false;
      }
    }
    return true;
  }

  void find_sums() {
    // The entry runs once: it has no recursion to add over.
    for (int body = 1; body < static_cast<int>(graph_.bodies.size()); ++body) {
      const auto& results = graph_.body(body).results;
      for (int i = 0; i < static_cast<int>(results.size()); ++i) {
        if (!may_come_last({body, i})) continue;
        Sum sum;
        collect(results[at(i)], sum);
        if (!sum.returns.empty()) sums_[{body, i}] = std::move(sum);
      }
    }
    // Keep those that lead to a recursion.
    while (std::erase_if(sums_, [&](const auto& entry) {
             const auto& returns = entry.second.returns;
             return std::none_of(returns.begin(), returns.end(), [&](int id) {
               return sums_.contains(result_of(id));
             });
           }) > 0) {
    }
    for (auto& [result, sum] : sums_) {
      std::erase_if(sum.returns, [&, &terms = sum.terms](int id) {
        if (sums_.contains(result_of(id))) return false;
        // What a call outside of the recursion returns is a term like any
        // other.
        terms.push_back({id, 0});
        return true;
      });
    }
  }

  void collect(Endpoint value, Sum& sum) const {
    const FlatNode& node = graph_.node(value.node);
    // A partial sum that something else reads has to exist by itself.
    const bool is_only_here = readers_.at(value) == 1;
    if (node.kind == FlatKind::kMerge && is_only_here) {
      for (const Endpoint input : node.inputs) collect(input, sum);
    } else if (node.kind == FlatKind::kReturn && is_only_here) {
      sum.returns.push_back(value.node);
    } else if (node.kind == FlatKind::kRegion) {
      const Node& op = *draft_.ops[at(node.region)];
      if (is_zero(op)) return;
      if (*op.op == known::add && is_only_here &&
          // An add that broadcasts would add other shapes to the total.
          graph_.type(node.inputs[0]) == node.types[0] &&
          graph_.type(node.inputs[1]) == node.types[0]) {
        for (const Endpoint input : node.inputs) collect(input, sum);
      } else {
        sum.terms.push_back(value);
      }
    } else {
      sum.terms.push_back(value);
    }
  }

  int root(Result result) {
    int id = names_.at(result);
    while (parents_[at(id)] != id) id = parents_[at(id)];
    return id;
  }

  // One accumulator for all results that are added into each other. False if a
  // body has two results of one, or adds what no activation holds.
  bool name_accumulators() {
    for (const auto& [result, sum] : sums_) {
      names_[result] = static_cast<int>(parents_.size());
      parents_.push_back(names_[result]);
    }
    for (const auto& [result, sum] : sums_) {
      for (const int id : sum.returns) {
        // Results that are added into each other are found by union and find.
        parents_[at(root(result_of(id)))] = root(result);
      }
    }
    std::set<std::pair<int, int>> seen;
    for (const auto& [result, sum] : sums_) {
      // An activation has one total of each accumulator, and could not tell two
      // results apart.
      if (!seen.emplace(result.first, root(result)).second) return false;
      if (std::any_of(sum.terms.begin(), sum.terms.end(), [&](Endpoint term) {
            // An accumulator takes what is sent to a slot, and arguments are
            // read in place.
            return graph_.is_argument(term);
          })) {
        return false;
      }
    }
    return true;
  }

  // A site passes its caller's accumulators on, all or none.
  bool classify_sites() {
    std::set<int> added;  // Returns
    for (const auto& [result, sum] : sums_) {
      added.insert(sum.returns.begin(), sum.returns.end());
    }
    for (std::size_t id = 0; id < graph_.sites.size(); ++id) {
      std::size_t sums = 0;
      std::size_t inner = 0;
      for (const int node : graph_.sites[id].returns) {
        sums += sums_.contains(result_of(node)) ? 1u : 0u;
        inner += added.contains(node) ? 1u : 0u;
      }
      // A frame has one set of totals: its own, or that of its caller.
      if (inner != 0 && inner != sums) return false;
      if (inner != 0) inner_.push_back(static_cast<int>(id));
    }
    return true;
  }

  void rewrite(Result result, const Sum& sum) {
    const auto [body, index] = result;
    const TensorType type = graph_.type(graph_.body(body).results[at(index)]);
    const int accumulator = root(result);
    for (const Endpoint term : sum.terms) {
      draft_.add({.kind = FlatKind::kAccumulate,
                  .body = body,
                  .inputs = {term},
                  .index = accumulator},
                 {});
    }
    const int total = draft_.add({.kind = FlatKind::kTotal,
                                  .body = body,
                                  .index = accumulator,
                                  .types = {type}},
                                 {});
    // In an inner activation, which owns no totals, the Return of this is never
    // sent: nothing there waits for it.
    graph_.bodies[at(body)].results[at(index)] = {total, 0};
    for (const CallSite& site : graph_.sites) {
      if (site.callee != body) continue;
      for (const int id : site.returns) {
        if (graph_.node(id).index == index) {
          graph_.nodes[at(id)].inputs = {{total, 0}};
        }
      }
    }
  }

  Draft& draft_;
  FlatGraph& graph_;
  std::map<Endpoint, int> readers_;
  std::map<Result, Sum> sums_;
  std::map<Result, int> names_;
  std::vector<int> parents_;  // equal accumulators have one root
  std::vector<int> inner_;    // sites
};

}  // namespace

bool is_product(const Node& op) { return *op.op == known::matmul; }

void accumulate_sums(Draft& draft) {
  Accumulators(draft).run();
  draft.is_in_place.resize(draft.graph.nodes.size(), false);
}

}  // namespace weft
