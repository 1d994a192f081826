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
  } else {
    receive(transfer);
  }
}

void SimEndpoint::send(Transfer& transfer) {
  const auto& route = transfer.route();
  SimEndpoint& peer = network_.endpoint(route.peer);
  // It waits at the receiver from the beginning, which keeps the order of
  // sending.
  SimMessage& message = peer.flows_[flow_of(rank_, route.tag)].send();
  message.from = rank_;
  message.to = route.peer;
  message.tag = route.tag;
  message.priority = route.priority;
  message.size = transfer.bytes();
  message.sender = &transfer;
  message.is_sent = true;
  message.is_lossy = transfer.is_lossy();
  message.began = now();
  transfer.cookie = reinterpret_cast<std::uintptr_t>(&message);
  if (message.receiver != nullptr) deliver(message);
  const int level = network_.topology().level_between(rank_, route.peer);
  // A message to oneself crosses no fabric.
  if (level >= 0) {
    SimTraffic& sent = traffic_[static_cast<std::size_t>(level)];
    ++sent.messages;
    sent.bytes += static_cast<std::int64_t>(message.size);
  }
  network_.transmit(message, now());
}

void SimEndpoint::receive(Transfer& transfer) {
  const std::uint64_t key =
      flow_of(transfer.route().peer, transfer.route().tag);
  SimMessage& message = flows_[key].claim();
  message.receiver = &transfer;
  message.is_claimed = true;
  transfer.cookie = reinterpret_cast<std::uintptr_t>(&message);
  if (message.is_sent) deliver(message);
  end_arrived(key);
}

void SimEndpoint::deliver(SimMessage& message) {
  const Transfer& receiver = *message.receiver;
  // What does not fit fails when it has arrived.
  if (!carries_payload() || message.size > receiver.bytes()) return;
  const std::byte* from =
      message.sender != nullptr ? message.sender->data() : message.bytes.data();
  if (message.size == 0) {
    // Neither side need have a buffer.
  } else if (receiver.fold() != nullptr) {
    receiver.fold()(from, receiver.data(), message.size);
  } else {
    std::memcpy(receiver.data(), from, message.size);
  }
  message.bytes = {};
  message.is_delivered = true;
}

void SimEndpoint::sent(SimMessage& message) {
  Transfer& transfer = *message.sender;
  release_sender(message);
  over(transfer, message.size);
}

void SimEndpoint::release_sender(SimMessage& message) {
  const std::byte* data = message.sender->data();
  if (carries_payload() && !message.is_delivered) {
    message.bytes.assign(data, data + message.size);
  }
  message.sender = nullptr;
}

void SimEndpoint::abandon(Transfer& transfer) noexcept {
  auto& message = *reinterpret_cast<SimMessage*>(transfer.cookie);
  if (transfer.kind() == Transfer::Kind::kSend) {
    // When all are told of a failure, nobody looks at what still comes, and the
    // buffer may be gone.
    if (network_.told() != nullptr)
      message.sender = nullptr;
    else
      release_sender(message);
    return;
  }
  if (message.is_sent) {
    // It is on its way to this receive, and is lost with it.
    message.receiver = nullptr;
    return;
  }
  const auto flow =
      flows_.find(flow_of(transfer.route().peer, transfer.route().tag));
  flow->second.withdraw(message);
  if (flow->second.is_empty()) flows_.erase(flow);
}

void SimEndpoint::start_pause(double seconds, std::coroutine_handle<> waiting) {
  network_.do_errand({.resources = {network_.processor(rank_)},
                      .seconds = seconds / network_.options().compute_speed,
                      .release = now()},
                     {.paused = waiting, .rank = rank_});
}

void SimEndpoint::set_alarm(double seconds, std::shared_ptr<Alarm> alarm) {
  network_.do_errand({.seconds = seconds, .release = now()},
                     {.alarm = std::move(alarm), .rank = rank_});
}

// What never came is nothing that the receiver could have.
void SimEndpoint::drop_lost(const Transfer& receiver, const PartMap& came) {
  for (std::size_t part = 0; part < came.parts(); ++part) {
    if (came.has(part) || receiver.data() == nullptr) continue;
    std::memset(receiver.data() + came.begin(part), 0, came.size(part));
  }
  *receiver.came() = came;
}

// Receives whose messages are there, in the order of the flow.
void SimEndpoint::end_arrived(std::uint64_t key) {
  const auto flow = flows_.find(key);
  while (const SimMessage* message = flow->second.over()) {
    if (Transfer* receiver = message->receiver) {
      if (message->size > receiver->bytes()) {
        fail(*receiver, too_long(*receiver, message->size));
        has_news_ = true;
      } else if (receiver->came() != nullptr && message->came.parts() > 0) {
        drop_lost(*receiver, message->came);
        finish_in_part(*receiver);
        has_news_ = true;
      } else {
        over(*receiver, message->size);
      }
    }
    flow->second.pop();
  }
  // Tags are many, and operations that are over must take no memory.
  if (flow->second.is_empty()) flows_.erase(flow);
}

}  // namespace weft
