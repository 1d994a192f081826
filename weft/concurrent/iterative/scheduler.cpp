#include "weft/concurrent/iterative/scheduler.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "weft/base/error.h"

namespace weft::concurrent {
namespace {

// MultiQueue asks for two to four a thread: with fewer, threads meet at one
// queue; with more, ranks grow.
constexpr int kPerThread = 4;
// Near the fastest of the prefixes that PODC 2018 tries.
constexpr Task kRounds = 50;

// Sets `value` to `otherwise` where it is 0, if the scheduler has the option.
template <class T>
void settle(const char* option, T& value, bool is_there, T otherwise,
            SchedulerKind kind) {
  if (value < T{0})
    throw Error(ErrorCode::kInvalidArgument, "scheduler", "{} is {}", option,
                value)
        .hint("at least 1");
  // A setting that would have no effect is a mistake of the caller's.
  if (!is_there && value != 0)
    throw Error(ErrorCode::kInvalidArgument, "scheduler",
                "'{}' has no {} to set", to_string(kind), option);
  if (is_there && value == 0) value = otherwise;
}

}  // namespace

const std::vector<std::string>& scheduler_names() {
  static const std::vector<std::string> names = {
      "multiqueue", "topk", "heap", "exact", "rounds", "in-order"};
  return names;
}

std::string_view to_string(SchedulerKind kind) {
  return scheduler_names()[static_cast<std::size_t>(kind)];
}

SchedulerKind scheduler_kind(std::string_view name) {
  const auto& names = scheduler_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw Error(ErrorCode::kInvalidArgument, "scheduler", "there is no '{}'",
                name)
        .hint(fmt::format("one of {}", fmt::join(names, ", ")));
  return static_cast<SchedulerKind>(found - names.begin());
}

SchedulerOptions resolved(SchedulerOptions options, Task tasks) {
  if (options.threads < 1)
    throw Error(ErrorCode::kInvalidArgument, "scheduler", "{} threads",
                options.threads)
        .hint("at least 1");
  const SchedulerKind kind = options.kind;
  // It would run on one and be reported as if it had used them all.
  if (kind == SchedulerKind::kInOrder && options.threads > 1)
    throw Error(ErrorCode::kInvalidArgument, "scheduler",
                "'{}' is sequential, and has no use for {} threads",
                to_string(kind), options.threads);
  settle("queues", options.queues, kind == SchedulerKind::kMultiQueue,
         kPerThread * options.threads, kind);
  settle("relaxation", options.relaxation, kind == SchedulerKind::kTopK,
         kPerThread * options.threads, kind);
  settle("prefix", options.prefix, kind == SchedulerKind::kRounds,
         tasks / kRounds + 1, kind);
  return options;
}

}  // namespace weft::concurrent
