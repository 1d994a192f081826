#include "weft/comm/transport/thread.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "weft/base/philox.h"
#include "weft/comm/codec/bytes.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// How long a poll spins before it sleeps: a thread that sleeps takes tens of
// microseconds to wake. Less where ranks share cores.
constexpr std::chrono::microseconds kSpin{50};
constexpr std::chrono::microseconds kSharedSpin{1};

struct Packet {
  Bytes bytes;
  Clock::time_point due;
};

// A transfer that is over, until its rank's thread learns of it.
struct Outcome {
  Transfer* transfer = nullptr;
  std::size_t bytes = 0;
  std::optional<Error> failure;
};

}  // namespace

struct ThreadWorld::State {
  class Endpoint;

  explicit State(ThreadWorldOptions o) : options(std::move(o)) {}

  Endpoint& endpoint(int rank) const {
    return *endpoints[static_cast<std::size_t>(rank)];
  }
  // Only the first failure is a cause; the others are what it leads to.
  void fail_first(int rank) {
    // Several ranks may fail at once, and only one exchange succeeds.
    int none = -1;
    first_failed.compare_exchange_strong(none, rank);
  }

  ThreadWorldOptions options;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  Clock::time_point started = Clock::now();
  std::atomic<int> first_failed = -1;
};

// Everything below the mutex is shared with the threads that send here.
class ThreadWorld::State::Endpoint : public Transport {
 public:
  Endpoint(State& world, int rank, int size)
      : world_(world), rank_(rank), size_(size) {
    gone_.resize(static_cast<std::size_t>(size));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string_view name() const override { return "thread"; }
  bool shares_memory() const override { return true; }
  double now() const override {
    return std::chrono::duration<double>(Clock::now() - world_.started).count();
  }
  const std::string& host(int rank) const override {
    static const std::string here = "this machine";
    const auto& hosts = world_.options.hosts;
    return hosts.empty() ? here : hosts[static_cast<std::size_t>(rank)];
  }

  bool poll(double seconds) override {
    std::vector<Outcome> outcomes;
    // Spinning is done without the lock, which senders need.
    if (seconds > 0) spin();
    {
      std::unique_lock lock(mutex_);
      const auto end =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(seconds));
      // Messages may have become due since the last poll.
      match_due();
      while (seconds > 0 && outcomes_.empty() && incoming_.empty() &&
             !is_woken_) {
        // A message that becomes due wakes nobody by itself.
        const auto until = std::min(end, next_due());
        if (changed_.wait_until(lock, until) == std::cv_status::timeout &&
            Clock::now() >= end) {
          break;
        }
        match_due();
      }
      match_due();
      is_woken_ = false;
      has_news_.store(false, std::memory_order_relaxed);
      // What is under the lock is only taken over; the transfers and their
      // lists belong to this rank's thread, which settles them without it.
      outcomes.swap(outcomes_);
      for (Notice& notice : incoming_) notice_came(std::move(notice));
      incoming_.clear();
    }
    for (Outcome& outcome : outcomes) settle(outcome);
    return !outcomes.empty();
  }

  void wake() override {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
    tell();
  }

  void send_notice(int to, const Notice& notice) noexcept override {
    if (notice.kind == Notice::Kind::kFailure) world_.fail_first(rank_);
    world_.endpoint(to).take(notice);
  }

  // --- Called by other ranks' threads -----------------------------------

  void take(const Notice& notice) {
    const std::lock_guard lock(mutex_);
    incoming_.push_back(notice);
    tell();
  }

  void deliver(int from, Tag tag, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    Flow& flow = flows_[flow_of(from, tag)];
    // With delays, what comes must wait even where a receive is open; else it
    // goes straight to its place, and is copied once.
    if (world_.options.most_delay == 0 && !flow.waiting.empty()) {
      // Packets of this flow that are still here would have been matched.
      Transfer* transfer = flow.waiting.front();
      flow.waiting.pop_front();
      outcomes_.push_back(copy(*transfer, bytes));
      forget_if_empty(flow_of(from, tag));
    } else {
      // No packet is due before the one ahead of it, so the order of a flow
      // holds whatever the delays.
      const auto due = flow.packets.empty()
                           ? due_now(from)
                           : std::max(flow.packets.back().due, due_now(from));
      flow.packets.push_back({Bytes(bytes.begin(), bytes.end()), due});
    }
    tell();
  }

