// What a person gives — a picture, a row, a sentence — predicted by a model
// that is served, as `weft predict` does it: the file says how it becomes
// numbers and what the numbers mean. It is for trying a model; programs send
// tensors.
//
// Inputs are read on one thread of their own; what the model computes runs with
// the requests of all others. A search that a task makes step by step, as that
// of a translation, computes on the thread of its own.
//
// Threads: thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "weft/serve/executors.h"

namespace weft::serve {

struct PersonInput {
  std::string text;  // a sentence, a row; of a file its name
  std::optional<std::string> file = {};  // its bytes
};

struct PersonAnswer {
  Status status = Status::kOk;
  std::string message = {};  // where the status is no kOk
  std::string model = {};
  std::string version = {};
  std::vector<std::string> lines = {};  // for people
  nlohmann::ordered_json json = {};     // the same for programs
};

class Predictions {
 public:
  Predictions(Executors& executors, Duration deadline);
  ~Predictions();

  // `done` is called once, on the thread of predictions. Throws
  // Refusal(kBadRequest) for a model whose file says nothing of its inputs, and
  // Refusal(kFull) where too many wait.
  using Answered = std::function<void(PersonAnswer)>;
  void ask(LaneRef lane, PersonInput input, Answered done);
  // Ends with the one that is under way; those that wait are told. No `done` is
  // called afterwards.
  void end();

 private:
  struct Question {
    LaneRef lane;
    PersonInput input;
    Answered done;
  };

  void serve();
  PersonAnswer answer(const Question& question);
  std::vector<Tensor> run(const LaneRef& lane,
                          std::span<const Tensor> arguments);

  Executors& executors_;
  Duration deadline_;
  std::mutex mutex_;
  std::condition_variable has_question_;
  std::deque<Question> questions_;
  bool is_ending_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace weft::serve
