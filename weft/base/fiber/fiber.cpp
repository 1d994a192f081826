#include "weft/base/fiber/fiber.h"

#include <array>
#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/fiber/sanitizer_fiber.h"

namespace weft {
namespace {

namespace context = boost::context;

// Pages that are mapped when they are touched, with one below that never is.
class Stack {
 public:
  explicit Stack(std::size_t bytes)
      : guard_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), bytes_(bytes) {
    // Stacks grow downwards, into the guard page, where a program stops rather
    // than spoil other memory.
    base_ = mmap(nullptr, guard_ + bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED || mprotect(base_, guard_, PROT_NONE) != 0)
      throw Error(ErrorCode::kExhausted, "Fiber",
                  "no room for a stack of {} KiB", bytes_ >> 10U);
  }
  ~Stack() { munmap(base_, guard_ + bytes_); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void* bottom() const { return static_cast<std::byte*>(base_) + guard_; }
  void* top() const { return static_cast<std::byte*>(bottom()) + bytes_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t guard_;
  std::size_t bytes_;
  void* base_ = nullptr;
};

// The stack outlives what runs on it.
struct KeepsStack {
  void deallocate(context::stack_context& /*stack*/) {}
};

// The exceptions that a thread is handling now: each fiber has its own, or two
// that switch inside a handler would end each other's.
class ExceptionState {
 public:
  void swap_with_current() {
    std::array<std::byte, kBytes> current;
    void* globals = abi::__cxa_get_globals();
    std::memcpy(current.data(), globals, kBytes);
    std::memcpy(globals, saved_.data(), kBytes);
    saved_ = current;
  }

 private:
  // Itanium C++ ABI, exception handling, 2.2.2: a pointer and a count.
  struct Globals {
    void* caught;
    unsigned int uncaught;
  };
  static constexpr std::size_t kBytes = sizeof(Globals);
  std::array<std::byte, kBytes> saved_{};
};

// A handle whose destructor is never run: it would unwind the stack.
union Handle {
  Handle() : fiber() {}
  ~Handle() {}  // NOLINT(modernize-use-equals-default): a union needs one
  context::fiber fiber;
};

}  // namespace

struct Fiber::State {
  explicit State(std::size_t stack_bytes) : stack(stack_bytes) {}

  enum class Stage : std::uint8_t {
    kUnused,   // nothing is on the stack
    kIdle,     // what is there waits for a body
    kStarted,  // or has one
    kEnding,
  };

  void prepare();
  void run_bodies(context::fiber&& host);
  void step_aside();

  Stack stack;
  std::function<void()> body;
  Handle inside;   // where the body goes on
  Handle outside;  // where resume() goes on
  ExceptionState exceptions;
  SanitizerFiber sanitizer{stack.bottom(), stack.bytes()};
  Stage stage = Stage::kUnused;
};

Fiber::Fiber(std::size_t stack_bytes)
    : state_(std::make_unique<State>(stack_bytes)) {}

Fiber::~Fiber() {
  // An idle stack holds the loop over bodies alone, which is let go of. One
  // that is unfinished is not unwound: see fiber.h.
  if (state_->stage != State::Stage::kIdle) return;
  state_->stage = State::Stage::kEnding;
  resume();
}

bool Fiber::done() const { return state_->stage != State::Stage::kStarted; }

void Fiber::start(std::function<void()> body) {
  State& state = *state_;
  if (state.stage != State::Stage::kIdle) state.prepare();
  state.body = std::move(body);
  state.stage = State::Stage::kStarted;
}

// Puts the loop over bodies on the stack, over what an earlier one has left.
void Fiber::State::prepare() {
  sanitizer.restart();
  exceptions = {};
  context::stack_context memory;
  memory.sp = stack.top();
  memory.size = stack.bytes();
  // A new handle is put over the old one without destroying that, which would
  // unwind what the stack held.
  new (&inside.fiber) context::fiber(
      std::allocator_arg, context::preallocated(memory.sp, memory.size, memory),
      KeepsStack{}, [this](context::fiber&& host) {
        run_bodies(std::move(host));
        return std::move(outside.fiber);
      });
}

void Fiber::State::run_bodies(context::fiber&& host) {
  sanitizer.entered();
  new (&outside.fiber) context::fiber(std::move(host));
  // One loop serves all bodies of a fiber, so that its stack need not be made
  // ready for each.
  while (stage == Stage::kStarted) {
    body();
    stage = Stage::kIdle;
    step_aside();
  }
  sanitizer.leave_for_good();
}

void Fiber::State::step_aside() {
  sanitizer.leave();
  // Resuming uses a handle up; what comes back is the one to resume next.
  context::fiber host = std::move(outside.fiber).resume();
  sanitizer.entered();
  new (&outside.fiber) context::fiber(std::move(host));
}

void Fiber::resume() {
  State& state = *state_;
  state.exceptions.swap_with_current();
  state.sanitizer.enter();
  context::fiber left = std::move(state.inside.fiber).resume();
  state.sanitizer.returned();
  state.exceptions.swap_with_current();
  new (&state.inside.fiber) context::fiber(std::move(left));
}

void Fiber::suspend() { state_->step_aside(); }

}  // namespace weft
