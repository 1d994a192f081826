#include "weft/serve/predictions.h"

#include <future>
#include <pthread.h>

#include "weft/base/parallel.h"
#include "weft/train/model_in_use.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMostQuestions = 32;

ByteSpan bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// What a predictor says of its input, files that are damaged or not there among
// it, is for who sent it.
Status status_of_input(const Error& error) {
  if (dynamic_cast<const Refusal*>(&error) == nullptr) {
    switch (error.code()) {
      case ErrorCode::kUnsupported:
      case ErrorCode::kUnavailable:
      case ErrorCode::kDataLoss:
        return Status::kBadRequest;
      default:
        break;
    }
  }
  return status_of(error);
}

}  // namespace

Predictions::Predictions(Executors& executors, Duration deadline)
    : executors_(executors),
      deadline_(deadline),
      thread_([this] { serve(); }) {}

Predictions::~Predictions() { end(); }

void Predictions::end() {
  std::deque<Question> left;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    left = std::exchange(questions_, {});
  }
  has_question_.notify_all();
  for (const Question& each : left) {
    each.done(
        {.status = Status::kUnavailable, .message = "the server has ended"});
  }
  if (thread_.joinable()) thread_.join();
}

void Predictions::ask(LaneRef lane, PersonInput input, Answered done) {
  const std::string& name = lane->model().name();
  if (lane->model().in_use() == nullptr) {
    throw Refusal(
        Status::kBadRequest, name,
        "its file says nothing of what people could give it; it takes "
        "tensors, by infer");
  }
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) {
      throw Refusal(Status::kUnavailable, name, "the server has ended");
    }
    if (questions_.size() >= kMostQuestions) {
      throw Refusal(Status::kFull, name, "{} predictions wait already",
                    kMostQuestions);
    }
    questions_.push_back({std::move(lane), std::move(input), std::move(done)});
  }
  has_question_.notify_one();
}

void Predictions::serve() {
  pthread_setname_np(pthread_self(), "weft-predict");
  set_thread_count(1);
  std::unique_lock lock(mutex_);
  while (true) {
    has_question_.wait(lock,
                       [this] { return is_ending_ || !questions_.empty(); });
    if (questions_.empty()) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    question.done(answer(question));
    lock.lock();
  }
}

PersonAnswer Predictions::answer(const Question& question) {
  const ServedModel& model = question.lane->model();
  PersonAnswer answer{.model = model.name(), .version = model.version()};
  try {
    ModelInUse& in_use = *model.in_use();
    const ModelFunctions functions =
        [&](std::string_view name) -> ModelFunction {
      if (name != kPredictFunction) return in_use.functions()(name);
      return [&](std::span<const Tensor> arguments) {
        return run(question.lane, arguments);
      };
    };
    PredictorInput input{.text = question.input.text};
    if (question.input.file) input.file = bytes_of(*question.input.file);
    Prediction prediction = in_use.task()
                                .predictor({in_use.description(), functions})
                                ->predict(input);
    answer.lines = std::move(prediction.lines);
    answer.json = std::move(prediction.json);
  } catch (const Error& error) {
    answer.status = status_of_input(error);
    answer.message = error.what();
  } catch (const std::exception& error) {
    answer.status = Status::kInternal;
    answer.message = error.what();
  }
  return answer;
}

// A request like others, for which this thread waits.
std::vector<Tensor> Predictions::run(const LaneRef& lane,
                                     std::span<const Tensor> arguments) {
  const auto request = std::make_shared<Request>();
  request->inputs.assign(arguments.begin(), arguments.end());
  lane->model().admit(*request);
  request->arrival = Clock::now();
  request->deadline = request->arrival + deadline_;
  std::promise<Outcome> promise;
  request->done = [&](Outcome outcome) {
    promise.set_value(std::move(outcome));
  };
  executors_.submit(lane, request);
  Outcome outcome = promise.get_future().get();
  if (outcome.status == Status::kOk) return std::move(outcome.results);
  throw Refusal(outcome.status, lane->model().name(), "{}", outcome.message);
}

}  // namespace weft::serve
