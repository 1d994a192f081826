// The server without a transport: what HTTP and gRPC both call, with tensors in
// and tensors out.
//
//   Server server(options);
//   server.repository().open({"digits.weft"});
//   const auto ticket = server.infer({.model = "digits", .inputs = …}, done);
//
// Threads: thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/files/safetensors.h"
#include "weft/serve/access.h"
#include "weft/serve/predictions.h"
#include "weft/serve/repository.h"
#include "weft/serve/request_log.h"

namespace weft::serve {

struct ServerOptions {
  ExecutorOptions executors = {};
  RepositoryOptions repository = {};
  Duration deadline = std::chrono::seconds(30);  // of requests that say none
  Access access = {};
  std::shared_ptr<RequestLog> request_log = {};  // null: none is kept
};

struct InferCall {
  std::string model;
  std::string version = {};  // empty: the one that is served
  std::string id = {};       // comes back in the answer
  std::optional<Duration> timeout = {};
  std::vector<NamedTensor> inputs;
  std::vector<std::string> outputs = {};  // none: all
};

struct InferAnswer {
  Status status = Status::kOk;
  std::string message = {};  // where the status is no kOk
  std::string model = {};
  std::string version = {};
  std::string id = {};
  std::vector<NamedTensor> outputs = {};
};

class Server {
 public:
  explicit Server(const ServerOptions& options);

  Repository& repository() { return repository_; }
  const Repository& repository() const { return repository_; }
  Metrics& metrics() { return metrics_; }
  // For a thread that calls infer(): executors.h says what it takes on.
  Executors::Volunteer volunteer() { return Executors::Volunteer(executors_); }
  const Access& access() const { return access_; }
  // Whether requests of all models can be answered, and no end is near.
  bool is_ready() const { return !is_leaving_ && repository_.is_ready(); }

  struct Ticket {
    LaneRef lane;
    RequestRef request;
  };
  using Answered = std::function<void(InferAnswer)>;
  // `done` is called once, on a thread of the server's, and must be quick.
  // Throws Refusal where the call does not get into a queue: then it is not.
  Ticket infer(InferCall call, Answered done);
  // Its client is gone: the request leaves the queue if it is still there, and
  // `done` is told so.
  void cancel(const Ticket& ticket);

  // What a person gives (predictions.h). Throws as find() and ask() do.
  void predict(const std::string& model, const std::string& version,
               PersonInput input, Predictions::Answered done);

  // Says by is_ready() that the server goes away. Calls are still taken, and
  // wait for no others.
  void leave() {
    is_leaving_ = true;
    executors_.hurry();
  }
  // Takes no more calls, and waits until those under way are answered or the
  // time has come; says which.
  bool drain(Time until) { return executors_.drain(until); }
  // Ends all threads. Whoever is still waiting is told; no callback comes
  // afterwards, so that what they answer to may go.
  void end();

 private:
  Ticket submit(const LaneRef& lane, InferCall call, Answered done);

  Duration deadline_;
  Access access_;
  std::shared_ptr<RequestLog> request_log_;
  Metrics metrics_;
  Executors executors_;
  Predictions predictions_;
  Repository repository_;
  std::atomic<bool> is_leaving_ = false;
};

// "weft" and what it can do beyond the protocol's core.
inline constexpr const char* kServerName = "weft";
inline constexpr const char* kPlatform = "weft";
const std::vector<std::string>& extensions();

}  // namespace weft::serve
