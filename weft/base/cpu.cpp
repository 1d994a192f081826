#include "weft/base/cpu.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include "weft/base/error.h"

namespace weft {
namespace {

struct NamedSet {
  InstructionSet set;
  std::string_view name;
};

// Lowest first.
constexpr std::array kCaps = {
    NamedSet{InstructionSet::kAvx2, "avx2"},
    NamedSet{InstructionSet::kAvx512, "avx512"},
    NamedSet{InstructionSet::kAvx512Vnni, "avx512_vnni"},
    NamedSet{InstructionSet::kAvx512Bf16, "avx512_bf16"},
    NamedSet{InstructionSet::kAvx512Fp16, "avx512_fp16"},
    NamedSet{InstructionSet::kAmx, "amx"}};

}  // namespace

std::string_view to_string(InstructionSet set) {
  for (const NamedSet& cap : kCaps) {
    if (cap.set == set) return cap.name;
  }
  return "baseline";
}

#if defined(__x86_64__)

namespace {

// Features of the processor by cpuid; __builtin_cpu_supports also asks
// whether the system saves the registers, but does not know the newest names.
struct Leaf {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(std::uint32_t leaf, std::uint32_t part) {
  Leaf result;
  asm volatile("cpuid"
               : "=a"(result.eax), "=b"(result.ebx), "=c"(result.ecx),
                 "=d"(result.edx)
               : "a"(leaf), "c"(part));
  return result;
}

bool has_bit(std::uint32_t word, int bit) { return (word >> bit & 1) != 0; }

// Intel, "Software Developer's Manual", volume 2, CPUID, leaf 7.
bool has_fp16() { return has_bit(cpuid(7, 0).edx, 23); }
bool has_amx() {
  const std::uint32_t edx = cpuid(7, 0).edx;
  return has_bit(edx, 22) && has_bit(edx, 24) && has_bit(edx, 25);
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace

InstructionSet machine_instruction_set() {
  static const InstructionSet found = [] {
    using enum InstructionSet;
    if (!has_avx512()) return kAvx2;
    if (!__builtin_cpu_supports("avx512vnni")) return kAvx512;
    if (!__builtin_cpu_supports("avx512bf16")) return kAvx512Vnni;
    if (!has_fp16()) return kAvx512Bf16;
    return has_amx() ? kAmx : kAvx512Fp16;
  }();
  return found;
}

std::string vector_instructions() {
  return instruction_set() >= InstructionSet::kAvx512 ? "AVX-512" : "AVX2";
}

#else

InstructionSet machine_instruction_set() { return InstructionSet::kBaseline; }

std::string vector_instructions() {
#if defined(__ARM_NEON)
  return "NEON";
#else
  return "no vectors";
#endif
}

#endif

std::optional<InstructionSet> parse_instruction_cap(std::string_view name,
                                                    InstructionSet machine) {
  if (name.empty()) return std::nullopt;
  std::string offered;
  for (const NamedSet& cap : kCaps) {
    if (cap.set > machine) break;
    offered += offered.empty() ? "" : ", ";
    offered += cap.name;
  }
  const std::string hint =
      offered.empty() ? "this processor has one instruction set: unset WEFT_CPU"
                      : "this machine has " + offered;
  for (const NamedSet& cap : kCaps) {
    if (cap.name != name) continue;
    if (cap.set <= machine) return cap.set;
    throw Error(ErrorCode::kUnsupported, "WEFT_CPU",
                "this machine has no {}; WEFT_CPU can only take away", name)
        .hint(hint);
  }
  throw Error(ErrorCode::kInvalidArgument, "WEFT_CPU",
              "there is no instruction set \"{}\"", name)
      .hint(hint);
}

std::optional<InstructionSet> instruction_cap() {
  static const std::optional<InstructionSet> cap = [] {
    const char* name = std::getenv("WEFT_CPU");
    return parse_instruction_cap(name == nullptr ? "" : name,
                                 machine_instruction_set());
  }();
  return cap;
}

InstructionSet instruction_set() {
  return instruction_cap().value_or(machine_instruction_set());
}

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
