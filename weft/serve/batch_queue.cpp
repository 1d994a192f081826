#include "weft/serve/batch_queue.h"

#include <algorithm>

namespace weft::serve {

bool BatchQueue::push(RequestRef request) {
  if (size_ >= limits_.most_waiting) return false;
  Group& group = groups_[request->group];
  group.rows += request->rows;
  group.requests.push_back(std::move(request));
  ++size_;
  return true;
}

template <class Predicate>
std::vector<RequestRef> BatchQueue::take_if(Predicate&& is_wanted) {
  std::vector<RequestRef> taken;
  for (auto at = groups_.begin(); at != groups_.end();) {
    Group& group = at->second;
    std::erase_if(group.requests, [&](const RequestRef& request) {
      if (!is_wanted(*request)) return false;
      group.rows -= request->rows;
      taken.push_back(request);
      return true;
    });
    at = group.requests.empty() ? groups_.erase(at) : std::next(at);
  }
  size_ -= taken.size();
  return taken;
}

bool BatchQueue::remove(const Request& request) {
  return !take_if([&](const Request& each) {
            return &each == &request;
          }).empty();
}

Time BatchQueue::ready_at(const Group& group, bool is_hurried) const {
  const Request& oldest = *group.requests.front();
  if (is_hurried || group.rows >= limits_.most_rows) return oldest.arrival;
  Duration wait = limits_.delay;
  for (const RequestRef& each : group.requests) {
    // Whoever is in a hurry takes along those who came before.
    if (each->deadline == Time::max()) continue;
    const Time half = each->arrival + (each->deadline - each->arrival) / 2;
    wait = std::min(wait, half - oldest.arrival);
  }
  return oldest.arrival + wait;
}

std::optional<Time> BatchQueue::ready_at(bool is_hurried) const {
  std::optional<Time> first;
  for (const auto& [key, group] : groups_) {
    const Time ready = ready_at(group, is_hurried);
    if (!first || ready < *first) first = ready;
  }
  return first;
}

BatchQueue::Groups::const_iterator BatchQueue::ready_longest(
    Time now, bool is_hurried) const {
  auto chosen = groups_.end();
  Time earliest = Time::max();
  for (auto at = groups_.begin(); at != groups_.end(); ++at) {
    const Time ready = ready_at(at->second, is_hurried);
    if (ready > now || ready >= earliest) continue;
    chosen = at;
    earliest = ready;
  }
  return chosen;
}

std::size_t BatchQueue::size_of_batch(const Group& group,
                                      std::int64_t most_rows) const {
  std::int64_t rows = 0;
  std::size_t size = 0;
  for (const RequestRef& each : group.requests) {
    rows += each->rows;
    if (size > 0 && rows > std::min(most_rows, limits_.most_rows)) break;
    ++size;
  }
  return size;
}

std::vector<RequestRef> BatchQueue::take(Time now, bool is_hurried,
                                         std::int64_t most_rows) {
  const auto chosen = ready_longest(now, is_hurried);
  if (chosen == groups_.end()) return {};
  Group& group = groups_.at(chosen->first);
  std::vector<RequestRef> batch(size_of_batch(group, most_rows));
  for (RequestRef& each : batch) {
    each = std::move(group.requests.front());
    group.requests.pop_front();
    group.rows -= each->rows;
  }
  size_ -= batch.size();
  if (group.requests.empty()) groups_.erase(chosen);
  return batch;
}

BatchSize BatchQueue::next(Time now, bool is_hurried) const {
  const auto chosen = ready_longest(now, is_hurried);
  BatchSize batch;
  if (chosen == groups_.end()) return batch;
  const auto& requests = chosen->second.requests;
  for (std::size_t i = size_of_batch(chosen->second, kAnyRows); i-- > 0;) {
    batch.rows += requests[i]->rows;
    batch.elements += requests[i]->elements;
  }
  return batch;
}

std::vector<RequestRef> BatchQueue::take_expired(Time now) {
  return take_if([&](const Request& each) { return each.deadline <= now; });
}

Time BatchQueue::next_deadline() const {
  Time first = Time::max();
  for (const auto& [key, group] : groups_) {
    for (const RequestRef& each : group.requests) {
      first = std::min(first, each->deadline);
    }
  }
  return first;
}

}  // namespace weft::serve
