#include "weft/comm/transport/sim_network.h"

#include <algorithm>
#include <cmath>

#include "weft/comm/transport/sim_endpoint.h"

namespace weft {
namespace {

constexpr int kMostNamed = 16;     // ranks in the text of a deadlock
constexpr double kSegment = 1448;  // bytes that TCP sends at once

// What a segment takes on average, by equation 30 of Padhye et al., without a
// bound of the window.
double tcp_segment_seconds(double loss, double round, double timeout) {
  constexpr double kAcknowledged = 2;  // segments by one acknowledgement
  const double congestion = round * std::sqrt(2 * kAcknowledged * loss / 3);
  const double chance =
      std::min(1.0, 3 * std::sqrt(3 * kAcknowledged * loss / 8));
  return congestion + timeout * chance * loss * (1 + 32 * loss * loss);
}

}  // namespace

SimNetwork::SimNetwork(Topology topology, SimWorldOptions options)
    : topology_(std::move(topology)), options_(options) {
  WEFT_CHECK(options_.compute_speed > 0);
  WEFT_CHECK(options_.loss >= 0 && options_.loss < 1);
  WEFT_CHECK(options_.burst_bytes >= 0);
  const int ranks = topology_.ranks();
  int units = ranks;
  for (const Level& level : topology_.levels) {
    first_card_.push_back(simulator_.resources());
    const Simulator::Resource card = {
        .rate = 1 / level.seconds_per_byte,
        .latency = level.latency,
        .queueing = options_.queueing,
        // A network that takes no time would have slices of none, which the
        // simulator refuses.
        .slice = std::max(options_.slice_bytes * level.seconds_per_byte,
                          std::numeric_limits<double>::min())};
    for (int unit = 0; unit < units; ++unit) {
      // Each card has a way out and, by the next number, a way in.
      simulator_.add_resource(card);
      simulator_.add_resource(card);
    }
    // A card of a level belongs to a unit of the level inside, whose ranks
    // share it.
    units /= level.size;
  }
  bucket_full_.resize(static_cast<std::size_t>(simulator_.resources()));
  for (int rank = 0; rank < ranks; ++rank) {
    // Pauses of a rank take turns on its processor.
    processor_.push_back(simulator_.add_resource({}));
    endpoints_.push_back(std::make_unique<SimEndpoint>(*this, rank));
  }
}

SimNetwork::~SimNetwork() = default;

Simulator::JobId SimNetwork::add_errand(const Simulator::Job& job,
                                        SimErrand errand) {
  const Simulator::JobId id = simulator_.add_job(job);
  const auto number = static_cast<std::size_t>(id);
  if (number >= errands_.size()) errands_.resize(number + 1);
  errands_[number] = std::move(errand);
  return id;
}

void SimNetwork::transmit(SimMessage& message, double release) {
  Simulator::Job job{
      .priority = message.priority, .release = release, .flow = message.from};
  const int level = topology_.level_between(message.from, message.to);
  message.halves = 1;
  if (level < 0) {
    add_errand(job,
               {.message = &message, .is_way_out = true, .rank = message.to});
    return;
  }
  job.bytes = bytes_beyond_burst(level, message.from, message.size);
  job.resources = {card_out(level, message.from)};
  const auto out = add_errand(
      job, {.message = &message, .is_way_out = true, .rank = message.to});
  job.resources = {card_out(level, message.to) + 1};
  const auto in = add_errand(job, {.message = &message, .rank = message.to});
  // Cut-through: the way in may begin as soon as the first byte has left.
  simulator_.add_start_dependency(out, in);
  message.halves = 2;
}

// A message that is handed over now takes the card's time for so many bytes.
// Tokens are owed while messages wait, so that each waits for its own.
double SimNetwork::bytes_beyond_burst(int level, int rank, std::size_t bytes) {
  const auto size = static_cast<double>(bytes);
  const double rate = 1 / this->level(level).seconds_per_byte;
  if (options_.burst_bytes == 0 || std::isinf(rate)) return size;
  double& full = bucket_full_[static_cast<std::size_t>(card_out(level, rank))];
  const double missing = std::max(0.0, full - simulator_.now()) * rate;
  full = simulator_.now() + (missing + size) / rate;
  return std::max(0.0, missing + size - options_.burst_bytes) -
         std::max(0.0, missing - options_.burst_bytes);
}

bool SimNetwork::step(int not_resumed) {
  const auto event = simulator_.step();
  if (!event) return false;
  SimErrand& errand = errands_[static_cast<std::size_t>(event->job)];
  if (event->kind == Simulator::Event::Kind::kEnded) {
    // The errand is taken out and the number freed first: what it lets run adds
    // jobs, which may move `errands_` and take this very number.
    SimErrand ended = std::exchange(errand, {});
    simulator_.forget(event->job);
    end(std::move(ended), not_resumed);
  } else if (errand.is_way_out && errand.message->sender != nullptr) {
    // The last byte has left the card: the send is over.
    SimEndpoint& sender = endpoint(errand.message->from);
    sender.sent(*errand.message);
    if (sender.rank() != not_resumed) sender.resume_ready();
  }
  return true;
}

void SimNetwork::end(SimErrand errand, int not_resumed) {
  SimEndpoint& receiver = endpoint(errand.rank);
  if (errand.paused) {
    receiver.resume(errand.paused);
  } else if (errand.alarm != nullptr) {
    receiver.rang(std::move(errand.alarm));
  } else if (errand.notice != nullptr) {
    receiver.told(std::move(*errand.notice));
  } else if (--errand.message->halves == 0) {
    come_through(*errand.message);
  }
  if (receiver.rank() != not_resumed) receiver.resume_ready();
}

void SimNetwork::come_through(SimMessage& message) {
  SimEndpoint& receiver = endpoint(message.to);
  const int level = topology_.level_between(message.from, message.to);
  // What is held back has come through already and is only late; what a rank
  // sends itself crosses nothing.
  if (message.is_held_back || level < 0) {
    receiver.arrived(message);
    return;
  }
  double until = simulator_.now();
  if (message.is_lossy) {
    lose_parts(message);
    // Whoever has not all of it waits for more.
    if (!message.came.is_complete()) until += options_.silence;
  } else if (options_.tcp_timeout > 0) {
    until = tcp_arrival(message);
  } else if (is_lost()) {
    endpoint(message.from).count_loss(level);
    // A repetition takes its turn on both cards again.
    transmit(message, simulator_.now() + options_.retransmit_after);
    return;
  }
  if (options_.most_delay > 0) {
    until += options_.most_delay * uniform_from(random_.word(drawn_++));
  }
  if (!hold_back(message, until)) receiver.arrived(message);
}

bool SimNetwork::hold_back(SimMessage& message, double until) {
  const double seconds = until - simulator_.now();
  if (seconds <= 0) return false;
  message.is_held_back = true;
  message.halves = 1;
  add_errand({.seconds = seconds, .release = simulator_.now()},
             {.message = &message, .rank = message.to});
  return true;
}

void SimNetwork::lose_parts(SimMessage& message) {
  message.came.reset(message.size);
  for (std::size_t part = 0; part < message.came.parts(); ++part) {
    if (!is_lost()) message.came.mark(part);
  }
  const int level = topology_.level_between(message.from, message.to);
  for (std::size_t i = message.came.came(); i < message.came.parts(); ++i) {
    endpoint(message.from).count_loss(level);
  }
}

// Messages of a flow stand in a line in which TCP takes them one by one.
double SimNetwork::tcp_arrival(const SimMessage& message) {
  if (options_.loss == 0) return simulator_.now();
  const Level& fabric =
      level(topology_.level_between(message.from, message.to));
  const double round = 2 * fabric.latency + kSegment * fabric.seconds_per_byte;
  const double segments =
      std::ceil(static_cast<double>(message.size) / kSegment);
  double& until = tcp_until_[{message.from, message.to}];
  until = std::max(until, message.began) +
          segments *
              tcp_segment_seconds(options_.loss, round, options_.tcp_timeout);
  return std::max(until, simulator_.now());
}

bool SimNetwork::is_lost() {
  return options_.loss > 0 &&
         uniform_from(random_.word(drawn_++)) < options_.loss;
}

void SimNetwork::begin() {
  failure_ = nullptr;
  reason_.reset();
  is_told_ = false;
  running_ = ranks();
}

void SimNetwork::fail(int rank, const std::exception_ptr& thrown) {
  leave(rank, thrown);
  is_told_ = true;
}

void SimNetwork::leave(int rank, const std::exception_ptr& thrown) {
  if (failure_) return;
  failure_ = thrown;
  const std::string where = fmt::format("rank {}", rank);
  reason_ = Error(ErrorCode::kUnavailable, where,
                  std::string(error_of(thrown, where).what()));
}

void SimNetwork::finish(const std::function<bool()>& resume_ranks) {
  while (running_ > 0) {
    // Whoever waits for a rank that failed would wait for ever.
    if (is_told_) fail_everyone();
    if (resume_ranks() || running_ == 0 || step(-1)) continue;
    // Those that are left wait for ranks that are gone, or for each other.
    if (!failure_) {
      reason_ = deadlock();
      failure_ = std::make_exception_ptr(*reason_);
    }
    WEFT_CHECK(!is_told_, "a rank waits for nothing");
    is_told_ = true;
    // Tasks are given up with the world; fibers end by what their waits throw.
    if (fibers == nullptr) running_ = 0;
  }
  if (failure_) std::rethrow_exception(failure_);
}

void SimNetwork::fail_everyone() {
  for (const auto& endpoint : endpoints_) {
    endpoint->fail_all(*reason_);
    endpoint->resume_ready();
  }
}

Error SimNetwork::deadlock() const {
  Error error(ErrorCode::kUnavailable, "communication",
              "{} of {} ranks wait for ever: nothing is under way", running_,
              topology_.ranks());
  int named = 0;
  for (const auto& endpoint : endpoints_) {
    const Transfer* transfer = endpoint->oldest();
    if (transfer == nullptr || named++ >= kMostNamed) continue;
    error.detail(
        fmt::format("rank {}: {}", endpoint->rank(), describe(*transfer)));
    const EnteredOperation& mine = transfer->operation();
    const int peer = transfer->route().peer;
    // What others entered is at hand here, so no rank needs to be asked.
    const std::string* theirs =
        this->endpoint(peer).entered().find(mine.context, mine.number);
    if (theirs != nullptr && *theirs != mine.text) {
      error.detail(fmt::format("  rank {} entered instead: {}", peer, *theirs));
    }
  }
  if (named > kMostNamed) {
    error.detail(fmt::format("and {} more", named - kMostNamed));
  }
  return error;
}

}  // namespace weft
