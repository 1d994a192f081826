#include "weft/base/cpu.h"

#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace weft {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) {
      return line.substr(colon + 2);
    }
  }
  return "";
}

#if defined(__x86_64__)
std::string vector_instructions() {
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  if (__builtin_cpu_supports("avx")) return "AVX";
  return "SSE";
}

bool has_bf16_products() { return __builtin_cpu_supports("avx512bf16"); }
#else
std::string vector_instructions() {
#if defined(__ARM_NEON)
  return "NEON";
#else
  return "no vectors";
#endif
}

bool has_bf16_products() { return false; }
#endif

std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace weft
