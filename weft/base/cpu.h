// What the machine can do, for people.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

// "AMD EPYC 9R14", or "" where the system does not say.
std::string cpu_model();
// The widest vector instructions: "AVX-512", "AVX2", "SSE", "NEON".
std::string vector_instructions();
// Does the CPU multiply bf16 numbers in hardware?
bool has_bf16_products();

std::uint64_t memory_bytes();       // of the machine
std::uint64_t peak_memory_bytes();  // that this process ever held

}  // namespace weft
