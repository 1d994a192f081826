#include "weft/concurrent/coherence/explorer.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <stdexcept>
#include <unordered_map>

#include "weft/base/error.h"
#include "weft/base/fiber/fiber.h"
#include "weft/concurrent/coherence/machine.h"
#include "weft/concurrent/coherence/partial_order.h"

namespace weft::concurrent {
namespace {

using Kind = Operation::Kind;

// When nobody can move, those who wait are let go on this often in all, as a
// wait may end by itself.
constexpr std::uint64_t kMostIdleRounds = 2000;

// An Atomic is one word whatever its size, and never overlaps another. Plain
// memory is cut into units of 8 bytes, numbered in the upper half, where no
// address of a program lies.
// What a transaction will touch is not known before, so it is everything.
Footprint footprint_of(const Operation& operation) {
  if (operation.kind == Kind::kTransaction) return Footprint::everything();
  const auto address = reinterpret_cast<std::uintptr_t>(operation.address);
  if (operation.kind != Kind::kPlainRead && operation.kind != Kind::kPlainWrite)
    return {.first = address,
            .last = address,
            .writes = operation.kind != Kind::kLoad};
  constexpr std::uintptr_t kPlain = ~(~std::uintptr_t{0} >> 1U);
  return {.first = kPlain | address / 8,
          .last = kPlain | (address + operation.bytes - 1) / 8,
          .writes = operation.kind == Kind::kPlainWrite};
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kLoad:
      return "load";
    case Kind::kStore:
      return "store";
    case Kind::kReadModifyWrite:
      return "update";
    case Kind::kCompareExchange:
      return "compare-exchange";
    case Kind::kPlainRead:
      return "read";
    case Kind::kPlainWrite:
      return "write";
    case Kind::kTransaction:
      return "transaction";
    case Kind::kFence:
      break;
  }
  return "fence";
}

// What the explorer knows about a state of the program: which threads could
// take the next step, and which of these it tries.
struct Choice {
  ThreadSet enabled = 0;
  ThreadSet asleep = 0;  // what they would lead to has been tried elsewhere
  ThreadSet to_try = 0;
  ThreadSet tried = 0;
  int thread = 0;       // that takes the step now
  int preemptions = 0;  // until here
};

class Explorer final : public Machine {
 public:
  Explorer(int threads, const std::function<std::unique_ptr<Program>()>& make,
           const ExplorationOptions& options)
      : options_(options), make_(make) {
    for (int i = 0; i < threads; ++i)
      threads_.push_back(std::make_unique<Thread>());
  }

  Exploration run() {
    while (result_.executions < options_.most_executions) {
      execute();
      ++result_.executions;
      if (!result_.failure.empty()) {
        describe_schedule();
        break;
      }
      if (!next_path()) {
        result_.is_complete = true;
        break;
      }
    }
    return std::move(result_);
  }

  void before(const Operation& operation) noexcept override;
  void after(bool wrote, bool changed) noexcept override;
  void pause() noexcept override;
  void yield() noexcept override { pause(); }
  std::uint64_t nanoseconds() noexcept override { return ++running().time; }
  void compute(std::uint64_t nanoseconds) noexcept override {
    running().time += nanoseconds;
  }

 private:
  struct Thread {
    Fiber fiber;
    Operation next;  // unless done
    std::uint64_t time = 0;
    // Words that it has used since it last said that it waits; once it has
    // said so, those whose change it waits for.
    std::vector<Footprint> used;
    bool is_waiting = false;
    // A change of one of them, or -1.
    int change = -1;

    void go_on() {
      used.clear();
      is_waiting = false;
      change = -1;
    }
  };

  struct Taken {
    int thread;
    Operation operation;
    bool wrote;
  };

  // Knows more than that of the operation: whether it wrote.
  static Footprint footprint_of(const Taken& step) {
    Footprint footprint = concurrent::footprint_of(step.operation);
    if (step.operation.kind != Kind::kTransaction)
      footprint.writes = step.wrote;
    return footprint;
  }

  Thread& thread(int i) { return *threads_[static_cast<std::size_t>(i)]; }
  Thread& running() { return thread(running_); }
  int count() const { return static_cast<int>(threads_.size()); }

  void execute();
  void start(Program& program);
  void resume(int thread);
  ThreadSet enabled();
  int choose(ThreadSet enabled);
  void add_choice(ThreadSet enabled);
  int preemptions() const;
  void find_races(const std::vector<int>& races);
  ThreadSet still_asleep(const Choice& choice);
  bool next_path();
  void fail(std::string what);
  void fail_stuck(const std::string& why);
  void describe_schedule();

  ExplorationOptions options_;
  const std::function<std::unique_ptr<Program>()>& make_;
  std::vector<std::unique_ptr<Thread>> threads_;
  Exploration result_;
  std::vector<Choice> path_;

