#include "weft/serve/metrics.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <unistd.h>

namespace weft::serve {
namespace {

const std::vector<double> kSecondBounds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
    0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
const std::vector<double> kRowBounds = {1, 2, 4, 8, 16, 32, 64, 128, 256};

// Names of models are those of files, which may hold anything.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

template <class... Args>
void line(std::string& out, fmt::format_string<Args...> format,
          Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
  out += '\n';
}

void head(std::string& out, std::string_view name, std::string_view kind,
          std::string_view help) {
  line(out, "# HELP {} {}", name, help);
  line(out, "# TYPE {} {}", name, kind);
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

using Models = std::map<std::string, std::unique_ptr<ModelMetrics>>;

// One family whose value is a member of each model's.
template <class Member>
void family(std::string& out, const Models& models, std::string_view name,
            std::string_view kind, std::string_view help, Member member) {
  head(out, name, kind, help);
  for (const auto& [model, metrics] : models) {
    line(out, "{}{{model=\"{}\"}} {}", name, escaped(model),
         (metrics.get()->*member).load());
  }
}

void histograms(std::string& out, const Models& models, std::string_view name,
                std::string_view help, Histogram ModelMetrics::*member) {
  head(out, name, "histogram", help);
  for (const auto& [model, metrics] : models) {
    (metrics.get()->*member)
        .write(out, name, fmt::format("model=\"{}\"", escaped(model)));
  }
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::observe(double value) {
  const auto at = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(at)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void Histogram::write(std::string& out, std::string_view name,
                      std::string_view labels) const {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i].load(std::memory_order_relaxed);
    const std::string bound =
        i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    line(out, "{}_bucket{{{},le=\"{}\"}} {}", name, labels, bound, total);
  }
  line(out, "{}_sum{{{}}} {}", name, labels, sum_.load());
  // The same as the last bucket, also where others count meanwhile.
  line(out, "{}_count{{{}}} {}", name, labels, total);
}

ModelMetrics::ModelMetrics()
    : batch_rows(kRowBounds),
      queue_seconds(kSecondBounds),
      compute_seconds(kSecondBounds),
      request_seconds(kSecondBounds) {}

ModelMetrics& Metrics::of(const std::string& model) {
  const std::lock_guard lock(mutex_);
  auto& found = models_[model];
  if (found == nullptr) found = std::make_unique<ModelMetrics>();
  return *found;
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  using M = ModelMetrics;
  std::string out;
  head(out, "weft_requests_total", "counter", "Requests by how they ended.");
  for (const auto& [model, metrics] : models_) {
    for (std::size_t i = 0; i < kStatusCount; ++i) {
      line(out, "weft_requests_total{{model=\"{}\",status=\"{}\"}} {}",
           escaped(model), name_of(static_cast<Status>(i)),
           metrics->requests[i].load());
    }
  }
  family(out, models_, "weft_rows_total", "counter", "Rows of requests.",
         &M::rows);
  family(out, models_, "weft_padding_rows_total", "counter",
         "Rows that were run beside those of requests.", &M::padding);
  family(out, models_, "weft_batches_total", "counter", "Runs.", &M::batches);
  family(out, models_, "weft_model_loads_total", "counter",
         "Versions that were loaded.", &M::loads);
  family(out, models_, "weft_model_failed_loads_total", "counter",
         "Versions that could not be loaded.", &M::failed_loads);
  family(out, models_, "weft_waiting_requests", "gauge",
         "Requests in the queue.", &M::waiting);
  family(out, models_, "weft_running_batches", "gauge", "Runs under way.",
         &M::running);
  histograms(out, models_, "weft_batch_rows", "Rows of requests in a run.",
             &M::batch_rows);
  histograms(out, models_, "weft_queue_seconds",
             "Seconds from a request's arrival until its run.",
             &M::queue_seconds);
  histograms(out, models_, "weft_compute_seconds", "Seconds of a run.",
             &M::compute_seconds);
  histograms(out, models_, "weft_request_seconds",
             "Seconds from a request's arrival until its outcome.",
             &M::request_seconds);
  head(out, "weft_http_connections", "gauge", "Open HTTP connections.");
  line(out, "weft_http_connections {}", http_connections.load());
  head(out, "weft_refused_connections_total", "counter",
       "Connections that were one too many.");
  line(out, "weft_refused_connections_total {}", refused_connections.load());
  head(out, "weft_unauthorized_total", "counter",
       "Requests without the token.");
  line(out, "weft_unauthorized_total {}", unauthorized.load());
  head(out, "weft_compute_threads", "gauge", "Threads that compute, at most.");
  line(out, "weft_compute_threads {}", compute_threads.load());
  head(out, "process_resident_memory_bytes", "gauge", "Memory in use.");
  line(out, "process_resident_memory_bytes {}", resident_bytes());
  return out;
}

}  // namespace weft::serve
