#include "weft/kernels/onednn/processor.h"

#include "weft/base/cpu.h"
#include "weft/base/error.h"
#include "weft/kernels/onednn/dialect.h"

namespace weft::onednn {
namespace {

dnnl::cpu_isa highest_isa(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx2:
      return dnnl::cpu_isa::avx2;
    case InstructionSet::kAvx512:
      return dnnl::cpu_isa::avx512_core;
    case InstructionSet::kAvx512Vnni:
      return dnnl::cpu_isa::avx512_core_vnni;
    case InstructionSet::kAvx512Bf16:
      return dnnl::cpu_isa::avx512_core_bf16;
    case InstructionSet::kAvx512Fp16:
      return kFp16Isa;
    // With everything allowed, oneDNN finds out by itself what there is.
    case InstructionSet::kAmx:
    case InstructionSet::kBaseline:
      break;
  }
  return kEveryIsa;
}

}  // namespace

void obey_instruction_set() {
  // It is done once, on whichever thread comes first.
  static const bool is_done = [] {
    // oneDNN takes the limit only before it has compiled anything.
    if (const auto cap = instruction_cap()) {
      const dnnl::status status = dnnl::set_max_cpu_isa(highest_isa(*cap));
      WEFT_CHECK(status == dnnl::status::success, "oneDNN status {}",
                 static_cast<int>(status));
    }
    return true;
  }();
  static_cast<void>(is_done);
}

std::optional<std::string> dtype_declined(DType dtype) {
  if (dtype == DType::kF32) return std::nullopt;
  if (dtype != DType::kBF16) {
    return fmt::format("computes in f32 and bf16, not in {}", to_string(dtype));
  }
  // oneDNN would emulate bf16 on other processors, slower than f32 computes and
  // rounds (cpu/rounded.cpp).
  if (instruction_set() >= InstructionSet::kAvx512Bf16) return std::nullopt;
  if (const auto cap = instruction_cap()) {
    return fmt::format("WEFT_CPU={} leaves no avx512_bf16", to_string(*cap));
  }
  return "this processor has no avx512_bf16";
}

}  // namespace weft::onednn
