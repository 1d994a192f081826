// The threads of several workers. They sleep between runs.
//
// Kernels compute on one thread inside: the workers are what runs side by
// side.
//
// Threads: one run at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "weft/base/float_mode.h"

namespace weft {

class Crew {
 public:
  // The caller of run() is one of them. Throws Error(kExhausted) where the
  // system has no more threads.
  explicit Crew(int size);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Calls work(i) for i in [0, size) at the same time; work does not throw.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int index);
  void close();

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;
  FloatMode mode_;  // of who calls run()
  std::uint64_t run_ = 0;
  int busy_ = 0;
  bool is_closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft
