// What the machine can do, and how much of it is used.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

// Instruction sets of x86-64 processors, each of which has the ones before it.
// Everything that chooses instructions when it runs (vector kernels, generated
// loops, oneDNN) asks instruction_set(), so that one variable bounds them all.
enum class InstructionSet {
  kBaseline,    // what the compiler was told; the only one of other processors
  kAvx2,        // with FMA and F16C, which every build for x86-64 needs
  kAvx512,      // F, BW, DQ and VL: Skylake's servers
  kAvx512Vnni,  // Cascade Lake
  kAvx512Bf16,  // products of bf16: Cooper Lake, Zen 4
  kAvx512Fp16,  // Sapphire Rapids
  kAmx,         // tiles of bf16 and i8
};

// The names are those that WEFT_CPU takes: "avx2", "avx512_bf16".
std::string_view to_string(InstructionSet set);

// The highest one that the processor and the system have.
InstructionSet machine_instruction_set();

// The cap that `name` sets; none for an empty name. Throws Error where there
// is no such set or the machine lacks it.
std::optional<InstructionSet> parse_instruction_cap(std::string_view name,
                                                    InstructionSet machine);

// What WEFT_CPU says, read once. Throws as parse_instruction_cap does.
std::optional<InstructionSet> instruction_cap();

// What is used: the machine's, or less if WEFT_CPU says so. Throws as
// instruction_cap does, at every call.
InstructionSet instruction_set();

// "AMD EPYC 9R14", or "" where the system does not say.
std::string cpu_model();
// The same and its numbers, which tell generations of one name apart:
// "AMD EPYC, family 25, model 17".
std::string cpu_signature();
// The vectors that are used: "AVX-512", "AVX2", "NEON".
std::string vector_instructions();

std::uint64_t memory_bytes();  // what the machine has
// The size of the largest cache that a core has a part in; 0 if the system does
// not say.
std::uint64_t last_level_cache_bytes();
std::uint64_t peak_memory_bytes();  // what this process ever held
std::uint64_t held_memory_bytes();  // what it holds now
// What it may still take: of the machine's, and of the limits that were set for
// it (cgroup v2, ulimit -v).
std::uint64_t free_memory_bytes();

}  // namespace weft
