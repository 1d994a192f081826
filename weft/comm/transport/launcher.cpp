#include "weft/comm/transport/launcher.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>

#include "weft/comm/transport/mpi.h"

namespace weft {
namespace {

constexpr const char* kLibrary = "libweft_mpi.so";
constexpr const char* kEntry = "weft_mpi_functions";

Error no_library(const std::string& path, const char* reason) {
  return Error(ErrorCode::kUnavailable, path, "{}",
               reason == nullptr ? "cannot be loaded" : reason)
      .hint("Weft is built with MPI where one is installed (libopenmpi-dev)");
}

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

const MpiFunctions& load() {
  // The plug-in stands beside the program, wherever that is installed.
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string path = program.parent_path() / kLibrary;
  // Global: some MPIs load parts of themselves that look for the others.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw no_library(path, dlerror());
  // RTLD_NOW has shown missing symbols by now, not in the middle of a run.
  const auto entry = reinterpret_cast<MpiEntry>(dlsym(library, kEntry));
  if (entry == nullptr) throw no_library(path, dlerror());
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
