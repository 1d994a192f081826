#include "weft/comm/transport/sim_endpoint.h"

#include <cstring>

#include "weft/comm/transport/sim_ranks.h"

namespace weft {

SimEndpoint::SimEndpoint(SimNetwork& network, int rank)
    : network_(network),
      rank_(rank),
      own_name_(fmt::format("machine {}", rank)),
      traffic_(network.topology().levels.size()) {}

// Level 0 is inside of machines, unless it is all there is.
const std::string& SimEndpoint::host(int rank) const {
  const auto& levels = network_.topology().levels;
  const int machine = levels.size() == 1 ? rank : rank / levels[0].size;
  return network_.endpoint(machine).own_name_;
}

std::unique_ptr<AsyncEngine> SimEndpoint::start_engine(const EngineOptions&) {
  // Silence ends a simulated run without any timeout: as soon as nothing is
  // under way.
  WEFT_CHECK(network_.fibers != nullptr,
             "only ranks that can step aside may wait for an engine");
  return std::make_unique<SimEngine>(network_, *this);
}

bool SimEndpoint::poll(double seconds) {
  WEFT_CHECK(!network_.is_running(), "tasks of a simulated world never poll");
  const double until = now() + seconds;
  while (!has_news_ && !is_woken_.exchange(false)) {
    if (network_.simulator().next_time() > until) {
      network_.simulator().advance_to(until);
      break;
    }
    // The engine that polls resumes its own tasks, after it has read the
    // notices; tasks of other ranks go on at once.
    network_.step(rank_);
  }
  return std::exchange(has_news_, false);
}

void SimEndpoint::send_notice(int to, const Notice& notice) noexcept {
  Notice copy = notice;
  copy.text.resize(std::min(copy.text.size(), kMostNoticeBytes));
  const int level = network_.topology().level_between(rank_, to);
  const double latency = level < 0 ? 0 : network_.level(level).latency;
  network_.do_errand(
      {.seconds = latency, .release = now()},
      {.notice = std::make_unique<Notice>(std::move(copy)), .rank = to});
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the errand owns it

void SimEndpoint::start(Transfer& transfer) {
  // After a failure nothing new begins, so that all tasks come to their ends.
  if (const Error* reason = network_.told()) {
    fail(transfer, *reason);
    return;
  }
  if (transfer.kind() == Transfer::Kind::kSend) {
    send(transfer);
    return;
  }
  const std::uint64_t key =
      flow_of(transfer.route().peer, transfer.route().tag);
  flows_[key].waiting.push_back(&transfer);
  match(key);
}

void SimEndpoint::send(Transfer& transfer) {
  const auto& route = transfer.route();
  SimEndpoint& peer = network_.endpoint(route.peer);
  SimMessage& message =
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
  const int level = network_.topology().level_between(rank_, route.peer);
  // A message to oneself crosses no fabric.
  if (level >= 0) {
    SimTraffic& sent = traffic_[static_cast<std::size_t>(level)];
    ++sent.messages;
    sent.bytes += static_cast<std::int64_t>(message.size);
  }
  network_.transmit(message, now());
}

void SimEndpoint::abandon(Transfer& transfer) noexcept {
  if (transfer.kind() == Transfer::Kind::kSend) {
    // A send that is not over has its message still.
    reinterpret_cast<SimMessage*>(transfer.cookie)->sender = nullptr;
    return;
  }
  const auto flow =
      flows_.find(flow_of(transfer.route().peer, transfer.route().tag));
  std::erase(flow->second.waiting, &transfer);
  if (flow->second.is_empty()) flows_.erase(flow);
}

void SimEndpoint::start_pause(double seconds, std::coroutine_handle<> waiting) {
  network_.do_errand({.resources = {network_.processor(rank_)},
                      .seconds = seconds / network_.options().compute_speed,
                      .release = now()},
                     {.paused = waiting, .rank = rank_});
}

void SimEndpoint::match(std::uint64_t key) {
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

void SimEndpoint::receive(Transfer& transfer, const SimMessage& message) {
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

}  // namespace weft
