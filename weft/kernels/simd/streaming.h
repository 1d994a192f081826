// Stores that go past the caches. An ordinary store first reads the line that
// it changes, and puts another one out of the cache; where a result is far
// larger than the caches, both are for nothing: who reads it next finds none of
// it there.
//
// Threads: pure functions; what a thread has streamed is seen by others after
// its finish_streaming().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

// Passes that read and write so many bytes or more leave so little of their
// result in the caches that it is better streamed: twice the last level's size.
std::uint64_t least_streamed_bytes();

// A tile of results that is streamed at once should fit the processor's queue
// of stores that wait for memory: meanwhile the next tile is read.
inline constexpr std::size_t kStreamedTileBytes = 2048;

// memcpy() past the caches: whole lines of 64 bytes, however `to` is aligned;
// what is left at both ends is stored as usual. `from` should be in a cache.
void stream_bytes(const void* from, void* to, std::size_t bytes) noexcept;

// Waits until others can see what this thread has streamed; before a thread
// tells others that it is done.
void finish_streaming() noexcept;

// Calls make(first, count, to) for tiles of `size` results of `width` bytes
// each, which is to put results [first, first + count) to `to`; from there they
// get to `y`, past the caches if `streams`. Otherwise there is one tile, in its
// place. The caller then has to finish_streaming() once, after many such calls.
template <class Make>
void make_tiles(std::byte* y, std::int64_t size, std::int64_t width,
                bool streams, Make&& make) {
  if (!streams) return make(std::int64_t{0}, size, y);
  alignas(64) std::array<std::byte, kStreamedTileBytes> tile;
  const auto most = static_cast<std::int64_t>(kStreamedTileBytes) / width;
  for (std::int64_t first = 0; first < size; first += most) {
    const std::int64_t count = std::min(most, size - first);
    make(first, count, tile.data());
    stream_bytes(tile.data(), y + first * width,
                 static_cast<std::size_t>(count * width));
  }
}

// The same in one call.
template <class Make>
void make_results(std::byte* y, std::int64_t size, std::int64_t width,
                  bool streams, Make&& make) {
  make_tiles(y, size, width, streams, make);
  if (streams) finish_streaming();
}

}  // namespace weft
