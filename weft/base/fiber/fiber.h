// A stack on which a function runs until it steps aside, and later goes on.
//
// Simulated threads and simulated ranks are fibers of one host thread: a switch
// costs some nanoseconds, and who runs is ours to say. Boost.Context does the
// switching.
// (ucontext would do without a library, but asks the kernel at each switch.)
//
//   Fiber fiber;
//   fiber.start([&] { first(); fiber.suspend(); second(); });
//   fiber.resume();  // first()
//   fiber.resume();  // second(), and fiber.done()
//
// A fiber can be started again. The body lets no exception out. Destroying or
// restarting an unfinished fiber frees its stack without destroying what lies
// on it: destructors there could touch what other fibers hold.
//
// Threads: a fiber belongs to the thread that starts it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace weft {

class Fiber {
 public:
  // For structures of some words, and their tests.
  static constexpr std::size_t kSmallStack = std::size_t{256} << 10U;
  // What threads of the system have; pages count when they are touched.
  static constexpr std::size_t kThreadStack = std::size_t{8} << 20U;

  // Throws Error(kExhausted) where no stack can be mapped.
  explicit Fiber(std::size_t stack_bytes = kSmallStack);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // `body` begins at the first resume().
  void start(std::function<void()> body);
  // Is called from outside: runs until suspend() or the end.
  void resume();
  // Is called from inside: lets resume() return.
  void suspend();
  bool done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
