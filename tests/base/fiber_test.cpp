#include "weft/base/fiber/fiber.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace weft::fiber_test {
namespace {

// Under the address sanitizer frames are marked, and a mark that outlives its
// stack would forbid memory to whoever is given it next.
TEST(Fiber, LeavesNoFramesInMemoryThatItGivesBack) {
  constexpr std::size_t kStack = std::size_t{64} << 10;
  std::uintptr_t frame = 0;
  {
    Fiber fiber(kStack);
    fiber.start([&] {
      std::array<char, 256> bytes{};
      frame = reinterpret_cast<std::uintptr_t>(bytes.data());
      fiber.suspend();
      // It is never resumed; the array has to live until here.
      frame = static_cast<std::uintptr_t>(bytes[0]);
    });
    fiber.resume();
    ASSERT_FALSE(fiber.done());
  }
  constexpr std::uintptr_t kPage = 4096;
  const std::uintptr_t page = frame / kPage * kPage;
  void* memory =
      mmap(reinterpret_cast<void*>(page), kPage, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory), page);
  std::memset(memory, 1, kPage);
  EXPECT_EQ(static_cast<char*>(memory)[kPage - 1], 1);
  munmap(memory, kPage);
}

}  // namespace
}  // namespace weft::fiber_test
