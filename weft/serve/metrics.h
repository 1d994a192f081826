// What the server has done, counted, and the text of it that Prometheus reads.
//
// Threads: thread-safe; counting takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weft/serve/status.h"

namespace weft::serve {

using Counter = std::atomic<std::uint64_t>;
using Gauge = std::atomic<std::int64_t>;

// Counts of observations by upper bounds, as Prometheus defines them.
class Histogram {
 public:
  // Bounds ascend; one of infinity follows by itself.
  explicit Histogram(std::vector<double> bounds);

  void observe(double value);
  // Lines of the text format under this name; `labels` is `model="digits"`.
  void write(std::string& out, std::string_view name,
             std::string_view labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<Counter> counts_;  // one per bound, not cumulative, and infinity
  std::atomic<double> sum_ = 0;
};

struct ModelMetrics {
  ModelMetrics();

  std::array<Counter, kStatusCount> requests = {};  // by how they ended
  Counter rows = 0;                                 // of requests that ran
  Counter padding = 0;  // rows that were run beside them
  Counter batches = 0;
  Counter loads = 0;
  Counter failed_loads = 0;
  Gauge waiting = 0;
  Gauge running = 0;  // batches
  Histogram batch_rows;
  Histogram queue_seconds;    // of a request, until its batch begins
  Histogram compute_seconds;  // of a batch
  Histogram request_seconds;  // from arrival until the outcome is known
};

class Metrics {
 public:
  // Those of a model, in all its versions. They stay where they are.
  ModelMetrics& of(const std::string& model);

  Gauge http_connections = 0;
  Counter refused_connections = 0;  // there were as many as may be
  Counter unauthorized = 0;
  Gauge compute_threads = 0;

  // The text format, version 0.0.4.
  std::string text() const;

 private:
  mutable std::mutex mutex_;  // guards the map, not what is in it
  std::map<std::string, std::unique_ptr<ModelMetrics>> models_;
};

}  // namespace weft::serve
