#include "weft/train/sync/network.h"

#include <filesystem>
#include <optional>

#include "weft/comm/collective/calibration.h"

namespace weft {
namespace {

// Whether some levels together are the ranks of a host.
bool ends_at_hosts(const Topology& topology, const Placement& placement) {
  int ranks = 1;
  for (const Level& level : topology.levels) {
    if (ranks == placement.ranks_per_host) return true;
    ranks *= level.size;
  }
  return ranks == placement.ranks_per_host;
}

// It runs on the network's thread, to which the communicator belongs.
Task<> find(Communicator& all, const std::string& given,
            std::optional<Network>& found) {
  Placement placement = placement_of(all);
  Topology topology;
  if (given == "auto") {
    topology = co_await calibrate(all, placement);
  } else {
    topology = parse_topology(given);
    // A given topology whose levels do not end at hosts is about the ranks as
    // they are numbered.
    if (!placement.flat_because.empty() ||
        !ends_at_hosts(topology, placement)) {
      placement.order = Ranks(all.size());
    }
  }
  found.emplace(
      Network{std::move(topology), all.split(placement.order.list()),
              placement.flat_because.empty()
                  ? ""
                  : "one level for all, as " + placement.flat_because});
}

}  // namespace

std::string topology_text(const std::string& given) {
  if (given == "auto") return given;
  // The text that comes out is what both forms have in common, and what all
  // workers compare.
  return to_string(std::filesystem::exists(given) ? read_topology(given)
                                                  : parse_topology(given));
}

Network network_of(Communicator& all, AsyncEngine& network,
                   const std::string& topology) {
  std::optional<Network> found;
  network.wait(network.submit([&] { return find(all, topology, found); }));
  // wait() throws what find() throws, so there is a network here.
  return std::move(*found);
}

}  // namespace weft
