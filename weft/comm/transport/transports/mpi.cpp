// Ranks that are processes of mpirun or srun (comm/transport/launcher.h).
#include "weft/comm/transport/launcher.h"
#include "weft/comm/transport/transport_def.h"

namespace weft {
namespace {

std::optional<Refusal> mpi_declines(const Options&) {
  if (is_launched()) return std::nullopt;
  return Refusal{"this process", "no launcher has started it",
                 "mpirun -n 4 weft train …, which needs no --transport"};
}

std::unique_ptr<LocalRanks> open_mpi(const Options&, const Say& say) {
  // MPI may end the process without a chance to say more.
  if (const std::string warning = launch_warning(); !warning.empty()) {
    say(warning);
  }
  return one_rank(open_launched_transport());
}

}  // namespace

void register_transport_mpi(TransportRegistry& transports) {
  transports.add(
      {.name = "mpi",
       .summary = "ranks are processes that mpirun or srun started",
       .trust = "Trusts whoever started it and the network between its hosts: "
                "nothing is authenticated or encrypted by Weft.",
       .is_launched = is_launched,
       .declines = mpi_declines,
       .open = open_mpi});
}

}  // namespace weft
