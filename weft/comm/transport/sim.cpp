#include "weft/comm/transport/sim.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

#include "weft/base/philox.h"
#include "weft/comm/codec/bytes.h"

namespace weft {
namespace {

constexpr int kMostNamed = 16;  // ranks in the text of a deadlock

// Lives from the moment it is sent until its receiver has it.
struct Message {
  int from = 0;
  int to = 0;
  Tag tag = 0;
  int priority = 0;
  std::size_t size = 0;
  Bytes bytes = {};            // empty where payload is not carried
  Transfer* sender = nullptr;  // until the send is over
  int halves = 0;              // under way, on the way out and the way in
  bool is_held_back = false;   // by a random delay
  bool has_arrived = false;
};

// What a job of the simulator is for: one of these.
struct Errand {
  Message* message = nullptr;  // on its way out or in
  bool is_way_out = false;
  std::coroutine_handle<> paused = {};
  std::unique_ptr<Notice> notice = nullptr;
  int rank = 0;  // to whom
};

}  // namespace

struct SimWorld::State {
  class Endpoint;

  State(Topology t, SimWorldOptions o);

  Endpoint& endpoint(int rank) const {
    return *endpoints[static_cast<std::size_t>(rank)];
  }
  Simulator::ResourceId card_out(int level, int rank) const {
    return first_card[static_cast<std::size_t>(level)] +
           2 * topology.unit_of(rank, level);
  }

  Simulator::JobId do_errand(const Simulator::Job& job, Errand errand);
  void transmit(Message& message, double release);
  // Goes to the next event and what it lets run, but not to tasks of
  // `not_resumed`. False when nothing is under way.
  bool step(int not_resumed);
  void end(Errand errand, int not_resumed);
  void come_through(Message& message);
  bool is_lost();

  Task<> accompany(const std::function<Task<>(Transport&)>& body, int rank);
  void fail_everyone();
  Error deadlock() const;

  const Topology topology;
  const SimWorldOptions options;
  const RandomStream random{options.seed};
  std::uint64_t drawn = 0;
  Simulator simulator;
  std::vector<Simulator::ResourceId> first_card;  // by level
  std::vector<Simulator::ResourceId> processor;   // by rank
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<Errand> errands;  // by job
  int running = 0;              // tasks of run()
  std::exception_ptr failure;   // of the first that failed
  std::optional<Error> told;    // what the others are told about it
};

class SimWorld::State::Endpoint : public Transport {
 public:
  Endpoint(State& world, int rank)
      : world_(world), rank_(rank), traffic_(world.topology.levels.size()) {}

  int rank() const override { return rank_; }
  int size() const override { return world_.topology.ranks(); }
  std::string_view name() const override { return "sim"; }
  double now() const override { return world_.simulator.now(); }
  bool carries_payload() const override {
    return world_.options.carries_payload;
  }
  bool is_simulated() const override { return true; }
  // Level 0 is inside of machines, unless it is all there is.
  const std::string& host(int rank) const override {
    const auto& levels = world_.topology.levels;
    const int machine = levels.size() == 1 ? rank : rank / levels[0].size;
    return world_.endpoint(machine).own_name_;
  }

  bool poll(double seconds) override {
    WEFT_CHECK(world_.running == 0, "tasks of a simulated world never poll");
    const double until = now() + seconds;
    while (!has_news_ && !is_woken_.exchange(false)) {
      if (world_.simulator.next_time() > until) {
        world_.simulator.advance_to(until);
        break;
      }
      // The engine that polls resumes its own tasks, after it has read the
      // notices; tasks of other ranks go on at once.
      world_.step(rank_);
    }
    return std::exchange(has_news_, false);
  }
  void wake() override { is_woken_ = true; }

  void send_notice(int to, const Notice& notice) noexcept override {
    Notice copy = notice;
    copy.text.resize(std::min(copy.text.size(), kMostNoticeBytes));
    const int level = world_.topology.level_between(rank_, to);
    const double latency =
        level < 0
            ? 0
            : world_.topology.levels[static_cast<std::size_t>(level)].latency;
    world_.do_errand(
        {.seconds = latency, .release = now()},
        {.notice = std::make_unique<Notice>(std::move(copy)), .rank = to});
  }  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the errand owns it

