#include "weft/compiler/caches.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "weft/base/cpu.h"
#include "weft/compiler/stand_ins.h"

namespace weft {
namespace {

constexpr std::size_t kLine = 64;  // bytes

}  // namespace

void touch(const Tensor& tensor) {
  const auto* bytes = static_cast<const volatile unsigned char*>(tensor.raw());
  for (std::size_t i = 0; i < tensor.bytes(); i += kLine) {
    static_cast<void>(bytes[i]);
  }
}

#ifdef __x86_64__

bool can_evict() {
  static const bool has_instruction = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
           (ebx & bit_CLFLUSHOPT) != 0;
  }();
  return has_instruction;
}

__attribute__((target("clflushopt"))) void evict(const Tensor& tensor) {
  auto* bytes = static_cast<unsigned char*>(tensor.raw());
  for (std::size_t i = 0; i < tensor.bytes(); i += kLine) {
    _mm_clflushopt(bytes + i);
  }
  _mm_mfence();  // reads may not overtake the flushes
}

#else

bool can_evict() { return false; }

void evict(const Tensor&) { WEFT_CHECK(false, "can_evict() is false"); }

#endif

void sweep_caches() {
  static const Tensor everything =
      stand_in({DType::kU8, {static_cast<Dim>(2 * last_level_cache_bytes())}});
  touch(everything);
}

}  // namespace weft
