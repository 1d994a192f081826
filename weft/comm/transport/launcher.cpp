#include "weft/comm/transport/launcher.h"

#include <cstdlib>
#include <string_view>

#include "weft/base/libraries/shared_library.h"
#include "weft/comm/transport/mpi.h"

namespace weft {
namespace {

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

const MpiFunctions& load() {
  // The plug-in stands beside the program, wherever that is installed. Global:
  // some MPIs load parts of themselves that look for the others.
  const SharedLibrary library(
      {.name = "MPI",
       .files = {(code_folder() / "libweft_mpi.so").string()},
       .how = "Weft is built with MPI where one is installed (libopenmpi-dev)",
       .is_global = true});
  MpiEntry entry = nullptr;
  library.find(entry, "weft_mpi_functions");
  return *entry();
}

}  // namespace

bool is_launched() {
  // These are what mpirun of Open MPI, servers of PMIx, and those of PMI
  // (MPICH's and Slurm's) set for each rank.
  return is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMIX_RANK") ||
         is_set("PMI_RANK") ||
         // A step of srun, not the script of a batch job.
         (is_set("SLURM_STEP_ID") && is_set("SLURM_PROCID"));
}

std::string launch_warning() {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  const bool is_first_of_several = is_set("SLURM_STEP_ID") &&
                                   value("SLURM_PROCID") == "0" &&
                                   value("SLURM_NTASKS") != "1";
  if (!is_first_of_several || is_set("PMIX_RANK") || is_set("PMI_RANK") ||
      is_set("OMPI_COMM_WORLD_SIZE")) {
    return "";
  }
  return "srun has given its tasks neither PMIx nor PMI; should MPI not start, "
         "use srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH); srun "
         "--mpi=list names what there is";
}

std::unique_ptr<Transport> open_launched_transport() {
  if (!is_launched()) return nullptr;
  return std::make_unique<MpiTransport>(load());
}

}  // namespace weft
