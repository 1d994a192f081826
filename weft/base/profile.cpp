#include "weft/base/profile.h"

#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "weft/base/error.h"

namespace weft {
namespace {

// It lives as long as the process does: threads may record while it ends.
struct Recorder {
  std::mutex mutex;
  std::vector<ProfileEvent> events;
  std::size_t lost = 0;
  std::map<int, std::string> thread_names;
};

Recorder& recorder() {
  static Recorder& only = *new Recorder;
  return only;
}

void record(ProfileEvent event) {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  // A span may end behind the profile that it began in.
  if (!profile::is_on()) return;
  if (all.events.size() < Profile::kMostEvents) {
    all.events.push_back(std::move(event));
  } else {
    ++all.lost;
  }
}

}  // namespace

SpanKindRef span_kind(SpanKind kind) {
  return std::make_shared<const SpanKind>(std::move(kind));
}

namespace profile {

std::atomic<bool> is_recording = false;

double now() {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point start = Clock::now();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void record_span(const SpanKindRef& kind, double begin, double end) {
  if (!is_on()) return;
  record({kind, ProfileEvent::Form::kSpan, this_thread(), begin, end});
}

void record_message(const SpanKindRef& kind, double begin, double end) {
  if (!is_on()) return;
  record({kind, ProfileEvent::Form::kMessage, this_thread(), begin, end});
}

void record_quantity(const SpanKindRef& kind, double value) {
  if (!is_on()) return;
  const double at = now();
  record({kind, ProfileEvent::Form::kQuantity, this_thread(), at, at, value});
}

int this_thread() {
  static std::atomic<int> threads = 0;
  thread_local const int number = threads++;
  return number;
}

void name_thread(std::string name) {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  all.thread_names[this_thread()] = std::move(name);
}

std::string thread_name(int thread) {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  const auto found = all.thread_names.find(thread);
  return found != all.thread_names.end() ? found->second
                                         : fmt::format("thread {}", thread);
}

}  // namespace profile

Profile::Profile() {
  Recorder& all = recorder();
  const std::lock_guard lock(all.mutex);
  if (profile::is_on()) {
    throw Error(ErrorCode::kInvalidArgument, "profile",
                "another one is being recorded in this process")
        .hint("end it first: a profile is of all threads");
  }
  all.events.clear();
  all.lost = 0;
  profile::is_recording = true;
}

Profile::~Profile() {
  const std::lock_guard lock(recorder().mutex);
  profile::is_recording = false;
}

std::vector<ProfileEvent> Profile::take() {
  const std::lock_guard lock(recorder().mutex);
  return std::exchange(recorder().events, {});
}

std::size_t Profile::lost() const {
  const std::lock_guard lock(recorder().mutex);
  return recorder().lost;
}

}  // namespace weft
