// Stores that go past the caches. An ordinary store first reads the line that
// it changes, and puts another one out of the cache; where a result is far
// larger than the caches, both are for nothing: who reads it next finds none of
// it there.
//
// Threads: pure functions; what a thread has streamed is seen by others after
// its finish_streaming().
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

// Passes that read and write so many bytes or more leave so little of their
// result in the caches that it is better streamed: twice the last level's size.
std::uint64_t least_streamed_bytes();

// memcpy() past the caches: whole lines of 64 bytes, however `to` is aligned;
// what is left at both ends is stored as usual. `from` should be in a cache.
void stream_bytes(const void* from, void* to, std::size_t bytes) noexcept;

// Waits until others can see what this thread has streamed; before a thread
// tells others that it is done.
void finish_streaming() noexcept;

}  // namespace weft
