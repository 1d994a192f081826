#include "tests/support/heap_use.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace weft::test {
namespace {

std::atomic<std::int64_t> own{0};
std::atomic<std::int64_t> libraries{0};

}  // namespace

HeapUse heap_use() { return {own.load(), libraries.load()}; }

}  // namespace weft::test

#if WEFT_COUNTS_ALLOCATIONS
// The linker's names for where the program's code begins and ends.
extern "C" {
extern const char __executable_start;  // NOLINT: the linker's name
extern const char etext;

// NOLINTBEGIN: glibc's names
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
// NOLINTEND
}

namespace {

void count(const void* caller) {
  const auto* address = static_cast<const char*>(caller);
  const bool is_own = address >= &__executable_start && address < &etext;
  (is_own ? weft::test::own : weft::test::libraries)
      .fetch_add(1, std::memory_order_relaxed);
}

void* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

#define WEFT_COUNT_CALLER() count(__builtin_return_address(0))

extern "C" {
void* malloc(std::size_t size) {
  WEFT_COUNT_CALLER();
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  WEFT_COUNT_CALLER();
  return __libc_calloc(number, size);
}
void* realloc(void* memory, std::size_t size) {
  WEFT_COUNT_CALLER();
  return __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  WEFT_COUNT_CALLER();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  WEFT_COUNT_CALLER();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  WEFT_COUNT_CALLER();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) { __libc_free(memory); }
}

void* operator new(std::size_t size) {
  WEFT_COUNT_CALLER();
  return checked(__libc_malloc(size));
}
void* operator new[](std::size_t size) {
  WEFT_COUNT_CALLER();
  return checked(__libc_malloc(size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  WEFT_COUNT_CALLER();
  return checked(__libc_memalign(static_cast<std::size_t>(alignment), size));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  WEFT_COUNT_CALLER();
  return checked(__libc_memalign(static_cast<std::size_t>(alignment), size));
}
void operator delete(void* memory) noexcept { __libc_free(memory); }
void operator delete[](void* memory) noexcept { __libc_free(memory); }
void operator delete(void* memory, std::size_t) noexcept {
  __libc_free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  __libc_free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  __libc_free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  __libc_free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  __libc_free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  __libc_free(memory);
}
#endif