  void peer_left(int peer, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    auto& gone = gone_[static_cast<std::size_t>(peer)];
    if (gone) return;
    // It is remembered for receives that begin later.
    gone = reason;
    for (auto& [key, flow] : flows_) {
      if (key >> 32 != static_cast<std::uint64_t>(peer)) continue;
      // What it sent before still arrives.
      // The youngest receives are those for which nothing is left.
      while (flow.waiting.size() > flow.packets.size()) {
        outcomes_.push_back({flow.waiting.back(), 0, left(peer)});
        flow.waiting.pop_back();
      }
    }
    tell();
  }

 protected:
  void start(Transfer& transfer) override {
    const auto& route = transfer.route();
    if (transfer.kind() == Transfer::Kind::kSend) {
      // Death comes between two messages, as that of a process may: what was
      // sent before arrives, and this does not.
      if (is_killed_now()) {
        die(transfer);
        return;
      }
      world_.endpoint(route.peer)
          .deliver(rank_, route.tag, {transfer.data(), transfer.bytes()});
      // Delivered means copied, so the sender's buffer is free again.
      finish(transfer, transfer.bytes());
      return;
    }
    std::optional<Outcome> outcome;
    {
      const std::lock_guard lock(mutex_);
      Flow& flow = flows_[flow_of(route.peer, route.tag)];
      flow.waiting.push_back(&transfer);
      match(flow);
      const auto peer = static_cast<std::size_t>(route.peer);
      // The rank is gone, and older receives will take all that it sent before.
      if (gone_[peer] && flow.waiting.size() > flow.packets.size()) {
        flow.waiting.pop_back();
        outcomes_.push_back({&transfer, 0, left(route.peer)});
      }
      forget_if_empty(flow_of(route.peer, route.tag));
      // Known at once if it was the only one.
      if (outcomes_.size() == 1 && outcomes_[0].transfer == &transfer) {
        outcome = std::move(outcomes_[0]);
        outcomes_.clear();
      }
      if (!outcomes_.empty()) has_news_.store(true, std::memory_order_relaxed);
    }
    if (outcome) settle(*outcome);
  }

