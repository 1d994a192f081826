// The dense all-reduce of a recipe: a named one, or for each size the one that
// the network is fastest with.
//
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>

#include "weft/comm/collective/chooser.h"
#include "weft/train/sync/exchange.h"

namespace weft {

class DenseCollective {
 public:
  // What names no dense all-reduce, as "auto", chooses. Throws
  // Error(kInvalidArgument) for one that declines this network.
  DenseCollective(const Call<CollectiveDef>& collective, Topology network);

  // Sums of `count` elements over all workers; `what` is for messages.
  PreparedAllReduce prepare(Communicator& communicator, DType dtype,
                            std::size_t count, const std::string& what);
  // Adds `buffer` up over all workers, as the next operations of their group,
  // which are entered now.
  Task<> sum(Communicator& communicator, DenseBuffer buffer,
             const std::string& what);

  std::string text() const { return named_ ? named_->text() : "auto"; }

 private:
  std::optional<AllReduce> named_;
  AllReduceChooser chooser_;
};

}  // namespace weft
