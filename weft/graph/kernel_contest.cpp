// Measures kernels against each other, for plans (kernel_times.h).
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <ranges>

#include "weft/base/parallel.h"
#include "weft/base/stopwatch.h"
#include "weft/graph/kernel_times.h"

namespace weft {
namespace {

// Where the best takes so many seconds, two runs tell that a kernel which takes
// so many times as long is out. Of one run half may be what other programs
// took, and more, but it tells of a kernel that takes far longer.
constexpr double kLongRun = 2e-3;
constexpr double kBeaten = 1.25;
constexpr double kFarBeaten = 5;
// A kernel's time is known when it was met twice, up to this factor. Times that
// other programs spoil do not repeat.
constexpr double kRepeats = 1.1;
// So long rounds go on for a time that does not repeat.
constexpr double kPatienceSeconds = 0.4;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of operands

// Memory as a call has it. All of it is written: pages that nobody has written
// are one and the same, and lie in the cache.
class Operands {
 public:
  explicit Operands(const OpCall& call) {
    for (const TensorType& type : call.inputs) add(type, inputs_);
    for (const TensorType& type : call.outputs) add(type, outputs_);
  }

  KernelBuffers with_scratch(std::size_t bytes) {
    if (static_cast<std::size_t>(scratch_.size()) < bytes) {
      scratch_ = Tensor::empty({DType::kU8, {static_cast<Dim>(bytes)}});
    }
    return {inputs_.data(), outputs_.data(), scratch_.raw()};
  }

 private:
  void add(const TensorType& type, std::vector<void*>& addresses) {
    tensors_.push_back(Tensor::empty(type));
    // In each float dtype this is an ordinary number.
    std::memset(tensors_.back().raw(), 0x3f, type.bytes());
    addresses.push_back(tensors_.back().raw());
  }

  std::vector<Tensor> tensors_;
  std::vector<void*> inputs_, outputs_;
  Tensor scratch_ = Tensor::empty({DType::kU8, {0}});
};

// The names of those that compete for the call, the highest rank first. Nobody
// competes with one that does not.
std::vector<std::string> rivals(const OpCall& call) {
  std::vector<std::string> names;
  for (const auto& candidate : kernel_registry().candidates(call.op.name())) {
    if (candidate.declines && candidate.declines(call)) continue;
    if (candidate.competes) {
      names.push_back(candidate.name);
    } else if (names.empty()) {
      break;
    }
  }
  return names;
}

// Puts the one that a choice by rank would take in front.
void put_ranked_first(const OpCall& call, std::vector<std::string>& names) {
  const std::string ranked = choose_kernel(call).name;
  const auto found = std::ranges::find(names, ranked);
  if (found != names.end()) std::rotate(names.begin(), found, found + 1);
}

// Kernels of one call that run in turns.
class Race {
 public:
  Race(const OpCall& call, const std::vector<std::string>& names)
      : operands_(call), second_(names.size(), kUnknown) {
    for (const std::string& name : names) {
      KernelChoice choice = choose_kernel(call, kernel_registry(), name);
      // One that cannot be prepared is as slow as can be.
      const bool is_it = choice.name == name;
      kernels_.push_back(is_it ? std::move(choice.kernel) : nullptr);
      times_.push_back({name, kUnknown});
    }
  }

  std::vector<KernelTime> run() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) warm_up(i);
    const Stopwatch all;
    for (int round = 0; !is_over(round, all.seconds()); ++round) {
      // All that may still win have their turn in each round, so that what
      // disturbs one of them disturbs the others too.
      for (std::size_t i = 0; i < kernels_.size(); ++i) {
        if (!is_out(i)) add(i, seconds_of_run(i));
      }
    }
    return times_;
  }

 private:
  static constexpr double kUnknown = 1e6;

  // The first run meets code and memory for the first time, and may have to
  // compile the code: only if it takes very long does it say what others will.
  void warm_up(std::size_t i) {
    if (!kernels_[i]) return;
    const double seconds = seconds_of_run(i);
    if (seconds > kPatienceSeconds) add(i, seconds);
  }

  double seconds_of_run(std::size_t i) {
    PreparedKernel& kernel = *kernels_[i];
    const KernelBuffers buffers =
        operands_.with_scratch(kernel.scratch_bytes());
    const Stopwatch watch;
    kernel.run(buffers);
    return watch.seconds();
  }

  void add(std::size_t i, double seconds) {
    double& shortest = times_[i].seconds;
    second_[i] = std::min(second_[i], std::max(seconds, shortest));
    shortest = std::min(shortest, seconds);
    least_ = std::min(least_, seconds);
  }

  bool is_out(std::size_t i) const {
    const double own = times_[i].seconds;
    const double factor = second_[i] < kUnknown ? kBeaten : kFarBeaten;
    return !kernels_[i] ||
           (least_ >= kLongRun && own < kUnknown && own > factor * least_);
  }