  // --- What the world brings ----------------------------------------------

  void sent(Transfer& transfer) { over(transfer, transfer.bytes()); }
  void arrived(Message& message) {
    message.has_arrived = true;
    match(flow_of(message.from, message.tag));
  }
  void told(Notice notice) {
    notice_came(std::move(notice));
    has_news_ = true;
  }
  void resume(std::coroutine_handle<> paused) {
    resume_later(paused);
    has_news_ = true;
  }

  std::span<const SimTraffic> traffic() const { return traffic_; }
  void count_loss(int level) {
    ++traffic_[static_cast<std::size_t>(level)].lost;
  }

 protected:
  void start(Transfer& transfer) override {
    // After a failure nothing new begins, so that all tasks come to their ends.
    if (world_.told) {
      fail(transfer, *world_.told);
      return;
    }
    const auto& route = transfer.route();
    if (transfer.kind() == Transfer::Kind::kReceive) {
      const std::uint64_t key = flow_of(route.peer, route.tag);
      flows_[key].waiting.push_back(&transfer);
      match(key);
      return;
    }
    Endpoint& peer = world_.endpoint(route.peer);
    Message& message =
        // It waits at the receiver from the beginning, which keeps the order of
        // sending. A deque and a map keep the addresses of their elements, and
        // errands and the sender hold this one.
        peer.flows_[flow_of(rank_, route.tag)].messages.emplace_back();
    message = {.from = rank_,
               .to = route.peer,
               .tag = route.tag,
               .priority = route.priority,
               .size = transfer.bytes(),
               .sender = &transfer};
    if (carries_payload()) {
      // A send is over before its message arrives, and its buffer may then
      // change.
      message.bytes.assign(transfer.data(), transfer.data() + message.size);
    }
    transfer.cookie = reinterpret_cast<std::uintptr_t>(&message);
    const int level = world_.topology.level_between(rank_, route.peer);
    // A message to oneself crosses no fabric.
    if (level >= 0) {
      SimTraffic& sent = traffic_[static_cast<std::size_t>(level)];
      ++sent.messages;
      sent.bytes += static_cast<std::int64_t>(message.size);
    }
    world_.transmit(message, now());
  }

  void abandon(Transfer& transfer) noexcept override {
    if (transfer.kind() == Transfer::Kind::kSend) {
      // A send that is not over has its message still.
      reinterpret_cast<Message*>(transfer.cookie)->sender = nullptr;
      return;
    }
    const auto flow =
        flows_.find(flow_of(transfer.route().peer, transfer.route().tag));
    std::erase(flow->second.waiting, &transfer);
    if (flow->second.is_empty()) flows_.erase(flow);
  }

  void start_pause(double seconds, std::coroutine_handle<> waiting) override {
    const auto processor = world_.processor[static_cast<std::size_t>(rank_)];
    world_.do_errand({.resources = {processor},
                      .seconds = seconds / world_.options.compute_speed,
                      .release = now()},
                     {.paused = waiting, .rank = rank_});
  }

 private:
  // Messages of one sender and tag in the order in which they were sent, and
  // the transfers that wait for them.
  struct Flow {
    std::deque<Message> messages;
    std::deque<Transfer*> waiting;
    bool is_empty() const { return messages.empty() && waiting.empty(); }
  };

  void match(std::uint64_t key) {
    const auto found = flows_.find(key);
    Flow& flow = found->second;
    while (!flow.waiting.empty() && !flow.messages.empty() &&
           // A message that has overtaken one of its own flow waits for it.
           flow.messages.front().has_arrived) {
      receive(*flow.waiting.front(), flow.messages.front());
      flow.waiting.pop_front();
      flow.messages.pop_front();
    }
    // Tags are many, and operations that are over must take no memory.
    if (flow.is_empty()) flows_.erase(found);
  }

  void receive(Transfer& transfer, const Message& message) {
    if (message.size > transfer.bytes()) {
      fail(transfer, too_long(transfer, message.size));
      has_news_ = true;
      return;
    }
    if (!message.bytes.empty()) {
      std::memcpy(transfer.data(), message.bytes.data(), message.size);
    }
    over(transfer, message.size);
  }

