// A region that begins before all that it reads in place has come from other
// ranks: it waits for each argument where its plan reads it first, while a
// thread of its own moves the messages. What waits for a processor that
// computes would else come no further than the network's own memory.
//
// Threads: made, told and finished by the worker's, which moves no messages
// meanwhile.
#pragma once

#include <exception>
#include <span>
#include <thread>

#include "weft/runtime/tagged/worker.h"

namespace weft {

class TaggedWorker::ArgumentReads final : public RunObserver {
 public:
  ArgumentReads(TaggedWorker& worker, const Work& work);

  void on_result(std::size_t) override {}
  // Throws what ended the run on another rank.
  void before_argument(std::size_t index) override;
  // The region has run. Throws what the thread met.
  void finish();

 private:
  void move_messages(const std::stop_token& stop);

  TaggedWorker& worker_;
  const Work& work_;
  std::exception_ptr failure_;  // of the thread
  bool is_over_ = false;        // the thread; both under the worker's mutex
  std::jthread thread_;
};

}  // namespace weft
