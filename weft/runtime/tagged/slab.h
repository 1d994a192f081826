// Memory for frames: chunks of equal frames per body, recycled through free
// lists, so that an activation allocates nothing once the slab is warm.
//
// Threads: a FrameCache belongs to one worker; the slab behind it is
//          thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/runtime/tagged/frame.h"

namespace weft {

class FrameSlab {
 public:
  explicit FrameSlab(const ProgramLayout& program);
  ~FrameSlab();

  // Moves some free frames of a body into `frames`, making new ones if there
  // are none.
  void refill(int body, std::vector<Frame*>& frames);
  // Takes frames back until `left` remain.
  void drain(int body, std::vector<Frame*>& frames, std::size_t left);
  // Empties and frees every frame that is in use. No worker may run.
  void reclaim();

 private:
  struct Pool {
    std::mutex mutex;
    std::vector<std::unique_ptr<std::byte[]>> chunks;
    std::vector<std::size_t> sizes;  // what each chunk holds, in frames
    std::vector<Frame*> free;
  };

  void add_chunk(Pool& pool, const Layout& layout);
  template <class Body>
  void for_each_frame(Body&& body);

  const ProgramLayout& program_;
  std::vector<Pool> pools_;  // by body
};

class FrameCache {
 public:
  FrameCache(const ProgramLayout& program, FrameSlab& slab)
      : program_(program), slab_(slab), free_(program.bodies.size()) {}

  // A frame of the body as its activation begins, but for the header's links
  // and counts.
  Frame* take(int body);
  void give(Frame* frame);

 private:
  const ProgramLayout& program_;
  FrameSlab& slab_;
  std::vector<std::vector<Frame*>> free_;  // by body
};

}  // namespace weft
