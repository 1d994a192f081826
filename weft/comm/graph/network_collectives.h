// The collective ops of a graph, carried out over a network.
//
//   Engine engine(transport);
//   Communicator all(transport);
//   NetworkCollectives network(all, engine);
//   CollectivesScope scope(network);
//   executable.run(arguments, results);
//
// Every op goes through the groups of its own, around rings unless told
// otherwise: which ranks form a group, and what becomes of large groups, is up
// to the graph (blueconnect_rewrite.h).
//
// Threads: that of the engine.
#pragma once

#include <string_view>

#include "weft/comm/collective/scatter_gather.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/engine.h"
#include "weft/graph/collectives.h"

namespace weft {

class NetworkCollectives final : public Collectives {
 public:
  // Both must outlive this. The groups of the ops are those of the ranks of
  // `communicator`, all of which must run the same graph.
  NetworkCollectives(Communicator& communicator, Engine& engine,
                     ScatterMethod method = ScatterMethod::kRing)
      : communicator_(communicator), engine_(engine), method_(method) {}

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }

  // These throw what the engine does, when a rank fails or stays away.
  void all_reduce(const TensorView& whole, const RankGroups& groups) override;
  void reduce_scatter(const TensorView& whole,
                      const RankGroups& groups) override;
  void all_gather(const TensorView& whole, const RankGroups& groups) override;

 private:
  // Enters an operation of all ranks, and gives its channel among those of
  // this rank's group.
  Channel open(std::string_view operation, const TensorView& whole,
               const RankGroups& groups);

  Communicator& communicator_;
  Engine& engine_;
  ScatterMethod method_;
};

}  // namespace weft
