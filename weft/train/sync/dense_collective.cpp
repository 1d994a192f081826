#include "weft/train/sync/dense_collective.h"

namespace weft {

DenseCollective::DenseCollective(const std::string& name, Topology network)
    : chooser_(std::move(network)) {
  if (name == "auto") return;
  named_.emplace(name);
  const std::string reason = named_->refusal(chooser_.topology());
  if (reason.empty()) return;
  throw Error(ErrorCode::kInvalidArgument, "sync.collective",
              "'{}' cannot run on this network: {}", name, reason)
      .detail("network: " + to_string(chooser_.topology()))
      .hint("collective \"auto\" takes what can, and is fastest");
}

Task<> DenseCollective::sum(Communicator& communicator, DenseBuffer buffer,
                            const std::string& what) {
  const AllReduce& algorithm =
      named_ ? *named_ : chooser_.choose(buffer.bytes());
  return algorithm.run(communicator, buffer, what);
}

}  // namespace weft
