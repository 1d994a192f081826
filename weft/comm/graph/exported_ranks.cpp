#include "weft/comm/graph/exported_ranks.h"

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
                              std::string_view placement, Transport& transport,
                              const TaggedOptions& tagged) {
  const std::string& entry = function.function().function().name();
  const std::vector<Tensor> inputs = all_inputs(function, arguments);
  std::vector<TensorType> types;
  // A graph is cut for static shapes (partitioned.h), and the arguments have
  // some.
  for (const Tensor& input : inputs) types.push_back(input.type());
  RankPlacement ranks = parse_placement(placement, transport.size());
  // Every rank has read the same file and the same inputs, so nothing has to be
  // sent at the start.
  ranks.arguments.assign(inputs.size(), RankPlacement::kEverywhere);
  Engine engine(transport);
  Communicator all(transport);
  Partitioned parts(function.function().graph(), entry, types, ranks, all,
                    engine, tagged);
  return parts.run(inputs);
}

}  // namespace weft
