// A request that waits for its model, as the queue and the executors see it: no
// transport is left in it.
//
// Threads: a Request is handed over, and belongs to one thread at a time; its
//          `done` is called once, from any thread, and must be quick.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/serve/status.h"
#include "weft/tensor/tensor.h"

namespace weft::serve {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = Clock::duration;

// The results in the model's order, or why there are none.
struct Outcome {
  Status status = Status::kOk;
  std::string message = {};
  std::vector<Tensor> results = {};
};

struct Request {
  std::vector<Tensor> inputs;  // in the model's order, of its types
  std::int64_t rows = 1;
  std::int64_t elements = 0;  // of all inputs together
  // All dims of the inputs but those of the rows: requests that agree in them
  // may run together.
  std::vector<Dim> group = {};
  Time arrival = {};
  Time deadline = Time::max();
  std::function<void(Outcome)> done;
};

using RequestRef = std::shared_ptr<Request>;

}  // namespace weft::serve