  bool is_over(int round, double seconds) const {
    const bool are_known = std::ranges::all_of(
        std::views::iota(0u, kernels_.size()), [&](std::size_t i) {
          return is_out(i) || second_[i] < kRepeats * times_[i].seconds;
        });
    if (are_known && round >= kMostRounds) return true;
    // Two rounds are the least in which a disturbance can be told from a slow
    // kernel, and a machine that others use disturbs more of them.
    return round >= 2 &&
           seconds > (are_known ? kSecondsPerCall : kPatienceSeconds);
  }

  Operands operands_;
  std::vector<std::unique_ptr<PreparedKernel>> kernels_;
  std::vector<KernelTime> times_;
  std::vector<double> second_;  // the second shortest of each kernel's runs
  double least_ = kUnknown;
};

// What is known of this machine, for all threads.
class Contest {
 public:
  // Times of all `names`, measured now if need be; none where they may not be
  // measured, or not be kept.
  std::vector<KernelTime> times(const std::string& text,
                                const std::vector<std::string>& names,
                                const MeasureWays& measure) {
    // One contest at a time: kernels that were measured beside each other would
    // share the cores. One that is made ready for a contest may measure its own
    // ways first.
    const std::lock_guard lock(mutex_);
    if (const auto* known = known_.find(text, names)) return *known;
    if (!may_measure_) return {};
    if (known_.is_full()) {
      stop(fmt::format("{} is full", known_.file().string()));
      return {};
    }
    try {
      known_.make_sure_it_can_be_written();
      return known_.add(text, measure());
    } catch (const Error& error) {
      stop(error.what());
      return {};
    }
  }

  static Contest& of_machine() {
    static Contest contest;
    return contest;
  }

 private:
  Contest()
      : known_(kernel_times_of_machine()),
        may_measure_(kernel_policy() == KernelPolicy::kMeasured) {
    if (!known_.complaint().empty()) say(known_.complaint());
    if (known_.file().empty() && may_measure_) stop("HOME is not set");
  }

  static void say(const std::string& text) {
    fmt::print(stderr, "weft: kernel times: {}\n", text);
  }
  void stop(const std::string& reason) {
    say(reason + "; kernels are chosen by rank");
    may_measure_ = false;
  }

  std::recursive_mutex mutex_;
  TimesFile known_;
  bool may_measure_;
};

// "2 threads, matmul(f32[1024, 1024], known f32[1024, 1024]) {…}".
std::string signature(const OpCall& call) {
  std::string text =
      fmt::format("{} threads, {}(", thread_count(), call.op.name());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    text += i == 0 ? "" : ", ";
    // What is known need not be packed in every run.
    if (call.known_input(i) != nullptr) text += "known ";
    text += to_string(call.inputs[i]);
  }
  text += ") " + to_string(call.attributes);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.is_read(i)) text += fmt::format(", result {} unread", i);
  }
  return text;
}

bool is_worth_measuring(const OpCall& call) {
  std::size_t bytes = 0;
  for (const TensorType& type : call.inputs) bytes += type.bytes();
  for (const TensorType& type : call.outputs) bytes += type.bytes();
  // A call that is over sooner than it can be timed gains nothing, and operands
  // of more would crowd the program out of memory.
  return call.op.cost()(call).flops >= kLeastFlops && bytes <= kMostBytes;
}

}  // namespace

KernelPolicy kernel_policy() {
  const char* value = std::getenv("WEFT_KERNELS");
  const std::string_view word = value == nullptr ? "" : value;
  if (word.empty() || word == "measured") return KernelPolicy::kMeasured;
  if (word == "cached") return KernelPolicy::kCached;
  if (word == "ranked") return KernelPolicy::kRanked;
  throw Error(ErrorCode::kInvalidArgument, "WEFT_KERNELS", "no way '{}'", word)
      .hint("it is measured, cached or ranked");
}

const KernelTime& fastest(const std::vector<KernelTime>& times) {
  const auto& best = *std::ranges::min_element(times, {}, &KernelTime::seconds);
  // The first one is taken unless another is clearly faster, so that noise
  // decides no near ties.
  return best.seconds < kGain * times[0].seconds ? best : times[0];
}

TimesFile kernel_times_of_machine() {
  // A choice is among two at least.
  return times_of_machine("kernel", 2, 4096);
}

std::vector<KernelTime> times_of_ways(const std::string& what,
                                      const std::vector<std::string>& names,
                                      const MeasureWays& measure) {
  // A line of one would be taken for a damaged one by whoever reads the file.
  WEFT_CHECK(names.size() >= 2, "{}: a choice is among two at least", what);
  if (kernel_policy() == KernelPolicy::kRanked) return {};
  return Contest::of_machine().times(what, names, measure);
}

KernelChoice choose_fastest_kernel(const OpCall& call) {
  if (kernel_policy() == KernelPolicy::kRanked || !is_worth_measuring(call)) {
    return choose_kernel(call);
  }
  auto names = rivals(call);
  if (names.size() < 2) return choose_kernel(call);
  put_ranked_first(call, names);
  auto times = Contest::of_machine().times(
      signature(call), names, [&] { return Race(call, names).run(); });
  if (times.empty()) return choose_kernel(call);
  KernelChoice choice =
      choose_kernel(call, kernel_registry(), fastest(times).name);
  choice.times = std::move(times);
  return choice;
}

}  // namespace weft