  void over(Transfer& transfer, std::size_t bytes) {
    finish(transfer, bytes);
    has_news_ = true;
  }

  State& world_;
  const int rank_;
  const std::string own_name_ = fmt::format("machine {}", rank_);
  std::unordered_map<std::uint64_t, Flow> flows_;
  std::vector<SimTraffic> traffic_;  // by level
  bool has_news_ = false;            // since the last poll()
  std::atomic<bool> is_woken_ = false;
};

SimWorld::State::State(Topology t, SimWorldOptions o)
    : topology(std::move(t)), options(o) {
  WEFT_CHECK(options.compute_speed > 0);
  WEFT_CHECK(options.loss >= 0 && options.loss < 1);
  const int ranks = topology.ranks();
  int units = ranks;
  for (const Level& level : topology.levels) {
    first_card.push_back(simulator.resources());
    const Simulator::Resource card = {
        .rate = 1 / level.seconds_per_byte,
        .latency = level.latency,
        .queueing = options.queueing,
        // A network that takes no time would have slices of none, which the
        // simulator refuses.
        .slice = std::max(options.slice_bytes * level.seconds_per_byte,
                          std::numeric_limits<double>::min())};
    for (int unit = 0; unit < units; ++unit) {
      // Each card has a way out and, by the next number, a way in.
      simulator.add_resource(card);
      simulator.add_resource(card);
    }
    // A card of a level belongs to a unit of the level inside, whose ranks
    // share it.
    units /= level.size;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    // Pauses of a rank take turns on its processor.
    processor.push_back(simulator.add_resource({}));
    endpoints.push_back(std::make_unique<Endpoint>(*this, rank));
  }
}

Simulator::JobId SimWorld::State::do_errand(const Simulator::Job& job,
                                            Errand errand) {
  const Simulator::JobId id = simulator.add_job(job);
  const auto number = static_cast<std::size_t>(id);
  if (number >= errands.size()) errands.resize(number + 1);
  errands[number] = std::move(errand);
  return id;
}

void SimWorld::State::transmit(Message& message, double release) {
  Simulator::Job job{
      .priority = message.priority, .release = release, .flow = message.from};
  const int level = topology.level_between(message.from, message.to);
  message.halves = 1;
  if (level < 0) {
    do_errand(job,
              {.message = &message, .is_way_out = true, .rank = message.to});
    return;
  }
  job.bytes = static_cast<double>(message.size);
  job.resources = {card_out(level, message.from)};
  const auto out = do_errand(
      job, {.message = &message, .is_way_out = true, .rank = message.to});
  job.resources = {card_out(level, message.to) + 1};
  const auto in = do_errand(job, {.message = &message, .rank = message.to});
  // Cut-through: the way in may begin as soon as the first byte has left.
  simulator.add_start_dependency(out, in);
  message.halves = 2;
}

bool SimWorld::State::step(int not_resumed) {
  const auto event = simulator.step();
  if (!event) return false;
  Errand& errand = errands[static_cast<std::size_t>(event->job)];
  if (event->kind == Simulator::Event::Kind::kEnded) {
    // The errand is taken out and the number freed first: what it lets run adds
    // jobs, which may move `errands` and take this very number.
    Errand ended = std::exchange(errand, {});
    simulator.forget(event->job);
    end(std::move(ended), not_resumed);
  } else if (errand.is_way_out && errand.message->sender != nullptr) {
    // The last byte has left the card: the send is over.
    Transfer& transfer = *std::exchange(errand.message->sender, nullptr);
    Endpoint& sender = endpoint(errand.message->from);
    sender.sent(transfer);
    if (sender.rank() != not_resumed) sender.resume_ready();
  }
  return true;
}

void SimWorld::State::end(Errand errand, int not_resumed) {
  Endpoint& receiver = endpoint(errand.rank);
  if (errand.paused) {
    receiver.resume(errand.paused);
  } else if (errand.notice != nullptr) {
    receiver.told(std::move(*errand.notice));
  } else if (--errand.message->halves == 0) {
    come_through(*errand.message);
  }
  if (receiver.rank() != not_resumed) receiver.resume_ready();
}

void SimWorld::State::come_through(Message& message) {
  Endpoint& receiver = endpoint(message.to);
  // What is held back has come through already and is only late.
  if (!message.is_held_back && is_lost()) {
    const int level = topology.level_between(message.from, message.to);
    if (level >= 0) endpoint(message.from).count_loss(level);
    // A repetition takes its turn on both cards again.
    transmit(message, simulator.now() + options.retransmit_after);
  } else if (!message.is_held_back && options.most_delay > 0) {
    message.is_held_back = true;
    message.halves = 1;
    const double delay =
        options.most_delay * uniform_from(random.word(drawn++));
    do_errand({.seconds = delay, .release = simulator.now()},
              {.message = &message, .rank = message.to});
  } else {
    receiver.arrived(message);
  }
}

bool SimWorld::State::is_lost() {
  return options.loss > 0 && uniform_from(random.word(drawn++)) < options.loss;
}

Task<> SimWorld::State::accompany(const std::function<Task<>(Transport&)>& body,
                                  int rank) {
  try {
    co_await body(endpoint(rank));
  } catch (const std::exception& error) {
    // What others throw afterwards follows from this.
    if (!failure) {
      failure = std::current_exception();
      told = Error(ErrorCode::kUnavailable, fmt::format("rank {}", rank),
                   std::string(error.what()));
    }
  }
  --running;
}

void SimWorld::State::fail_everyone() {
  for (const auto& endpoint : endpoints) {
    endpoint->fail_all(*told);
    endpoint->resume_ready();
  }
}

Error SimWorld::State::deadlock() const {
  Error error(ErrorCode::kUnavailable, "communication",
              "{} of {} ranks wait for ever: nothing is under way", running,
              topology.ranks());
  int named = 0;
  for (const auto& endpoint : endpoints) {
    const Transfer* transfer = endpoint->oldest();
    if (transfer == nullptr || named++ >= kMostNamed) continue;
    error.detail(
        fmt::format("rank {}: {}", endpoint->rank(), describe(*transfer)));
    const LedgerEntry& mine = transfer->operation();
    const int peer = transfer->route().peer;
    // All ledgers are at hand here, so no rank needs to be asked.
    const std::string* theirs =
        this->endpoint(peer).ledger().find(mine.context, mine.number);
    if (theirs != nullptr && *theirs != mine.text) {
      error.detail(fmt::format("  rank {} entered instead: {}", peer, *theirs));
    }
  }
  if (named > kMostNamed) {
    error.detail(fmt::format("and {} more", named - kMostNamed));
  }
  return error;
}

SimWorld::SimWorld(Topology topology, SimWorldOptions options)
    : state_(std::make_unique<State>(std::move(topology), options)) {}

SimWorld::~SimWorld() = default;

Transport& SimWorld::endpoint(int rank) { return state_->endpoint(rank); }

double SimWorld::run(const std::function<Task<>(Transport&)>& body) {
  State& state = *state_;
  state.failure = nullptr;
  state.told.reset();
  const double started = state.simulator.now();
  std::vector<Task<>> tasks;
  state.running = static_cast<int>(state.endpoints.size());
  for (const auto& endpoint : state.endpoints) {
    tasks.push_back(state.accompany(body, endpoint->rank()));
    // Ranks begin in their order, which makes a run depend on the seed alone.
    tasks.back().start();
    endpoint->resume_ready();
  }
  while (state.running > 0) {
    // Whoever waits for a rank that failed would wait for ever.
    if (state.failure) state.fail_everyone();
    if (state.running > 0 && !state.step(-1)) {
      const Error error = state.deadlock();
      state.running = 0;
      throw error;
    }
  }
  if (state.failure) std::rethrow_exception(state.failure);
  return state.simulator.now() - started;
}

std::span<const SimTraffic> SimWorld::traffic(int rank) const {
  return state_->endpoint(rank).traffic();
}

double SimWorld::computing_seconds(int rank) const {
  return state_->simulator.busy_seconds(
      state_->processor[static_cast<std::size_t>(rank)]);
}

}  // namespace weft
