#include "weft/runtime/tagged/slab.h"

#include <algorithm>

#include "weft/base/index.h"

namespace weft {
namespace {

// A chunk holds many small frames, so that the allocator is seldom asked.
constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
// Frames change hands in lots: the lock of a pool is taken once for many
// activations.
constexpr std::size_t kMove = 64;  // frames that change hands at once
// A frame ends on the worker that did its last work, which need not be the one
// that began it. Without a bound the frames would gather with one worker while
// the others made new ones.
constexpr std::size_t kMostCached = 256;  // by one worker, of one body

}  // namespace

FrameSlab::FrameSlab(const ProgramLayout& program)
    : program_(program), pools_(program.bodies.size()) {}

FrameSlab::~FrameSlab() {
  for_each_frame([](Frame* frame, const Layout& layout) {
    for (const std::uint32_t slot : layout.tensors) {
      frame->tensor(slot).~TensorBytes();
    }
    frame->~Frame();
  });
}

template <class Body>
void FrameSlab::for_each_frame(Body&& body) {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const Layout& layout = program_.bodies[i];
    for (std::size_t chunk = 0; chunk < pools_[i].chunks.size(); ++chunk) {
      std::byte* memory = pools_[i].chunks[chunk].get();
      for (std::size_t k = 0; k < pools_[i].sizes[chunk]; ++k) {
        body(std::launder(
                 reinterpret_cast<Frame*>(memory + k * layout.frame_bytes)),
             layout);
      }
    }
  }
}

void FrameSlab::add_chunk(Pool& pool, const Layout& layout) {
  const std::size_t count =
      std::max<std::size_t>(1, kChunkBytes / layout.frame_bytes);
  auto memory = std::make_unique<std::byte[]>(count * layout.frame_bytes);
  // The list is taken from its end, so this order hands frames out by rising
  // address.
  for (std::size_t i = count; i-- > 0;) {
    std::byte* place = memory.get() + i * layout.frame_bytes;
    auto* frame = new (place) Frame;
    // Tensors live as long as their chunk, empty where no value waits: taking a
    // frame then constructs nothing.
    for (const std::uint32_t slot : layout.tensors) {
      new (place + slot) TensorBytes;
    }
    pool.free.push_back(frame);
  }
  pool.chunks.push_back(std::move(memory));
  pool.sizes.push_back(count);
}

void FrameSlab::refill(int body, std::vector<Frame*>& frames) {
  Pool& pool = pools_[at(body)];
  const std::lock_guard lock(pool.mutex);
  if (pool.free.empty()) add_chunk(pool, program_.bodies[at(body)]);
  for (std::size_t i = 0; i < kMove && !pool.free.empty(); ++i) {
    frames.push_back(pool.free.back());
    pool.free.pop_back();
  }
}

void FrameSlab::drain(int body, std::vector<Frame*>& frames, std::size_t left) {
  Pool& pool = pools_[at(body)];
  const std::lock_guard lock(pool.mutex);
  pool.free.insert(pool.free.end(),
                   frames.begin() + static_cast<std::ptrdiff_t>(left),
                   frames.end());
  frames.resize(left);
}

void FrameSlab::reclaim() {
  for_each_frame([&](Frame* frame, const Layout& layout) {
    // Free frames lie in the pools or in the caches of workers already; a frame
    // that is in use is known by its layout.
    if (frame->layout == nullptr) return;
    for (const std::uint32_t slot : layout.tensors) {
      frame->tensor(slot) = {};
    }
    frame->layout = nullptr;
    frame->owns_sums = false;
    pools_[at(layout.body)].free.push_back(frame);
  });
}

Frame* FrameCache::take(int body) {
  std::vector<Frame*>& free = free_[at(body)];
  if (free.empty()) slab_.refill(body, free);
  Frame* frame = free.back();
  free.pop_back();
  const Layout& layout = program_.bodies[at(body)];
  frame->layout = &layout;
  // The slots need no clearing: a tensor is moved out by its reader, and a word
  // is written before it is read.
  std::memset(frame->at(sizeof(Frame)), 0, layout.children * sizeof(Frame*));
  std::copy(layout.pending.begin(), layout.pending.end(),
            reinterpret_cast<std::uint32_t*>(frame->at(layout.pending_offset)));
  return frame;
}

void FrameCache::give(Frame* frame) {
  // All that was sent has been read when a frame ends, so its slots are empty.
  const int body = frame->layout->body;
  std::vector<Frame*>& free = free_[at(body)];
  frame->layout = nullptr;
  frame->owns_sums = false;
  free.push_back(frame);
  if (free.size() > kMostCached) slab_.drain(body, free, kMostCached - kMove);
}

}  // namespace weft
