// The connections that are open, so that they can be counted, and told to end.
//
// Threads: thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "weft/serve/http/options.h"
#include "weft/serve/http/routes.h"

namespace weft::serve {

class Connection {
 public:
  virtual ~Connection() = default;
  // Ends it once the answer that is due, if any, is written.
  virtual void end() = 0;
};

class Connections {
 public:
  Connections(Routes& routes, Metrics& metrics, const HttpOptions& options)
      : routes(routes), metrics(metrics), options(options) {}

  Routes& routes;
  Metrics& metrics;
  const HttpOptions options;

  // Whether one more may be opened; counts it as refused if not.
  bool has_room() {
    const std::lock_guard lock(mutex_);
    if (open_.size() < options.most_connections) return true;
    metrics.refused_connections += 1;
    return false;
  }
  // One that was accepted before the end but comes after it is ended at once.
  void add(const std::shared_ptr<Connection>& connection) {
    std::unique_lock lock(mutex_);
    open_.emplace(connection.get(), connection);
    metrics.http_connections += 1;
    const bool is_late = is_ending_;
    lock.unlock();
    if (is_late) connection->end();
  }
  void remove(const Connection* connection) {
    const std::lock_guard lock(mutex_);
    metrics.http_connections -=
        static_cast<std::int64_t>(open_.erase(connection));
    if (open_.empty()) is_empty_.notify_all();
  }
  // Returns when none is open or the time has come; says which.
  bool wait_until_closed(Time until) {
    std::unique_lock lock(mutex_);
    return is_empty_.wait_until(lock, until, [this] { return open_.empty(); });
  }
  // Ends those that are open and all that come.
  void end_all() {
    std::vector<std::shared_ptr<Connection>> all;
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
      for (const auto& [key, connection] : open_) {
        if (auto alive = connection.lock()) all.push_back(std::move(alive));
      }
    }
    for (const auto& each : all) each->end();
  }

 private:
  std::mutex mutex_;
  bool is_ending_ = false;
  std::condition_variable is_empty_;
  std::unordered_map<const Connection*, std::weak_ptr<Connection>> open_;
};

}  // namespace weft::serve
