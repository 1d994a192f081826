#include "weft/comm/graph/exported_ranks.h"

#include <algorithm>

#include "weft/base/refusal.h"
#include "weft/comm/graph/blueconnect_rewrite.h"
#include "weft/comm/graph/network_collectives.h"
#include "weft/comm/graph/partitioned.h"
#include "weft/runtime/executable.h"

namespace weft {
namespace {

// The arguments and the hidden ones behind them, none of which is assigned.
std::vector<Tensor> all_inputs(const ExportedFunction& function,
                               const std::vector<Tensor>& arguments) {
  function.check_count(arguments);
  std::vector<Tensor> inputs = arguments;
  for (const Hidden& each : function.function().hidden()) {
    // Every rank has a copy of its own, which an assignment would part from the
    // others'.
    if (each.is_assigned) {
      throw refused("@" + function.function().function().name(), "it",
                    {"several ranks",
                     fmt::format("each would assign its own copy of the "
                                 "variable '{}'",
                                 each.name),
                     ""},
                    ErrorCode::kUnsupported);
    }
    if (!each.is_variable()) {
      inputs.push_back(each.value.tensor());
      continue;
    }
    const VariableRef variable = each.variable.lock();
    WEFT_CHECK(variable, "the exported function owns it");
    inputs.push_back(variable->value);
  }
  return inputs;
}

// Who has each of the inputs behind the first `given`: the rank with the fewest
// bytes so far.
std::vector<int> holders_of(std::span<const TensorType> types,
                            std::size_t given, std::span<const int> ranks,
                            int size) {
  std::vector<int> holders(types.size() - given, RankPlacement::kEverywhere);
  for (const int rank : ranks) {
    if (rank >= 0 && rank < size) continue;
    throw Error(ErrorCode::kInvalidArgument, "weights",
                "there is no rank {}, of {}", rank, size);
  }
  if (ranks.empty()) return holders;
  std::vector<std::size_t> bytes(ranks.size(), 0);
  for (std::size_t i = 0; i < holders.size(); ++i) {
    const auto least = std::ranges::min_element(bytes);
    holders[i] = ranks[static_cast<std::size_t>(least - bytes.begin())];
    *least += types[given + i].bytes();
  }
  return holders;
}

std::string line_of(const Partitioned& parts) {
  const Receipt receipt = parts.receipt();
  std::string line =
      fmt::format("{:.2f} ms; received {} values of {:.1f} MB",
                  receipt.seconds * 1e3, receipt.values, receipt.bytes / 1e6);
  // Without an order nobody has measured what anything takes.
  if (parts.has_order()) {
    line += fmt::format(
        ", which take {:.2f} ms by themselves, and computing {:.2f} ms; "
        "efficiency {:.3f}",
        receipt.wire * 1e3, receipt.computing * 1e3, receipt.efficiency());
  }
  if (const auto expected = parts.places().expected_efficiency) {
    line += fmt::format(", {:.3f} expected", *expected);
  }
  return line + "\n";
}

}  // namespace

std::vector<Tensor> run_together(const ExportedFunction& function,
                                 const std::vector<Tensor>& arguments,
                                 std::string_view collective,
                                 Transport& transport, std::string& said) {
  const std::vector<Tensor> inputs = all_inputs(function, arguments);
  const bool is_blueconnect = collective == "blueconnect";
  const ScatterMethod method =
      // BlueConnect has a ring within each of its groups, so what the rewrite
      // leaves runs on rings.
      is_blueconnect ? ScatterMethod::kRing : scatter_method(collective);
  Function whole = function.function().function();
  if (is_blueconnect) {
    std::vector<std::string> hosts;
    for (int rank = 0; rank < transport.size(); ++rank) {
      hosts.push_back(transport.host(rank));
    }
    BlueConnectRewrite rewrite = rewrite_blueconnect(whole, hosts);
    for (const BlueConnectDecision& each : rewrite.decisions) {
      said += to_string(each) + "\n";
    }
    whole = std::move(rewrite.function);
  }
  Engine engine(transport);
  Communicator all(transport);
  NetworkCollectives network(all, engine, method);
  const CollectivesScope scope(network);
  Executable executable(std::move(whole));
  return executable.run(inputs);
}

std::vector<Tensor> run_parts(const ExportedFunction& function,
                              const std::vector<Tensor>& arguments,
                              const PartsOptions& options, Transport& transport,
                              std::string& said) {
  const std::string& entry = function.function().function().name();
  const std::vector<Tensor> inputs = all_inputs(function, arguments);
  std::vector<TensorType> types;
  // A graph is cut for static shapes (partitioned.h), and the arguments have
  // some.
  for (const Tensor& input : inputs) types.push_back(input.type());
  RankPlacement ranks = parse_placement(options.placement, transport.size());
  // Every rank has read the same inputs, so these need not be sent.
  ranks.arguments.assign(arguments.size(), RankPlacement::kEverywhere);
  const std::vector<int> holders =
      holders_of(types, arguments.size(), options.weights, transport.size());
  ranks.arguments.insert(ranks.arguments.end(), holders.begin(), holders.end());
  std::optional<Level> network;
  if (!options.topology.empty()) {
    network = flat_level(parse_topology(options.topology));
  }
  Engine engine(transport);
  Communicator all(transport);
  Partitioned parts(function.function().graph(), entry, types, ranks, all,
                    engine, options.tagged, options.order, network);
  std::vector<Tensor> results;
  for (int run = 0; run < options.times; ++run) {
    results = parts.run(inputs);
    if (options.order != ReceiveOrder::kNone || options.times > 1) {
      said += line_of(parts);
    }
  }
  return results;
}

}  // namespace weft
