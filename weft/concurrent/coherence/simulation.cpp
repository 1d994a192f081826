#include "weft/concurrent/coherence/simulation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/base/error.h"

namespace weft::concurrent {
namespace {

constexpr double kPerNanosecond = 1000;

std::uint64_t time_of(double nanoseconds, const char* what) {
  // The comparison refuses NaN too. 1e15 ns are 1e18 ps, which leaves room in
  // 64 bits for sums of several.
  if (!(nanoseconds >= 0 && nanoseconds < 1e15))
    throw Error(ErrorCode::kInvalidArgument, "Simulation",
                "{} is {} ns, and must be 0 or more", what, nanoseconds);
  return static_cast<std::uint64_t>(std::llround(nanoseconds * kPerNanosecond));
}

double nanoseconds_of(std::uint64_t time) {
  return static_cast<double>(time) / kPerNanosecond;
}

}  // namespace

Simulation::Simulation(const SimulationOptions& options)
    : costs_{.load = time_of(options.costs.load_ns, "load_ns"),
             .atomic = time_of(options.costs.atomic_ns, "atomic_ns"),
             .transfer = time_of(options.costs.transfer_ns, "transfer_ns"),
             .ahead = time_of(options.costs.ahead_ns, "ahead_ns"),
             .handover = time_of(options.costs.handover_ns, "handover_ns"),
             .tenure = time_of(options.costs.tenure_ns, "tenure_ns"),
             .pause = time_of(options.costs.pause_ns, "pause_ns"),
             .clock = time_of(options.costs.clock_ns, "clock_ns"),
             .yield = time_of(options.costs.yield_ns, "yield_ns"),
             .change = time_of(options.costs.switch_ns, "switch_ns"),
             .quantum = time_of(options.costs.quantum_ns, "quantum_ns"),
             .migrates = options.costs.migrates},
      most_(time_of(options.most_ns, "most_ns")) {
  if (costs_.handover > costs_.transfer)
    throw Error(ErrorCode::kInvalidArgument, "Simulation",
                "a handover of {} ns is part of a transfer, which takes {} ns",
                options.costs.handover_ns, options.costs.transfer_ns);
  if (options.cores < 1 || options.cores > kMostCores)
    throw Error(ErrorCode::kInvalidArgument, "Simulation",
                "cannot simulate {} cores", options.cores)
        .hint(fmt::format("take 1 to {}", kMostCores));
  cores_.resize(static_cast<std::size_t>(options.cores));
}

Simulation::~Simulation() = default;

void Simulation::run(int threads, const std::function<void(int)>& body) {
  if (threads < 1)
    throw Error(ErrorCode::kInvalidArgument, "Simulation",
                "cannot run {} threads", threads);
  WEFT_CHECK(Machine::current() == nullptr, "a simulated thread runs another");
  // Stacks are kept from one run to the next.
  while (fibers_.size() < static_cast<std::size_t>(threads))
    fibers_.push_back(std::make_unique<Fiber>());

  started_ = ended_;
  turns_.clear();
  failure_ = nullptr;
  for (Core& core : cores_)
    // Time goes on from the last run, as caches and the times at which lines
    // are free do.
    core = {.now = started_,
            .work_end = started_,
            .stores_end = started_,
            .loads_end = 0,
            .slice_start = started_,
            .threads = {}};
  for (int i = 0; i < threads; ++i) {
    Fiber* fiber = fibers_[static_cast<std::size_t>(i)].get();
    fiber->start([this, &body, i] {
      try {
        body(i);
      } catch (...) {
        // No exception may leave a fiber; run() throws the first one when all
        // have ended.
        if (!failure_) failure_ = std::current_exception();
      }
    });
    cores_[static_cast<std::size_t>(i) % cores_.size()].threads.push_back(
        fiber);
  }
  run_all();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Simulation::run_all() {
  const Scope scope(*this);
  for (std::size_t i = 0; i < cores_.size(); ++i)
    if (!cores_[i].threads.empty()) push_turn(static_cast<int>(i));
  while (!turns_.empty()) {
    std::pop_heap(turns_.begin(), turns_.end(),
                  [](auto& a, auto& b) { return a.is_behind(b); });
    core_number_ = turns_.back().core;
    turns_.pop_back();
    core_ = &cores_[static_cast<std::size_t>(core_number_)];
    if (core_->now - started_ > most_) give_up();
    Fiber* thread = core_->threads.front();
    thread->resume();
    // The rest of a thread's work counts, and the lines of its last stores,
    // though nothing of it waits for them any more.
    if (thread->done()) {
      core_->threads.erase(
          std::find(core_->threads.begin(), core_->threads.end(), thread));
      settle();
      core_->slice_start = core_->now;
      ended_ = std::max({ended_, core_->now, core_->stores_end});
    }
    if (!core_->threads.empty()) push_turn(core_number_);
  }
}

void Simulation::push_turn(int core) {
  turns_.push_back({cores_[static_cast<std::size_t>(core)].now, core});
  std::push_heap(turns_.begin(), turns_.end(),
                 [](auto& a, auto& b) { return a.is_behind(b); });
}

void Simulation::give_up() {
  // This core's turn has left the heap, so its threads are counted apart.
  std::size_t unfinished = core_->threads.size();
  for (const Turn& turn : turns_)
    unfinished += cores_[static_cast<std::size_t>(turn.core)].threads.size();
  // A run after this one must not begin in its past.
  ended_ = core_->now;
  throw Error(ErrorCode::kExhausted, "Simulation",
              "{} threads have not ended after {} ns", unfinished,
              nanoseconds_of(most_))
      .hint("they may wait for each other; if not, raise most_ns");
}

// Steps happen in the order of virtual time.
// While a core stays the earliest it goes on without a switch of stacks, which
// is what keeps most accesses cheap.
void Simulation::wait_for_turn() {
  if (turns_.empty() ||
      !Turn{core_->now, core_number_}.is_behind(turns_.front()))
    return;
  core_->threads.front()->suspend();
}

void Simulation::spend(Time cost) {
  core_->now += cost;
  core_->work_end = std::max(core_->work_end, core_->now);
}

// What follows needs no result of the computing that has not ended.
void Simulation::ask_ahead() {
  if (core_->work_end > costs_.ahead)
    core_->now = std::max(core_->now, core_->work_end - costs_.ahead);
}

// What follows needs what relaxed loads have asked for.
void Simulation::await_loads() {
  core_->now = std::max(core_->now, core_->loads_end);
}

// What follows needs all that came before, except that stores have their lines.
void Simulation::settle() {
  await_loads();
  core_->now = std::max(core_->now, core_->work_end);
}

void Simulation::next_thread() {
  settle();
  // The front is another thread once they are rotated.
  Fiber* left = core_->threads.front();
  std::rotate(core_->threads.begin(), core_->threads.begin() + 1,
              core_->threads.end());
  spend(costs_.change);
  core_->slice_start = core_->now;
  ++switches_;
  left->suspend();
}

void Simulation::before(const Operation& operation) noexcept {
  using Kind = Operation::Kind;
  WEFT_CHECK(operation.kind != Kind::kTransaction,
             "what a transaction in hardware costs is not known");
  // A quantum ends at the first access after its time: nothing else is seen
  // here.
  if (core_->threads.size() > 1 &&
      std::max(core_->now, core_->work_end) - core_->slice_start >
          costs_.quantum)
    next_thread();
  if (operation.kind == Kind::kFence) {
    settle();
    // Such a fence waits until the store buffer is empty.
    if (operation.order == std::memory_order_seq_cst)
      spend(std::max(costs_.atomic,
                     std::max(core_->now, core_->stores_end) - core_->now));
    return;
  }
  const bool is_load =
      operation.kind == Kind::kLoad || operation.kind == Kind::kPlainRead;
  if (is_load && operation.order != std::memory_order_relaxed) settle();
  // What is written may depend on what was loaded.
  if (!is_load) await_loads();
  ask_ahead();
  const auto address = reinterpret_cast<std::uintptr_t>(operation.address);
  const std::uintptr_t last =
      (address + operation.bytes - 1) / CacheLines::kBytes;
  for (std::uintptr_t line = address / CacheLines::kBytes; line <= last; ++line)
    access(lines_.find(line), operation);
}

void Simulation::access(std::uint32_t line, const Operation& operation) {
  using Kind = Operation::Kind;
  ++accesses_;
  wait_for_turn();
  if (operation.kind == Kind::kLoad || operation.kind == Kind::kPlainRead)
    return read(line, operation.order == std::memory_order_relaxed);
  // The store buffer takes what need not be sequentially consistent.
  const bool is_buffered = operation.kind == Kind::kPlainWrite ||
                           (operation.kind == Kind::kStore &&
                            operation.order != std::memory_order_seq_cst);
  is_buffered ? store(line) : update(line);
}

void Simulation::read(std::uint32_t line, bool is_overlapped) {
  if (!lines_[line].is_readable_by(core_number_)) {
    // From one that may write it, the line must be fetched in turn; of what all
    // may read, many cores can fetch copies at once.
    const Time arrival =
        lines_[line].owner != CoherentLine::kNobody
            ? fetch(line, core_->now, costs_.load, !is_overlapped)
            : core_->now + costs_.transfer;
    // fetch() lets other cores run, whose new lines may move the table: the
    // reference is taken only now.
    CoherentLine& fetched = lines_[line];
    ++fetched.transfers;
    if (fetched.holders.none() || (fetched.is_dirty && costs_.migrates))
      fetched.give_to(core_number_);
    else
      fetched.share_with(core_number_);
    if (is_overlapped)
      core_->loads_end = std::max(core_->loads_end, arrival);
    else
      core_->now = arrival;
  }
  spend(costs_.load);
}

// The line comes when it comes; the store buffer waits for it, and computing
// goes on.
void Simulation::store(std::uint32_t line) {
  if (!still_owns(line, core_->work_end)) {
    core_->work_end = std::max(core_->work_end, core_->now + costs_.load);
    const Time begin = fetch(line, core_->work_end, costs_.load, false);
    ++lines_[line].transfers;
    lines_[line].give_to(core_number_);
    core_->stores_end = std::max(core_->stores_end, begin);
  }
  lines_[line].is_dirty = true;
  core_->now += costs_.load;
}

void Simulation::update(std::uint32_t line) {
  // An atomic update empties the store buffer first.
  const Time all_before = std::max(core_->work_end, core_->stores_end);
  if (!still_owns(line, all_before)) {
    core_->now = fetch(line, all_before, costs_.atomic, true);
    ++lines_[line].transfers;
    lines_[line].give_to(core_number_);
  }
  lines_[line].is_dirty = true;
  spend(costs_.atomic);
}

// A line that the core could write now must wait until all before is done, and
// meanwhile another core may take it.
bool Simulation::still_owns(std::uint32_t line, Time all_before) {
  if (lines_[line].owner != core_number_) return false;
  core_->now = std::max(core_->now, all_before);
  wait_for_turn();
  return lines_[line].owner == core_number_;
}

// Takes the next place in the queue of those who want the line, for an access
// of that cost that is not done before some time, and returns when it begins.
// The request must reach the line first; that time overlaps with waiting for
// it. Until the line leaves, the one that has it goes on using it. A core that
// does not stall goes on while its request is under way.
Simulation::Time Simulation::fetch(std::uint32_t line, Time not_before,
                                   Time cost, bool stalls) {
  CoherentLine& wanted = lines_[line];
  const Time asked = core_->now;
  const Time arrival =
      std::max(asked + costs_.transfer, wanted.free_at + costs_.handover);
  const Time begin = std::max(arrival, not_before);
  wanted.waited += arrival - asked - costs_.transfer;
  core_->now =
      stalls ? arrival - costs_.handover : std::max(asked, wanted.free_at);
  // The next in the queue gets the line when this access is done and the tenure
  // over.
  // The place is taken before the turn is given up, so that those who ask
  // meanwhile queue behind it.
  wanted.free_at = begin + cost + costs_.tenure;
  wait_for_turn();
  return begin;
}

void Simulation::pause() noexcept {
  settle();
  spend(costs_.pause);
}

void Simulation::yield() noexcept {
  settle();
  if (core_->threads.size() > 1) return next_thread();
  spend(costs_.yield);
}

std::uint64_t Simulation::nanoseconds() noexcept {
  settle();
  spend(costs_.clock);
  return core_->now / static_cast<std::uint64_t>(kPerNanosecond);
}

void Simulation::compute(std::uint64_t nanoseconds) noexcept {
  // Computing needs what was loaded, and not that stores have their lines.
  core_->work_end = std::max(core_->work_end, core_->loads_end) +
                    nanoseconds * static_cast<std::uint64_t>(kPerNanosecond);
}

double Simulation::elapsed_ns() const {
  return nanoseconds_of(ended_ - started_);
}

Simulation::Statistics Simulation::statistics() const {
  Statistics result{.accesses = accesses_, .switches = switches_};
  for (const CoherentLine& line : lines_.all()) {
    result.transfers += line.transfers;
    result.waited_ns += nanoseconds_of(line.waited);
  }
  return result;
}

std::vector<Simulation::Line> Simulation::busiest_lines(
    std::size_t most) const {
  std::vector<const CoherentLine*> lines;
  for (const CoherentLine& line : lines_.all()) lines.push_back(&line);
  most = std::min(most, lines.size());
  std::partial_sort(
      lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(most),
      lines.end(), [](auto* a, auto* b) {
        // Waiting is what a line costs; transfers alone may all be hidden.
        return a->waited != b->waited ? a->waited > b->waited
                                      : a->transfers > b->transfers;
      });
  std::vector<Line> result;
  for (std::size_t i = 0; i < most; ++i)
    result.push_back({.address = reinterpret_cast<const void*>(
                          lines[i]->number * CacheLines::kBytes),
                      .transfers = lines[i]->transfers,
                      .waited_ns = nanoseconds_of(lines[i]->waited)});
  return result;
}

}  // namespace weft::concurrent
