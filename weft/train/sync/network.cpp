#include "weft/train/sync/network.h"

#include <filesystem>

#include "weft/comm/collective/calibration.h"

namespace weft {
namespace {

// All workers return what the first one measured.
Task<> measure(Communicator& communicator, Topology& network) {
  const Placement placement = placement_of(communicator);
  network = co_await calibrate(communicator, placement);
}

}  // namespace

Topology network_of(Communicator& communicator, AsyncEngine& network,
                    const std::string& topology) {
  if (topology == "auto") {
    Topology measured;
    network.wait(
        network.submit([&] { return measure(communicator, measured); }));
    return measured;
  }
  Topology given = std::filesystem::exists(topology) ? read_topology(topology)
                                                     : parse_topology(topology);
  if (given.ranks() != communicator.size()) {
    throw Error(ErrorCode::kInvalidArgument, "sync.topology",
                "'{}' has {} ranks, but {} workers train", topology,
                given.ranks(), communicator.size());
  }
  return given;
}

}  // namespace weft
