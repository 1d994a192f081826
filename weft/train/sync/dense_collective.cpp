#include "weft/train/sync/dense_collective.h"

namespace weft {

DenseCollective::DenseCollective(const Call<CollectiveDef>& collective,
                                 Topology network)
    : chooser_(std::move(network)) {
  const AllReduceDef* def = all_reduce_registry().find(collective.def->name);
  if (def == nullptr) return;
  named_.emplace(*def, collective.options);
  // Whether it can run depends on the number of workers, which a recipe does
  // not know.
  const auto refusal = named_->declines(chooser_.topology());
  if (!refusal) return;
  throw refused("sync.collective", in_quotes(named_->text()),
                {refusal->what, refusal->because,
                 refusal->instead +
                     "; collective = \"auto\" takes what can, and is fastest"})
      .detail("network: " + to_string(chooser_.topology()));
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