  // The thread and the steps of the running execution.
  int running_ = 0;
  std::vector<Taken> taken_;
  PartialOrder order_;
  ThreadSet asleep_ = 0;
  std::size_t known_ = 0;  // choices that an earlier execution has made
  bool is_free_ = false;   // nothing new follows: it only runs to its end
};

void Explorer::fail(std::string what) {
  if (result_.failure.empty()) result_.failure = std::move(what);
  is_free_ = true;
}

void Explorer::fail_stuck(const std::string& why) {
  std::string who;
  for (int i = 0; i < count(); ++i)
    if (!thread(i).fiber.done())
      who += fmt::format("{}{}", who.empty() ? "" : ", ", i);
  fail(fmt::format("{}: threads {}", why, who));
}

void Explorer::execute() {
  // Each execution begins from nothing, so that the same order of steps does
  // the same.
  const std::unique_ptr<Program> program = make_();
  {
    const Scope scope(*this);
    start(*program);
    std::uint64_t idle = 0;
    for (;;) {
      ThreadSet ready = enabled();
      if (ready == 0) {
        const bool all_done =
            std::all_of(threads_.begin(), threads_.end(),
                        [](auto& thread) { return thread->fiber.done(); });
        if (all_done) break;
        if (++idle > kMostIdleRounds)
          return fail_stuck("threads wait for each other forever");
        for (auto& waiting : threads_) waiting->go_on();
        continue;
      }
      if (taken_.size() >= options_.most_steps)
        return fail_stuck(fmt::format("no end after {} steps", taken_.size()));
      resume(choose(ready));
      ++result_.steps;
    }
  }
  if (!result_.failure.empty()) return;
  try {
    program->check();
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("an exception of unknown type");
  }
}

void Explorer::start(Program& program) {
  taken_.clear();
  order_.clear();
  asleep_ = 0;
  known_ = path_.size();
  is_free_ = false;
  for (int i = 0; i < count(); ++i) {
    Thread& it = thread(i);
    it.time = 0;
    it.go_on();
    it.fiber.start([this, &program, i] {
      try {
        program.run(i);
      } catch (const std::exception& error) {
        fail(error.what());
      } catch (...) {
        fail("an exception of unknown type");
      }
    });
  }
  // Until its first access, a thread sees nothing of the others.
  for (int i = 0; i < count(); ++i) resume(i);
}

void Explorer::resume(int thread_number) {
  running_ = thread_number;
  running().fiber.resume();
}

ThreadSet Explorer::enabled() {
  ThreadSet result = 0;
  for (int i = 0; i < count(); ++i)
    if (!thread(i).fiber.done() && !thread(i).is_waiting) result |= only(i);
  return result;
}

int Explorer::choose(ThreadSet ready) {
  const std::size_t depth = taken_.size();
  if (!is_free_ && depth == path_.size()) add_choice(ready);
  if (is_free_) return std::countr_zero(ready);
  const Choice& choice = path_[depth];
  if (choice.enabled != ready)
    throw Error(ErrorCode::kInvalidArgument, "explore",
                "given the same order of steps, the program does not do the "
                "same: step {} differs",
                depth)
        .hint(
            "seeds and addresses must not decide what it does, nor anything "
            "that outlives an execution");
  return choice.thread;
}

// The state is one that no earlier execution has seen.
void Explorer::add_choice(ThreadSet ready) {
  const ThreadSet candidates = ready & ~asleep_;
  // All that could run here is asleep: whatever follows has been tried
  // elsewhere, and the execution only runs to its end.
  if (candidates == 0) {
    is_free_ = true;
    return;
  }
  Choice choice{.enabled = ready, .asleep = asleep_};
  const int last = taken_.empty() ? -1 : taken_.back().thread;
  const bool can_go_on = last >= 0 && (candidates & only(last)) != 0;
  // To stay with the same thread is no preemption.
  choice.thread = can_go_on ? last : std::countr_zero(candidates);
  choice.to_try = only(choice.thread);
  if (options_.preemptions) {
    choice.preemptions = preemptions();
    // To switch from a thread that has ended or waits is no preemption.
    if (!can_go_on || choice.preemptions < *options_.preemptions)
      choice.to_try = ready;
  }
  path_.push_back(choice);
}

// How often, until now, a thread has lost its turn though it could go on.
int Explorer::preemptions() const {
  if (path_.size() < 2) return 0;
  const Choice& latest = path_.back();
  const int earlier = path_[path_.size() - 2].thread;
  const bool was_preempted =
      latest.thread != earlier && (latest.enabled & only(earlier)) != 0;
  return latest.preemptions + (was_preempted ? 1 : 0);
}

void Explorer::before(const Operation& operation) noexcept {
  if (operation.kind == Kind::kFence) return;
  Thread& self = running();
  self.next = operation;
  // Each access is a place at which another thread may go first.
  self.fiber.suspend();
  // It is this thread's turn.
  ++self.time;
  taken_.push_back({running_, self.next, false});
  // Memory reports the end of what may write; a load ends here.
  if (operation.kind == Kind::kLoad || operation.kind == Kind::kPlainRead)
    after(false, false);
}

void Explorer::after(bool wrote, bool changed) noexcept {
  Taken& now = taken_.back();
  now.wrote = wrote;
  const Footprint footprint = footprint_of(now);
  const int number = order_.size();
  const std::vector<int>& races = order_.add(running_, footprint);
  running().used.push_back(footprint);

  if (changed)
    for (int i = 0; i < count(); ++i) {
      Thread& other = thread(i);
      if (i == running_ || other.change >= 0) continue;
      const bool was_used = std::any_of(other.used.begin(), other.used.end(),
                                        [&](const Footprint& used) {
                                          return !used.commutes_with(footprint);
                                        });
      if (!was_used) continue;
      other.change = number;
      if (other.is_waiting) {
        order_.wake(i, number);
        other.go_on();
      }
    }

  // A bound may cut off the very order that would have stood for others, so all
  // orders within it are run.
  if (is_free_ || options_.preemptions) return;
  // Races between steps that an earlier execution took as well were found
  // there.
  if (taken_.size() >= known_) find_races(races);
  asleep_ = still_asleep(path_[taken_.size() - 1]);
}

// Two steps could have come the other way round: a thread that makes this
// happen must be tried at the first one's place.
void Explorer::find_races(const std::vector<int>& races) {
  for (const int race : races) {
    Choice& choice = path_[static_cast<std::size_t>(race)];
    const ThreadSet initials = order_.initials(race);
    // One of the initials is enough (source sets): the others lead to the same
    // orders.
    if ((initials & choice.to_try) != 0) continue;
    const ThreadSet possible = initials & choice.enabled;
    // None of them could move there, so no smaller set is known to be enough.
    if (possible == 0)
      choice.to_try |= choice.enabled;
    else if ((possible & only(running_)) != 0)
      choice.to_try |= only(running_);
    else
      choice.to_try |= only(std::countr_zero(possible));
  }
}

// Threads that were tried before this step, and whose steps commute with it,
// lead to nothing new after it either.
ThreadSet Explorer::still_asleep(const Choice& choice) {
  const Footprint step = footprint_of(taken_.back());
  ThreadSet result = 0;
  for (int i = 0; i < count(); ++i) {
    if (i == running_ || ((choice.asleep | choice.tried) & only(i)) == 0)
      continue;
    if (concurrent::footprint_of(thread(i).next).commutes_with(step))
      result |= only(i);
  }
  return result;
}

void Explorer::pause() noexcept {
  Thread& self = running();
  ++self.time;
  // Who has looked at nothing since it last waited waits for nothing that could
  // change.
  if (self.used.empty() || self.is_waiting) return;
  // What it waits for may have changed between the look and the wait; then it
  // goes on at once.
  if (self.change < 0) {
    self.is_waiting = true;
    return;
  }
  order_.wake(running_, self.change);
  self.go_on();
}

bool Explorer::next_path() {
  while (!path_.empty()) {
    Choice& last = path_.back();
    last.tried |= only(last.thread);
    // What is asleep leads to orders that have been run from an earlier state.
    const ThreadSet left = last.to_try & ~last.tried & ~last.asleep;
    if (left != 0) {
      last.thread = std::countr_zero(left);
      return true;
    }
    path_.pop_back();
  }
  return false;
}

void Explorer::describe_schedule() {
  std::unordered_map<const void*, std::string> names;
  for (const Taken& step : taken_) {
    // Addresses differ from run to run; letters in the order of first use do
    // not.
    std::string& name = names[step.operation.address];
    if (name.empty()) {
      const std::size_t number = names.size() - 1;
      name = std::string(1, static_cast<char>('a' + number % 26));
      if (number >= 26) name += std::to_string(number / 26);
    }
    const bool failed =
        step.operation.kind == Kind::kCompareExchange && !step.wrote;
    result_.schedule.push_back(
        {.thread = step.thread,
         .access = fmt::format("{} {}{}", name_of(step.operation.kind), name,
                               failed ? " (fails)" : "")});
  }
}

}  // namespace

void require(bool holds, std::string_view what) {
  if (!holds) throw std::logic_error(std::string(what));
}

std::string Exploration::describe() const {
  std::string text =
      failure.empty()
          ? fmt::format("nothing found in {} executions{}", executions,
                        is_complete ? ", which are all" : "; more are left")
          : fmt::format("execution {}: {}", executions, failure);
  for (const Step& step : schedule)
    text += fmt::format("\n  thread {}: {}", step.thread, step.access);
  return text;
}

Exploration explore(int threads,
                    const std::function<std::unique_ptr<Program>()>& make,
                    const ExplorationOptions& options) {
  if (threads < 1 || threads > kMostExploredThreads)
    throw Error(ErrorCode::kInvalidArgument, "explore",
                "cannot explore {} threads", threads)
        .hint(fmt::format("take 1 to {}", kMostExploredThreads));
  WEFT_CHECK(Machine::current() == nullptr, "an explored thread explores");
  return Explorer(threads, make, options).run();
}

}  // namespace weft::concurrent