  void abandon(Transfer& transfer) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto& route = transfer.route();
    // A send is over as it starts, and waits nowhere.
    if (transfer.kind() == Transfer::Kind::kReceive) {
      std::erase(flows_[flow_of(route.peer, route.tag)].waiting, &transfer);
      forget_if_empty(flow_of(route.peer, route.tag));
    }
    // It may be over already and only wait to be settled, which would touch
    // what is gone.
    std::erase_if(outcomes_,
                  [&](const Outcome& o) { return o.transfer == &transfer; });
  }

 private:
  // Something has changed, for which a poll may wait. The caller has the lock.
  void tell() {
    has_news_.store(true, std::memory_order_relaxed);
    changed_.notify_one();
  }

  void spin() const {
    const bool shares_cores =
        static_cast<unsigned>(size_) > std::thread::hardware_concurrency();
    const auto end = Clock::now() + (shares_cores ? kSharedSpin : kSpin);
    // A hint alone: what has come is read under the lock, which orders it.
    while (!has_news_.load(std::memory_order_relaxed) && Clock::now() < end) {
      std::this_thread::yield();
    }
  }

  // Messages of one sender and tag, and those that wait for them.
  struct Flow {
    bool is_empty() const { return packets.empty() && waiting.empty(); }
    std::deque<Packet> packets;
    std::deque<Transfer*> waiting;
  };

  static Outcome copy(Transfer& transfer, std::span<const std::byte> bytes) {
    if (bytes.size() > transfer.bytes()) {
      return {&transfer, 0, too_long(transfer, bytes.size())};
    }
    if (!bytes.empty()) {
      std::memcpy(transfer.data(), bytes.data(), bytes.size());
    }
    return {&transfer, bytes.size(), std::nullopt};
  }

  Error left(int peer) const {
    return Error(ErrorCode::kUnavailable, fmt::format("rank {}", peer),
                 *gone_[static_cast<std::size_t>(peer)]);
  }

  void settle(Outcome& outcome) {
    if (outcome.failure) {
      fail(*outcome.transfer, std::move(*outcome.failure));
    } else {
      finish(*outcome.transfer, outcome.bytes);
    }
  }

  bool is_killed_now() {
    const auto& death = world_.options.death;
    // Sends are counted, so that a test can have a rank die at a chosen point.
    return rank_ == death.rank && ++sends_ >= death.sends;
  }

  void die(Transfer& transfer) {
    world_.fail_first(rank_);
    // Nobody can ask a dead rank, so the world tells the others, as a closed
    // connection would.
    for (const auto& endpoint : world_.endpoints) {
      endpoint->peer_left(rank_, "killed");
    }
    fail(transfer, Error(ErrorCode::kUnavailable, fmt::format("rank {}", rank_),
                         "killed"));
  }

  Clock::time_point due_now(int from) {
    const double most = world_.options.most_delay;
    if (most == 0) return Clock::time_point::min();
    const RandomStream random{world_.options.seed,
                              static_cast<std::uint32_t>(rank_),
                              static_cast<std::uint32_t>(from)};
    // Delays depend on the seed and the order of arrival alone.
    const double delay = most * uniform_from(random.word(delays_++));
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(delay));
  }

  void match(Flow& flow) {
    while (!flow.waiting.empty() && !flow.packets.empty() &&
           flow.packets.front().due <= Clock::now()) {
      outcomes_.push_back(
          copy(*flow.waiting.front(), flow.packets.front().bytes));
      flow.waiting.pop_front();
      flow.packets.pop_front();
    }
  }

  void match_due() {
    if (world_.options.most_delay == 0) return;  // matched on arrival
    for (auto& [key, flow] : flows_) match(flow);
  }

  // Tags are many, and operations that are over must take no memory.
  void forget_if_empty(std::uint64_t key) {
    const auto flow = flows_.find(key);
    if (flow->second.is_empty()) flows_.erase(flow);
  }

  Clock::time_point next_due() const {
    auto first = Clock::time_point::max();
    if (world_.options.most_delay == 0) return first;
    for (const auto& [key, flow] : flows_) {
      if (flow.waiting.empty() || flow.packets.empty()) continue;
      first = std::min(first, flow.packets.front().due);
    }
    return first;
  }

  State& world_;
  const int rank_;
  const int size_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> has_news_ = false;  // for a look without the lock
  std::unordered_map<std::uint64_t, Flow> flows_;
  std::vector<Outcome> outcomes_;
  std::vector<Notice> incoming_;
  std::vector<std::optional<std::string>> gone_;  // why, per rank
  std::uint64_t delays_ = 0;
  std::uint64_t sends_ = 0;  // of this rank's thread
  bool is_woken_ = false;
};

ThreadWorld::ThreadWorld(int size, ThreadWorldOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  WEFT_CHECK(size > 0);
  WEFT_CHECK(state_->options.hosts.empty() ||
             state_->options.hosts.size() == static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    state_->endpoints.push_back(
        std::make_unique<State::Endpoint>(*state_, rank, size));
  }
}

ThreadWorld::~ThreadWorld() = default;

Transport& ThreadWorld::endpoint(int rank) { return state_->endpoint(rank); }

void ThreadWorld::leave(int rank, const std::string& reason) {
  state_->fail_first(rank);
  for (const auto& endpoint : state_->endpoints) {
    endpoint->peer_left(rank, reason);
  }
}

void ThreadWorld::run(const std::function<void(Transport&)>& body) {
  std::vector<std::exception_ptr> failures(state_->endpoints.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        body(*state_->endpoints[i]);
      } catch (const std::exception& error) {
        failures[i] = std::current_exception();
        // The others would wait for what it never sends.
        leave(static_cast<int>(i), error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Ranks that failed because of another one threw as well; the cause is worth
  // more than they are.
  const int first = state_->first_failed;
  if (first >= 0 && failures[static_cast<std::size_t>(first)]) {
    std::rethrow_exception(failures[static_cast<std::size_t>(first)]);
  }
  // The first rank to fail may have failed without throwing, as one that was
  // killed.
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace weft
