#include "weft/serve/server.h"

#include <algorithm>
#include <fmt/format.h>

#include "weft/train/model_in_use.h"

namespace weft::serve {
namespace {

// The given inputs in the model's order.
std::vector<Tensor> in_order(const ServedModel& model,
                             std::vector<NamedTensor>& given) {
  std::vector<std::string> names;
  for (const Port& port : model.inputs()) names.push_back(port.name);
  std::vector<Tensor> inputs(names.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto at = std::ranges::find(names, given[i].name) - names.begin();
    const auto index = static_cast<std::size_t>(at);
    if (index == names.size()) {
      throw Refusal(Status::kBadRequest, fmt::format("inputs[{}].name", i),
                    "the model has no input '{}'; it takes {}", given[i].name,
                    fmt::join(names, ", "));
    }
    if (inputs[index].is_defined()) {
      throw Refusal(Status::kBadRequest, fmt::format("inputs[{}].name", i),
                    "'{}' is given twice", given[i].name);
    }
    inputs[index] = std::move(given[i].tensor);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_defined()) continue;
    throw Refusal(Status::kBadRequest, "inputs", "'{}' is missing", names[i]);
  }
  return inputs;
}

// Which results are wanted, by their place in the model.
std::vector<std::size_t> places_of(const ServedModel& model,
                                   const std::vector<std::string>& wanted) {
  std::vector<std::size_t> places;
  const auto& ports = model.outputs();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto at = std::ranges::find(ports, wanted[i], &Port::name);
    if (at == ports.end()) {
      throw Refusal(Status::kBadRequest, fmt::format("outputs[{}].name", i),
                    "the model has no output '{}'", wanted[i]);
    }
    if (std::find(wanted.begin(), wanted.begin() + i, wanted[i]) !=
        wanted.begin() + i) {
      throw Refusal(Status::kBadRequest, fmt::format("outputs[{}].name", i),
                    "'{}' is named twice", wanted[i]);
    }
    places.push_back(static_cast<std::size_t>(at - ports.begin()));
  }
  for (std::size_t i = 0; wanted.empty() && i < ports.size(); ++i) {
    places.push_back(i);
  }
  return places;
}

// Writes the lines of a request that is answered, before its client knows;
// those of one that is refused would be of what was never served.
template <class Answer>
std::function<void(Answer)> logged(RequestLog& log, std::string lines,
                                   std::function<void(Answer)> done) {
  return
      [&log, lines = std::move(lines), done = std::move(done)](Answer answer) {
        if (answer.status == Status::kOk) log.add(lines);
        done(std::move(answer));
      };
}

}  // namespace

Server::Server(const ServerOptions& options)
    : deadline_(options.deadline),
      access_(options.access),
      request_log_(options.request_log),
      executors_(options.executors, metrics_),
      predictions_(executors_, options.deadline),
      repository_(options.repository, executors_, metrics_) {}

Server::Ticket Server::infer(InferCall call, Answered done) {
  const LaneRef lane = repository_.find(call.model, call.version);
  try {
    return submit(lane, std::move(call), std::move(done));
  } catch (const Error& error) {
    lane->metrics().requests[static_cast<std::size_t>(status_of(error))] += 1;
    throw;
  }
}

Server::Ticket Server::submit(const LaneRef& lane, InferCall call,
                              Answered done) {
  const ServedModel& model = lane->model();
  const auto request = std::make_shared<Request>();
  std::vector<NamedTensor> given;
  if (request_log_ != nullptr) given = call.inputs;
  request->inputs = in_order(model, call.inputs);
  model.admit(*request);
  if (request_log_ != nullptr) {
    done = logged(
        *request_log_,
        RequestLog::lines_of({model.name(), model.version(), call.id}, given),
        std::move(done));
  }
  request->arrival = Clock::now();
  request->deadline = request->arrival + call.timeout.value_or(deadline_);
  InferAnswer answer{.model = model.name(),
                     .version = model.version(),
                     .id = std::move(call.id)};
  // The lane stays, and with it its model, as long as it is answered.
  request->done = [lane, places = places_of(model, call.outputs),
                   answer = std::move(answer),
                   done = std::move(done)](Outcome outcome) mutable {
    answer.status = outcome.status;
    answer.message = std::move(outcome.message);
    for (const std::size_t place : places) {
      if (outcome.status != Status::kOk) break;
      answer.outputs.push_back({lane->model().outputs()[place].name,
                                std::move(outcome.results[place])});
    }
    done(std::move(answer));
  };
  executors_.submit(lane, request);
  return {lane, request};
}

void Server::cancel(const Ticket& ticket) {
  executors_.cancel(ticket.lane, ticket.request);
}

void Server::predict(const std::string& model, const std::string& version,
                     PersonInput input, Predictions::Answered done) {
  const LaneRef lane = repository_.find(model, version);
  // Pictures and sentences have no features; rows of tables have.
  const ModelInUse* in_use = lane->model().in_use();
  if (request_log_ != nullptr && in_use != nullptr &&
      in_use->description().table() != nullptr) {
    done = logged(*request_log_,
                  RequestLog::lines_of(
                      {lane->model().name(), lane->model().version()}, input),
                  std::move(done));
  }
  predictions_.ask(lane, std::move(input), std::move(done));
}

void Server::end() {
  executors_.drain(Clock::now());
  repository_.end();
  predictions_.end();
  executors_.end();
}

const std::vector<std::string>& extensions() {
  static const std::vector<std::string> all = {
      "binary_tensor_data", "model_repository", "weft_predict"};
  return all;
}

}  // namespace weft::serve
