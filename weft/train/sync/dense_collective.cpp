#include "weft/train/sync/dense_collective.h"

namespace weft {

DenseCollective::DenseCollective(const std::string& name, Topology network)
    : chooser_(std::move(network)) {
  if (name == "auto") return;
  named_.emplace(name);
  // Whether it can run depends on the number of workers, which a recipe does
  // not know.
  const auto reason = named_->declines(chooser_.topology());
  if (!reason) return;
  throw Error(ErrorCode::kInvalidArgument, "sync.collective",
              "'{}' cannot run on this network: {}", name, *reason)
      .detail("network: " + to_string(chooser_.topology()))
      .hint("collective \"auto\" takes what can, and is fastest");
}

PreparedAllReduce DenseCollective::prepare(Communicator& communicator,
                                           DType dtype, std::size_t count,
                                           const std::string& what) {
  const AllReduce& algorithm =
      // The choice follows from the topology and the size alone, so all workers
      // choose alike.
      named_ ? *named_ : chooser_.choose(count * size_of(dtype));
  return algorithm.prepare(communicator, dtype, count, what);
}

Task<> DenseCollective::sum(Communicator& communicator, DenseBuffer buffer,
                            const std::string& what) {
  return prepare(communicator, buffer.dtype, buffer.count, what)
      .run(buffer.data);
}

}  // namespace weft
