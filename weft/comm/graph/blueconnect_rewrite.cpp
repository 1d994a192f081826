#include "weft/comm/graph/blueconnect_rewrite.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <optional>

#include "weft/base/refusal.h"
#include "weft/graph/collectives.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/registry.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

using Hosts = std::span<const std::string>;

// The ranks of a group, host by host, in the order in which hosts appear.
std::vector<Integers> ranks_by_host(std::span<const std::int64_t> group,
                                    Hosts hosts) {
  std::map<std::string_view, std::size_t> index;
  std::vector<Integers> by_host;
  for (const std::int64_t rank : group) {
    const auto [entry, is_new] = index.try_emplace(
        hosts[static_cast<std::size_t>(rank)], by_host.size());
    if (is_new) by_host.emplace_back();
    by_host[entry->second].push_back(rank);
  }
  return by_host;
}

// The ranks of a host scatter among themselves, pairs where it has but one.
std::int64_t scatter_size(const std::vector<Integers>& by_host) {
  return std::max<std::int64_t>(std::ssize(by_host.front()), 2);
}

// Why a group cannot be taken apart; empty if it can.
std::string why_not(const std::vector<Integers>& by_host) {
  const auto on_first = std::ssize(by_host.front());
  for (const Integers& ranks : by_host) {
    if (std::ssize(ranks) == on_first) continue;
    return fmt::format("a group has {} ranks on one host and {} on another",
                       on_first, ranks.size());
  }
  const auto size = on_first * std::ssize(by_host);
  const std::int64_t scatter = scatter_size(by_host);
  if (size % scatter != 0) {
    return fmt::format("{} ranks do not divide into scatter groups of {}", size,
                       scatter);
  }
  if (size < 2 * scatter) {
    return fmt::format("{} ranks make a single scatter group of {}", size,
                       scatter);
  }
  return {};
}

// The groups of the ops that an all_reduce is replaced by: `across` has one
// group per position in those of `scatter`.
struct Decomposition {
  RankGroups scatter;
  RankGroups across;

  // Appends those of one group, its ranks sorted by host.
  void add(const Integers& ranks) {
    const auto step = static_cast<std::size_t>(scatter.size);
    scatter.ranks.insert(scatter.ranks.end(), ranks.begin(), ranks.end());
    for (std::size_t position = 0; position < step; ++position) {
      // Across go those that stand at one position of their scatter groups:
      // they are left with the same part.
      for (std::size_t i = position; i < ranks.size(); i += step) {
        across.ranks.push_back(ranks[i]);
      }
    }
  }
};

// Nothing, with the reason, where the conditions are not met.
std::optional<Decomposition> decompose(const TensorType& type,
                                       const RankGroups& groups, Hosts hosts,
                                       std::string& reason) {
  Decomposition result;
  for (std::size_t i = 0; i < groups.count(); ++i) {
    const auto by_host = ranks_by_host(groups.group(i), hosts);
    reason = why_not(by_host);
    if (!reason.empty()) return std::nullopt;
    const std::int64_t scatter = scatter_size(by_host);
    if (i == 0) result = {{{}, scatter}, {{}, groups.size / scatter}};
    // The op has one size for all of its groups.
    if (scatter != result.scatter.size) {
      reason =
          fmt::format("one group scatters among {} ranks, another among {}",
                      result.scatter.size, scatter);
      return std::nullopt;
    }
    Integers sorted;
    for (const Integers& ranks : by_host) {
      sorted.insert(sorted.end(), ranks.begin(), ranks.end());
    }
    result.add(sorted);
  }
  const Dim elements = dim_product(type.shape.dims());
  if (is_symbolic(elements)) {
    reason = fmt::format("the number of elements, {}, is not known",
                         to_string(elements));
  } else if (elements % result.scatter.size != 0) {
    reason = fmt::format("{} elements do not divide into {} parts", elements,
                         result.scatter.size);
  }
  if (!reason.empty()) return std::nullopt;
  return result;
}

class Rewriter {
 public:
  Rewriter(const Function& function, Hosts hosts)
      : function_(function), hosts_(hosts), copy_(function, function.name()) {}

  BlueConnectRewrite run() {
    copy_.add_parameters();
    for (std::size_t i = 0; i < function_.nodes().size(); ++i) {
      const Node& node = function_.nodes()[i];
      if (*node.op == known::all_reduce) {
        replace(static_cast<NodeId>(i), node);
      } else {
        copy_.add_node(node);
      }
    }
    return {copy_.finish(), std::move(decisions_)};
  }

 private:
  void replace(NodeId id, const Node& node) {
    const RankGroups groups = RankGroups::of(node.attributes);
    if (groups.ranks.size() != hosts_.size()) {
      throw refused(
          "blueconnect",
          fmt::format("an all_reduce of {} ranks", groups.ranks.size()),
          {fmt::format("the hosts of {}", hosts_.size()), "each rank is on one",
           ""});
    }
    BlueConnectDecision decision{id, {}, {}};
    copy_[node.outputs[0]] =
        add_sum(copy_[node.inputs[0]], groups, node.location, decision);
    decisions_.push_back(std::move(decision));
  }

  // The all_reduce of x, taken apart as far as it goes.
  ValueId add_sum(ValueId x, const RankGroups& groups, const Location& location,
                  BlueConnectDecision& decision) {
    const TensorType type = copy_.function().type(x);
    // The groups across are again groups of hosts, so the sum among them is
    // taken apart in turn, until there is a reason not to.
    const auto parts = decompose(type, groups, hosts_, decision.reason);
    if (!parts) return add("all_reduce", x, groups.attributes(), location);
    decision.scatter_sizes.push_back(parts->scatter.size);
    const Attributes scatter = parts->scatter.attributes();
    // A reduce_scatter cuts the first axis; flat, every divisor of the elements
    // will do.
    const Shape flat{type.shape.num_elements()};
    const ValueId whole = add_reshape(x, flat, location);
    const ValueId part = add("reduce_scatter", whole, scatter, location);
    const ValueId sum = add_sum(part, parts->across, location, decision);
    const ValueId y = add("all_gather", sum, scatter, location);
    return add_reshape(y, type.shape, location);
  }

  ValueId add_reshape(ValueId x, const Shape& shape, const Location& location) {
    // A reshape that changes nothing would be one more node to run.
    if (copy_.function().type(x).shape == shape) return x;
    return add("reshape", x, {{"shape", shape}}, location);
  }

  ValueId add(std::string_view op, ValueId x, const Attributes& attributes,
              const Location& location) {
    return copy_.function()
        .add_node(op_registry().get(op), {x}, attributes, location)
        .outputs[0];
  }

  const Function& function_;
  Hosts hosts_;
  FunctionCopy copy_;
  std::vector<BlueConnectDecision> decisions_;
};

}  // namespace

std::string to_string(const BlueConnectDecision& decision) {
  const std::string name = fmt::format("all_reduce of node {}", decision.node);
  if (decision.scatter_sizes.empty()) {
    return fmt::format("{} stays: {}", name, decision.reason);
  }
  return fmt::format("{} is scattered among {}; what is left stays: {}", name,
                     fmt::join(decision.scatter_sizes, ", then "),
                     decision.reason);
}

BlueConnectRewrite rewrite_blueconnect(const Function& function,
                                       std::span<const std::string> hosts) {
  return Rewriter(function, hosts).run();
}

}  // namespace weft
