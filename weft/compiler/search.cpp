#include "weft/compiler/search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <queue>
#include <unordered_map>

#include "weft/base/stopwatch.h"
#include "weft/compiler/frozen.h"
#include "weft/compiler/split_graph.h"
#include "weft/compiler/structure.h"
#include "weft/graph/inlining.h"

namespace weft {
namespace {

void check_options(const SearchOptions& options) {
  const auto require = [](bool holds, const char* name, const char* what) {
    if (!holds) throw Error(ErrorCode::kInvalidArgument, name, "{}", what);
  };
  require(options.alpha >= 1, "alpha", "must be 1 or more");
  require(options.budget > 0, "budget", "must be positive");
  require(options.seconds > 0, "seconds", "must be positive");
  require(options.part_nodes > 0, "part_nodes", "must be positive");
  for (const std::string& name : options.without) rule_registry().get(name);
}

std::string scope_of(const Function& function, const Match& match) {
  return function.node(match.nodes.back()).location.scope;
}

double value_of(const SearchObjective& objective, const StepCost& cost) {
  return objective.seconds * cost.seconds + objective.flops * cost.flops +
         objective.bytes * cost.bytes + objective.launches * cost.launches;
}

// A function on the way, and how it was made.
struct Candidate {
  Function function;
  double cost = 0;
  int from = -1;
  SearchStep step = {};
};

// What was found for a part.
struct Found {
  Function start;
  std::vector<bool> is_frozen;
  Candidate best;
  std::vector<SearchStep> taken;
  std::vector<SearchStep> refused;
};

class GraphSearch {
 public:
  GraphSearch(FunctionCosts& costs, const SearchOptions& options)
      : costs_(costs), options_(options), rules_(rules_for(options)) {
    const auto last = std::ranges::stable_partition(
        rules_, [](const RuleDef* rule) { return !rule->is_last; });
    last_rules_.assign(last.begin(), last.end());
    rules_.erase(last.begin(), last.end());
  }

  SearchResult run(const Function& function,
                   const std::vector<bool>& is_frozen) {
    SearchResult result;
    result.function = function;
    const std::size_t timed = costs_.table().timed();
    const FunctionCost start = costs_.cost(function, is_frozen);
    limit_ = options_.objective.arena_limit;
    result.before = value_of(options_.objective, start.total);
    if (options_.is_split && function.nodes().size() > options_.part_nodes) {
      // A limit of the whole says nothing about parts.
      limit_.reset();
      costs_.set_bytes_of_run(start.total.bytes);
      run_parts(is_frozen, result);
      costs_.set_bytes_of_run(0);
    } else {
      const Found& found = find(function, is_frozen);
      result.function = found.best.function;
      note(found, result);
      result.parts = 1;
    }
    const FunctionCost end = costs_.cost(result.function, is_frozen);
    result.after = value_of(options_.objective, end.total);
    const bool is_too_large =
        options_.objective.arena_limit &&
        end.arena_bytes >
            std::max(*options_.objective.arena_limit, start.arena_bytes);
    // Sums of parts may promise what the whole does not hold.
    if (is_too_large || result.after > result.before) {
      result.function = function;
      result.after = result.before;
      result.taken.clear();
    }
    result.expanded = expanded_;
    result.tried = tried_;
    result.timed = costs_.table().timed() - timed;
    result.is_out_of_time = is_out_of_time();
    return result;
  }

 private:
  bool is_out_of_time() const { return watch_.seconds() > options_.seconds; }

  // First the parts that the cuts make, then others, whose borders lie
  // elsewhere.
  void run_parts(const std::vector<bool>& is_frozen, SearchResult& result) {
    auto parts = split_graph(result.function, rules_, options_.part_nodes);
    result.parts = parts.size();
    replace_parts(parts, is_frozen, result);
    parts = split_in_order(result.function, options_.part_nodes);
    replace_parts(parts, is_frozen, result);
  }

  void replace_parts(const std::vector<std::vector<NodeId>>& parts,
                     const std::vector<bool>& is_frozen, SearchResult& result) {
    const Function& whole = result.function;
    const Readers readers(whole);
    const std::vector<bool> frozen = frozen_values(whole, is_frozen);
    std::vector<Replacement> replacements;
    result.refused.clear();
    for (const std::vector<NodeId>& nodes : parts) {
      FunctionPart part = part_of(whole, readers, nodes);
      std::vector<bool> inputs_frozen;
      for (const ValueId id : part.inputs) {
        inputs_frozen.push_back(frozen[static_cast<std::size_t>(id)]);
      }
      const Found& found = find(part.function, inputs_frozen);
      note(found, result);
      if (found.taken.empty()) continue;
      replacements.push_back(
          {part.nodes, part.results, part.inputs,
           [&found, inputs = part.inputs](const NewValue& values) {
             std::vector<Value> arguments;
             for (const ValueId id : inputs) arguments.push_back(values(id));
             return inlined_results(*current_context().builder(),
                                    found.best.function, arguments);
           }});
    }
    std::optional<Function> next = replace_nodes(whole, replacements);
    WEFT_CHECK(next.has_value(), "parts wait for each other");
    result.function = *std::move(next);
  }

  static void note(const Found& found, SearchResult& result) {
    result.taken.insert(result.taken.end(), found.taken.begin(),
                        found.taken.end());
    result.refused.insert(result.refused.end(), found.refused.begin(),
                          found.refused.end());
  }

