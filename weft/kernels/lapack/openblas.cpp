#include <cblas.h>
#include <cstdlib>
#include <string_view>

#include "weft/base/cpu.h"
#include "weft/kernels/lapack/library.h"

// These are in OpenBLAS where it chooses code when it runs, and in no header.
extern "C" {
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace weft {
namespace {

constexpr std::string_view kOldestCore = "Prescott";
constexpr const char* kCoreVariable = "OPENBLAS_CORETYPE";

// OpenBLAS knows processors by their numbers, and takes one that is younger
// than itself for a Pentium 4, whose vectors have two numbers. It is told what
// the instructions say, unless somebody has told it otherwise.
bool choose_core() {
  if (openblas_get_corename() != kOldestCore) return false;
  if (std::getenv(kCoreVariable) != nullptr) return false;
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) {
    return false;
  }
  const InstructionSet machine = machine_instruction_set();
  if (machine < InstructionSet::kAvx2) return false;
  const char* core = machine < InstructionSet::kAvx512 ? "Haswell" : "SkylakeX";
  // It reads the variable as it begins anew; nobody else should find it.
  setenv(kCoreVariable, core, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kCoreVariable);
  return true;
}

// Before main(), or as the module is loaded: nothing computes by then.
[[maybe_unused]] const bool was_chosen = choose_core();

}  // namespace

std::string lapack_library() {
  // It begins with "OpenBLAS 0.3.21 " and goes on with how it was built.
  const std::string openblas = openblas_get_config();
  const std::size_t name_end = openblas.find(' ');
  return openblas.substr(0, openblas.find(' ', name_end + 1)) + ' ' +
         openblas_get_corename();
}

}  // namespace weft
