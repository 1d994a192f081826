// Where the time of a process goes: spans of work on its threads, messages on
// their way, and quantities over time, which are recorded while a Profile
// lives.
//
//   Profile profile;
//   ... // all that is run here
//   write_trace("trace.json", profile.take());   // runtime/trace_file.h
//
// Threads: recording is safe from any; take() of one Profile from one.
// Cost:    a load of an atomic where no Profile lives; some 60 ns for a span
//          where one does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// What spans of one kind have in common.
struct SpanKind {
  std::string name;         // "conv2d"
  std::string category;     // "kernel", "batch", "loader", "network", …
  std::string detail = {};  // which implementation: "onednn:brgconv"
  double flops = 0;         // that one of them takes
  double bytes = 0;         // that it reads and writes
};
using SpanKindRef = std::shared_ptr<const SpanKind>;
SpanKindRef span_kind(SpanKind kind);

struct ProfileEvent {
  enum class Form : std::uint8_t {
    kSpan,      // spans of one thread nest
    kMessage,   // these overlap
    kQuantity,  // `value` holds from `begin` on
  };
  SpanKindRef kind;
  Form form = Form::kSpan;
  int thread = 0;    // by number, profile::thread_name()
  double begin = 0;  // seconds, by a clock of the process
  double end = 0;
  double value = 0;
};

namespace profile {

extern std::atomic<bool> is_recording;
inline bool is_on() { return is_recording.load(std::memory_order_relaxed); }

// Seconds, by the clock of all events.
double now();

// Each does nothing where no Profile lives.
void record_span(const SpanKindRef& kind, double begin, double end);
void record_message(const SpanKindRef& kind, double begin, double end);
void record_quantity(const SpanKindRef& kind, double value);

// What pictures call the thread that calls this.
void name_thread(std::string name);
// "loader", or "thread 3".
std::string thread_name(int thread);
// The number of the thread that calls this.
int this_thread();

}  // namespace profile

// Records how long it lives.
class ProfiledSpan {
 public:
  explicit ProfiledSpan(const SpanKindRef& kind)
      : kind_(kind), begin_(profile::is_on() ? profile::now() : -1) {}
  ~ProfiledSpan() {
    if (begin_ >= 0) profile::record_span(kind_, begin_, profile::now());
  }
  ProfiledSpan(const ProfiledSpan&) = delete;
  ProfiledSpan& operator=(const ProfiledSpan&) = delete;

 private:
  const SpanKindRef& kind_;
  double begin_;
};

class Profile {
 public:
  // Begins to record. Throws Error(kInvalidArgument) where another one lives.
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // What was recorded since the last call, in the order of the ends.
  std::vector<ProfileEvent> take();
  // How many events were not kept, as nobody took those before them: beyond
  // kMostEvents.
  std::size_t lost() const;

  static constexpr std::size_t kMostEvents = std::size_t{1} << 21;
};

}  // namespace weft
