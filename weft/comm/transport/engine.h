// Runs the tasks of one rank, and turns what goes wrong into errors.
//
// Nobody waits for ever. When nothing arrives for a while, the ranks waited
// for are asked what they are doing; one that entered another operation under
// the same number is a mismatch, reported on all ranks with both sides. When
// nothing arrives until the timeout, the error names the missing rank, the
// operation and the tensor. A rank that fails tells all others, whose tasks
// then fail with the reason.
//
//   Engine engine(transport);
//   engine.run(all_reduce(communicator.open(…), …));      // waits
//   auto operation = engine.start(all_reduce(…));          // does not
//   engine.wait(operation);
//
// Threads: as the transport. An AsyncEngine (async_engine.h) runs beside its
// caller.
#pragma once

#include <memory>
#include <vector>

#include "weft/comm/transport/task.h"
#include "weft/comm/transport/transport.h"

namespace weft {

// How long one poll may last. It ends by itself when there is something to do;
// in between the engine looks for silent ranks.
inline constexpr double kPollSeconds = 0.05;

struct EngineOptions {
  double timeout = 60;      // seconds without any arrival: an error
  double ask_after = 0.25;  // seconds without any arrival: questions
};

class Engine {
 public:
  // The transport must outlive the engine. Leaving while tasks are under way
  // fails them, here and on all other ranks.
  explicit Engine(Transport& transport, const EngineOptions& options = {});
  ~Engine();

  // A task under way.
  using Operation = std::shared_ptr<Task<>>;

  // Runs it to its end. Throws what it throws.
  void run(Task<> task);
  // Runs it until it first waits; poll() or wait() carry it on.
  Operation start(Task<> task);
  // Throws what it throws. Once per operation.
  void wait(const Operation& operation);
  // Carries everything on for up to `seconds`. True if something happened.
  bool poll(double seconds);

  // Tells all ranks why this one ends, and fails what is under way here. For
  // failures outside of tasks; those of tasks are told by themselves.
  void fail(const Error& error);

  Transport& transport() const { return transport_; }

 private:
  void handle(const Notice& notice);
  void answer_query(const Notice& notice);
  void ask();
  void give_up();
  // Takes the tasks that are over off the list; a failure among them is told.
  void collect();

  Transport& transport_;
  EngineOptions options_;
  std::vector<Operation> running_;
  double last_arrival_ = 0;
  double last_asked_ = 0;
  std::optional<Error> failure_;  // nothing new starts after it
};

}  // namespace weft
