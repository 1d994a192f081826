// Vectors on huge pages, for large arrays that are read at random: an access
// that misses the processor's table of pages costs more than the access.
//
//   HugeVector<float> values(10'000'000);
//
// Where the system has none to give, they are on small pages.
//
// Threads: as std::vector.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace weft {

template <class T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <class U>
  HugePageAllocator(const HugePageAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) {
    if (count > std::size_t(-1) / sizeof(T) - kPage) throw std::bad_alloc();
    const std::size_t bytes = count * sizeof(T);
    // Most of the second of less than two pages would be left over.
    const bool is_huge = bytes >= 2 * kPage;
    const std::size_t total =
        is_huge ? (bytes + kPage - 1) / kPage * kPage : bytes;
    void* memory =
        is_huge ? std::aligned_alloc(kPage, total) : std::malloc(total);
    if (memory == nullptr && total > 0) throw std::bad_alloc();
#ifdef __linux__
    // It must be said before the memory is written to first.
    if (is_huge) madvise(memory, total, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }

  template <class U>
  bool operator==(const HugePageAllocator<U>&) const noexcept {
    return true;
  }

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20U;
};

template <class T>
using HugeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace weft
