#include "weft/base/cpu.h"

#include <gtest/gtest.h>

#include "weft/base/error.h"

namespace weft::cpu_test {
namespace {

using enum InstructionSet;

TEST(Cpu, UsesNoMoreThanTheMachineHas) {
  EXPECT_LE(instruction_set(), machine_instruction_set());
}

TEST(Cpu, KnowsItsCacheOrSaysSo) {
  const std::uint64_t bytes = last_level_cache_bytes();
  if (bytes == 0) return;  // the system does not say
  EXPECT_GE(bytes, std::uint64_t{64} << 10);
  EXPECT_LE(bytes, memory_bytes());
}

TEST(Cpu, CapsByName) {
  EXPECT_EQ(parse_instruction_cap("", kAvx512), std::nullopt);
  EXPECT_EQ(parse_instruction_cap("avx2", kAvx512), kAvx2);
  EXPECT_EQ(parse_instruction_cap("avx512_bf16", kAmx), kAvx512Bf16);
  for (const InstructionSet set :
       {kAvx2, kAvx512, kAvx512Vnni, kAvx512Bf16, kAvx512Fp16, kAmx}) {
    EXPECT_EQ(parse_instruction_cap(to_string(set), kAmx), set);
  }
}

std::string complaint(std::string_view name, InstructionSet machine) {
  try {
    parse_instruction_cap(name, machine);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Cpu, RefusesWhatTheMachineLacks) {
  EXPECT_EQ(complaint("amx", kAvx512),
            "WEFT_CPU: this machine has no amx; WEFT_CPU can only take away\n"
            "  hint: this machine has avx2, avx512");
}

TEST(Cpu, RefusesUnknownNamesAndListsTheKnown) {
  EXPECT_EQ(complaint("sse", kAvx2),
            "WEFT_CPU: there is no instruction set \"sse\"\n"
            "  hint: this machine has avx2");
  EXPECT_EQ(complaint("avx2", kBaseline),
            "WEFT_CPU: this machine has no avx2; WEFT_CPU can only take away\n"
            "  hint: this processor has one instruction set: unset WEFT_CPU");
}

}  // namespace
}  // namespace weft::cpu_test