  // The best of a part: looked up where an equal one was searched.
  const Found& find(const Function& function,
                    const std::vector<bool>& is_frozen) {
    std::vector<std::unique_ptr<Found>>& known =
        found_[structural_hash(function)];
    for (const auto& each : known) {
      if (each->is_frozen == is_frozen &&
          have_one_structure(each->start, function)) {
        return *each;
      }
    }
    known.push_back(std::make_unique<Found>(search_part(function, is_frozen)));
    return *known.back();
  }

  double cost_of(const Function& function, const std::vector<bool>& is_frozen) {
    ++tried_;
    const FunctionCost cost = costs_.cost(function, is_frozen);
    if (limit_ && cost.arena_bytes > *limit_) {
      return std::numeric_limits<double>::infinity();
    }
    return value_of(options_.objective, cost.total);
  }

  Found search_part(const Function& function,
                    const std::vector<bool>& is_frozen) {
    std::vector<Candidate> all;
    std::unordered_multimap<std::size_t, std::size_t> seen;
    using Entry = std::pair<double, std::size_t>;  // cost, place in `all`
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    const auto add = [&](Candidate candidate) {
      seen.emplace(structural_hash(candidate.function), all.size());
      queue.emplace(candidate.cost, all.size());
      all.push_back(std::move(candidate));
    };
    const auto is_new = [&](const Function& candidate) {
      const auto [first, last] = seen.equal_range(structural_hash(candidate));
      return std::none_of(first, last, [&](const auto& entry) {
        return have_one_structure(all[entry.second].function, candidate);
      });
    };
    add({function, cost_of(function, is_frozen)});
    std::size_t best = 0;
    int count = 0;
    while (!queue.empty() && count < options_.budget && !is_out_of_time()) {
      const std::size_t place = queue.top().second;
      queue.pop();
      if (all[place].cost < all[best].cost) best = place;
      // At alpha = 1 functions of the best cost are still looked into.
      if (all[place].cost > options_.alpha * all[best].cost) break;
      ++count;
      ++expanded_;
      // The list grows while it is read.
      const Function source = all[place].function;
      for_each_substitution(rules_, source,
                            [&](Function next, SearchStep step) {
                              if (!is_new(next)) return;
                              const double cost = cost_of(next, is_frozen);
                              step.gain = all[place].cost - cost;
                              if (!(cost < options_.alpha * all[best].cost))
                                return;
                              add({std::move(next), cost,
                                   static_cast<int>(place), std::move(step)});
                              if (all.back().cost < all[best].cost)
                                best = all.size() - 1;
                            });
    }
    while (finishes(is_frozen, all, best)) best = all.size() - 1;
    return result_of(function, is_frozen, all, best);
  }

  // Whether a rule that comes last makes something cheaper of the best one,
  // which then is the last of all.
  bool finishes(const std::vector<bool>& is_frozen, std::vector<Candidate>& all,
                std::size_t best) {
    const Function source = all[best].function;
    const double cost = all[best].cost;
    const std::size_t count = all.size();
    for_each_substitution(
        last_rules_, source, [&](Function next, SearchStep step) {
          if (all.size() > count) return;
          const double after = cost_of(next, is_frozen);
          if (!(after < cost)) return;
          step.gain = cost - after;
          all.push_back({std::move(next), after, static_cast<int>(best),
                         std::move(step)});
        });
    return all.size() > count;
  }

  // Calls body(function, step) for all that rules make of a function.
  template <class Body>
  void for_each_substitution(const std::vector<const RuleDef*>& rules,
                             const Function& function, Body&& body) {
    const Readers readers(function);
    for (const RuleDef* rule : rules) {
      for (const Match& match : find_matches(function, readers, *rule)) {
        if (is_out_of_time()) return;
        body(apply(function, match),
             SearchStep{rule->name, scope_of(function, match)});
      }
    }
  }

  Found result_of(const Function& function, const std::vector<bool>& is_frozen,
                  std::vector<Candidate>& all, std::size_t best) {
    Found found;
    found.start = function;
    found.is_frozen = is_frozen;
    for (std::size_t at = best; all[at].from >= 0;
         at = static_cast<std::size_t>(all[at].from)) {
      found.taken.push_back(all[at].step);
    }
    std::ranges::reverse(found.taken);
    found.best = std::move(all[best]);
    // What would still fit is asked once more, to say what it costs.
    for (const auto* rules : {&rules_, &last_rules_}) {
      for_each_substitution(*rules, found.best.function,
                            [&](const Function& next, SearchStep step) {
                              if (is_out_of_time()) return;
                              step.gain =
                                  found.best.cost - cost_of(next, is_frozen);
                              found.refused.push_back(std::move(step));
                            });
    }
    return found;
  }

  FunctionCosts& costs_;
  const SearchOptions& options_;
  std::vector<const RuleDef*> rules_, last_rules_;
  std::optional<std::size_t> limit_;
  Stopwatch watch_;
  std::size_t expanded_ = 0;
  std::size_t tried_ = 0;
  std::unordered_map<std::size_t, std::vector<std::unique_ptr<Found>>> found_;
};

}  // namespace

std::vector<const RuleDef*> rules_for(const SearchOptions& options) {
  std::vector<const RuleDef*> rules;
  for (const RuleDef& rule : rule_registry().all()) {
    if (rule.use != RuleUse::kMeasured) continue;
    if (options.in_training && !rule.holds_in_training) continue;
    if (std::ranges::find(options.without, rule.name) !=
        options.without.end()) {
      continue;
    }
    rules.push_back(&rule);
  }
  return rules;
}

SearchResult search(const Function& function,
                    const std::vector<bool>& is_frozen, FunctionCosts& costs,
                    const SearchOptions& options) {
  check_options(options);
  return GraphSearch(costs, options).run(function, is_frozen);
}

}  // namespace weft
