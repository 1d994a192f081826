// A function of a graph that several ranks run together, each a part of it.
//
//   Engine engine(transport);
//   Communicator all(transport);
//   const RankPlacement placement = parse_placement("leaf=1", all.size());
//   Partitioned tree(graph, "main", types, placement, all, engine);
//   const std::vector<Tensor> results = tree.run(arguments);
//
// Made and run by all ranks alike, with the same graph and placement; an
// argument is given by the rank that it is placed on. The graph is cut once,
// whatever the runs compute.
//
// Every rank computes with one thread of its own beside its kernels. Results
// do not depend on when messages come, unless TaggedOptions ask for batching:
// they are those of one rank that runs the graph uncut, to the bit.
//
// Arguments that are placed elsewhere, such as weights, come while a rank
// computes: it waits for each where its plans read it first, and a thread of
// its own moves messages meanwhile. A ReceiveOrder says what of all that a rank
// receives is sent first, and changes no bit.
//
// Nothing holds a rank back that is ahead of others: what it sends lies in
// their memory until they get there.
//
// Threads: that of the engine.
#pragma once

#include <memory>
#include <stop_token>

#include "weft/comm/graph/network_peers.h"
#include "weft/comm/graph/receive_order.h"
#include "weft/place/placement.h"
#include "weft/runtime/tagged/executor.h"

namespace weft {

// What this rank received in its last run, and how well that hid behind
// computing.
struct Receipt {
  std::int64_t values = 0;
  double bytes = 0;
  double seconds = 0;  // until its part was over
  // What computing takes by itself, by the times that orders measure, of one
  // activation of each function; and what came, on the network.
  double computing = 0;
  double wire = 0;

  // The paper's E, 1 at best (place/transfer_order.h).
  double efficiency() const;
};

class Partitioned {
 public:
  // `communicator` and `engine` must outlive this. `types`: of all arguments,
  // static. Throws Error(kInvalidArgument) if the placement is for another
  // number of ranks, and as lower() does. An order other than kNone measures
  // the network unless it is told, and throws as agreed_places().
  Partitioned(const Graph& graph, std::string_view entry,
              std::span<const TensorType> types, const RankPlacement& placement,
              Communicator& communicator, Engine& engine,
              TaggedOptions options = {},
              ReceiveOrder order = ReceiveOrder::kNone,
              const std::optional<Level>& network = {});

  // The results; those that are placed on other ranks are undefined. Arguments
  // that are placed elsewhere may be undefined. Returns when all ranks are
  // done. Throws Error(kInvalidArgument) if an argument does not fit, and as
  // TaggedExecutor::run(); an error on any rank is thrown on all, and is the
  // end of the engine.
  std::vector<Tensor> run(std::span<const Tensor> arguments,
                          std::stop_token stop = {});

  // What this rank runs.
  const FlatGraph& graph() const { return executor_->graph(); }
  TaggedProfile profile() const { return executor_->profile(); }
  // Without an order nobody has measured anything: two of them are 0.
  Receipt receipt() const;
  bool has_order() const { return order_ != ReceiveOrder::kNone; }
  const ReceivePlaces& places() const { return places_; }

 private:
  void check_arguments(std::span<const Tensor> arguments) const;

  std::string entry_;
  std::vector<TensorType> types_;
  RankPlacement placement_;
  NetworkPeers peers_;
  std::size_t result_count_ = 0;
  std::vector<int> results_;  // those that are here
  ReceiveOrder order_;
  Level network_;
  ReceivePlaces places_;
  std::uint32_t runs_ = 0;
  std::vector<Tensor> rooms_;  // by argument: where those of others come
  std::optional<TaggedExecutor> executor_;
};

}  // namespace weft
