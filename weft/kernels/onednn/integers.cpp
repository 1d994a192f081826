#include "weft/kernels/onednn/integers.h"

#include <fmt/format.h>

#include "weft/base/cpu.h"

namespace weft::onednn {

std::optional<std::string> integers_declined() {
  if (instruction_set() >= InstructionSet::kAvx512Vnni) return std::nullopt;
  if (const auto cap = instruction_cap()) {
    return fmt::format("WEFT_CPU={} leaves no avx512_vnni", to_string(*cap));
  }
  return "this processor has no avx512_vnni";
}

}  // namespace weft::onednn
