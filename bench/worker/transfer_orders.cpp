// weft-bench transfer-orders MODEL: what orders of transfers gain on simulated
// networks, where workers compute with parameters of servers (Hashemi, Abdu
// Jyothi and Campbell, "TicTac: Accelerating Distributed Deep Learning with
// Communication Scheduling", MLSys 2019, section 6).
//
// In each step a worker asks all servers, which send it their parameters, one
// after the other as those of other workers; it computes as far as what
// has come allows. In training it pushes each gradient as it comes, and servers
// answer when those of all workers are there. Without an order each server
// sends to each worker in each step in another one, as executors ask for them.
// Each operation takes what was measured, a few percent more or less each time.
// Parameters and gradients travel in segments, so that the workers of a server
// share its card as connections do, however large a layer is.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <numeric>

#include "bench/worker/card_schedule.h"
#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/step_trace.h"

#include "weft/base/index.h"
#include "weft/base/permutation.h"
#include "weft/base/philox.h"
#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/sim.h"
#include "weft/comm/transport/task_signal.h"

namespace weft::bench {
namespace {

constexpr double kLatency = 50e-6;
constexpr double kJitter = 0.05;
constexpr std::size_t kSegment = std::size_t{1} << 16;  // bytes
constexpr std::uint32_t kDraws = 0x6f726472;

struct Setting {
  const StepTrace& trace;
  int workers;
  int servers;
  int steps;
  double rate;  // bytes of a card in a second
  // One for each parameter, the least first; empty: another order each time.
  std::vector<std::size_t> places;
};

std::span<std::byte> room(std::size_t bytes) {
  return {static_cast<std::byte*>(nullptr), bytes};
}

std::size_t size_of(const Setting& setting, std::size_t parameter) {
  return static_cast<std::size_t>(setting.trace.bytes[parameter]);
}

// Each parameter is on the server with the fewest bytes so far.
std::vector<int> servers_of(const Setting& setting) {
  std::vector<double> held(static_cast<std::size_t>(setting.servers), 0);
  std::vector<int> servers;
  for (const double bytes : setting.trace.bytes) {
    const auto least = std::ranges::min_element(held);
    servers.push_back(setting.workers + static_cast<int>(least - held.begin()));
    *least += bytes;
  }
  return servers;
}

// What all parameters take to come to all workers: the card with the most to do
// says, which is a server's or a worker's.
double wire_seconds(const Setting& setting) {
  const std::vector<int> servers = servers_of(setting);
  std::vector<double> bytes(at(setting.workers + setting.servers), 0);
  for (std::size_t p = 0; p < servers.size(); ++p) {
    bytes[at(servers[p])] += setting.trace.bytes[p] * setting.workers;
    bytes[0] += setting.trace.bytes[p];  // of each worker
  }
  return std::ranges::max(bytes) / setting.rate;
}

// What a forward pass takes at least, whatever the order is: behind the first
// use of each parameter is the rest of the computing, and a worker's card
// carries all parameters. If workers are in step, servers' cards serve all of
// them at once; else one may now and then have such a card for itself.
double least_seconds(const Setting& setting, bool in_step) {
  const std::vector<int> servers = servers_of(setting);
  // Those of servers, and a worker's behind them.
  std::vector<std::vector<CardJob>> cards(at(setting.servers + 1));
  std::vector<bool> is_used(servers.size(), false);
  double left = setting.trace.seconds();
  for (const StepEvent& event : setting.trace.events) {
    left -= event.seconds;
    const std::size_t p = event.parameter;
    if (event.is_gradient || is_used[p]) continue;
    is_used[p] = true;
    const double seconds = setting.trace.bytes[p] / setting.rate;
    cards.back().push_back({.seconds = seconds, .tail = left});
    if (!in_step) continue;
    cards[at(servers[p] - setting.workers)].push_back(
        {.seconds = seconds * setting.workers, .tail = left});
  }
  double least = std::max(setting.trace.seconds(), wire_seconds(setting));
  for (std::vector<CardJob>& card : cards) {
    least = std::max(least, least_makespan(std::move(card)));
  }
  return least;
}

// One rank. Ranks are the workers, then the servers.
class Rank {
 public:
  Rank(Transport& transport, const Setting& setting)
      : transport_(transport),
        all_(transport),
        setting_(setting),
        servers_(servers_of(setting)),
        asked_(all_.open({"ask", ""})),
        is_there_(servers_.size(), false),
        changed_(transport),
        updated_(transport) {
    for (std::size_t p = 0; p < servers_.size(); ++p) {
      push_.push_back(all_.open({"push", ""}));
      pull_.push_back(all_.open({"pull", ""}));
    }
  }

  // `ended`: when each step's computing was over.
  Task<> run(std::vector<double>& ended) {
    return all_.rank() < setting_.workers ? work(ended) : serve();
  }

 private:
  bool has_gradients() const {
    return std::ranges::any_of(setting_.trace.events, &StepEvent::is_gradient);
  }

  Task<> work(std::vector<double>& ended) {
    for (int step = 0; step < setting_.steps; ++step) {
      const RandomStream random{static_cast<std::uint64_t>(all_.rank()), kDraws,
                                static_cast<std::uint32_t>(step)};
      std::uint64_t operations = 0;
      const auto slower = [&] {
        const PhiloxBlock words = random.block(operations++);
        return 1 + kJitter * normal_from(words[0], words[1])[0];
      };
      std::vector<Task<>> tasks;
      is_there_.assign(servers_.size(), false);
      for (std::size_t p = 0; p < servers_.size(); ++p) {
        tasks.push_back(receive(p));
        tasks.back().start();
      }
      Transfers asks(asked_);
      for (int s = 0; s < setting_.servers; ++s) {
        asks.send(setting_.workers + s, room(8));
      }
      for (const StepEvent& event : setting_.trace.events) {
        co_await Pause(transport_, event.seconds * slower());
        if (event.is_gradient) {
          tasks.push_back(send(push_[event.parameter],
                               servers_[event.parameter],
                               size_of(setting_, event.parameter)));
          tasks.back().start();
        } else {
          while (!is_there_[event.parameter]) co_await changed_.next();
        }
      }
      co_await Pause(transport_, setting_.trace.rest * slower());
      ended.push_back(transport_.now());
      co_await asks.all();
      for (Task<>& task : tasks) co_await task;
    }
  }

  Task<> receive(std::size_t parameter) {
    co_await receive(pull_[parameter], servers_[parameter],
                     size_of(setting_, parameter));
    is_there_[parameter] = true;
    changed_.notify_all();
  }

  static Task<> send(Channel channel, int to, std::size_t bytes) {
    for (std::size_t left = bytes; left > 0; left -= std::min(left, kSegment)) {
      Transfer sent = channel.send(to, room(std::min(left, kSegment)));
      co_await sent;
    }
  }

  static Task<> receive(Channel channel, int from, std::size_t bytes) {
    for (std::size_t left = bytes; left > 0; left -= std::min(left, kSegment)) {
      Transfer came = channel.receive(from, room(std::min(left, kSegment)));
      co_await came;
    }
  }

  Task<> serve() {
    std::vector<std::size_t> own;
    for (std::size_t p = 0; p < servers_.size(); ++p) {
      if (servers_[p] == all_.rank()) own.push_back(p);
    }
    std::vector<Task<>> workers;
    for (int w = 0; w < setting_.workers; ++w) {
      workers.push_back(answer(w, own));
    }
    co_await all_of(std::move(workers));
  }

  Task<> answer(int worker, std::vector<std::size_t> own) {
    for (int step = 0; step < setting_.steps; ++step) {
      co_await asked_.receive(worker, room(8));
      // A step's parameters are there when the gradients of all workers in the
      // one before have come.
      while (has_gradients() && pushed_ < step * setting_.workers) {
        co_await updated_.next();
      }
      const Permutation drawn(
          std::max<std::size_t>(own.size(), 1),
          static_cast<std::uint64_t>(all_.rank() * setting_.workers + worker),
          kDraws, static_cast<std::uint32_t>(step));
      std::vector<std::size_t> order = own;
      if (setting_.places.empty()) {
        for (std::size_t i = 0; i < own.size(); ++i) order[i] = own[drawn(i)];
      } else {
        std::ranges::stable_sort(
            order, {}, [&](std::size_t p) { return setting_.places[p]; });
      }
      // A channel carries one at a time, so that workers share the card.
      for (const std::size_t p : order) {
        co_await send(pull_[p], worker, size_of(setting_, p));
      }
      if (!has_gradients()) continue;
      for (const std::size_t p : own) {
        co_await receive(push_[p], worker, size_of(setting_, p));
      }
      ++pushed_;
      updated_.notify_all();
    }
  }

  Transport& transport_;
  Communicator all_;
  const Setting& setting_;
  std::vector<int> servers_;  // by parameter
  Channel asked_;
  std::vector<Channel> push_;
  std::vector<Channel> pull_;
  std::vector<bool> is_there_;
  TaskSignal changed_;
  TaskSignal updated_;
  int pushed_ = 0;  // steps of workers whose gradients have all come
};

struct Outcome {
  double mean = 0;        // seconds of a step
  double deviation = 0;   // of these
  double straggling = 0;  // of a step, what the first worker waits for the last
  double efficiency = 0;  // the paper's E, of whatever could overlap
};

// The paper's E of steps that take so long.
double efficiency_of(const Setting& setting, double makespan) {
  const double wire = wire_seconds(setting);
  const double computing = setting.trace.seconds();
  // Gradients take the other way of the cards, which is a channel of its own.
  const double other_way =
      std::ranges::any_of(setting.trace.events, &StepEvent::is_gradient) ? wire
                                                                         : 0;
  return TransferSchedule{.makespan = makespan,
                          .total = computing + wire + other_way,
                          .bound = std::max(computing, wire)}
      .efficiency();
}

Outcome outcome_of(const Setting& setting,
                   const std::vector<std::vector<double>>& ended) {
  std::vector<double> steps;
  Outcome outcome;
  for (int step = 1; step < setting.steps; ++step) {
    double first = ended[0][at(step)];
    double last = first;
    for (int w = 0; w < setting.workers; ++w) {
      const double end = ended[at(w)][at(step)];
      steps.push_back(end - ended[at(w)][at(step - 1)]);
      first = std::min(first, end);
      last = std::max(last, end);
    }
    outcome.straggling += (last - first) / (setting.steps - 1);
  }
  const double count = static_cast<double>(steps.size());
  for (const double each : steps) outcome.mean += each / count;
  double squares = 0;
  for (const double each : steps) {
    squares += (each - outcome.mean) * (each - outcome.mean) / count;
  }
  outcome.deviation = std::sqrt(squares);
  outcome.straggling /= outcome.mean;
  outcome.efficiency = efficiency_of(setting, outcome.mean);
  return outcome;
}

Outcome simulate(const Setting& setting) {
  SimWorld world(Topology{{{setting.workers + setting.servers, kLatency,
                            1 / setting.rate}}},
                 {.carries_payload = false});
  std::vector<std::vector<double>> ended(at(setting.workers));
  world.run([&](Transport& transport) -> Task<> {
    std::vector<double> own;
    Rank rank(transport, setting);
    co_await rank.run(own);
    if (transport.rank() < setting.workers) {
      ended[at(transport.rank())] = std::move(own);
    }
  });
  return outcome_of(setting, ended);
}

using Places = std::vector<std::size_t>;

Places ranked(const std::vector<std::pair<std::size_t, std::size_t>>& keys) {
  Places order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return keys[i]; });
  Places places(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  return places;
}

Places places_of(std::string_view order, const Setting& setting) {
  const Places uses = setting.trace.first_uses();
  const std::size_t count = uses.size();
  std::vector<std::pair<std::size_t, std::size_t>> keys(count);
  if (order == "none") return {};
  TransferGraph graph = setting.trace.graph;
  for (std::size_t p = 0; p < count; ++p) {
    graph.transfers[p] = kLatency + setting.trace.bytes[p] / setting.rate;
  }
  if (order == "tac") return timing_aware_order(graph);
  const Places tic = timing_independent_order(graph);
  const Permutation drawn(count, 1, kDraws, 0);
  for (std::size_t p = 0; p < count; ++p) {
    keys[p] = {order == "tic"        ? tic[p]
               : order == "last_use" ? count - uses[p]
                                     : drawn(p),
               uses[p]};
  }
  return ranked(keys);
}

}  // namespace

void simulate_transfer_orders(const WorkerOptions& options) {
  Json rows = Json::array();
  for (const bool trains : {false, true}) {
    const StepTrace trace = trace_step(options, trains);
    // What all parameters take to come, over what computing does.
    for (const double share : {0.5, 1.0, 2.0}) {
      Setting setting{.trace = trace,
                      .workers = static_cast<int>(options.integer("workers")),
                      .servers = static_cast<int>(options.integer("servers")),
                      .steps = static_cast<int>(options.integer("steps")),
                      .rate = 1,
                      .places = {}};
      setting.rate = wire_seconds(setting) / (share * trace.seconds());
      for (const char* order : {"none", "random", "last_use", "tic", "tac"}) {
        setting.places = places_of(order, setting);
        const Outcome outcome = simulate(setting);
        rows.push_back(
            {{"task", trains ? "training" : "inference"},
             {"share", share},
             {"computing", trace.seconds()},
             {"order", order},
             {"seconds", outcome.mean},
             {"deviation", outcome.deviation},
             {"straggling", outcome.straggling},
             {"efficiency", outcome.efficiency},
             {"best_efficiency",
              efficiency_of(setting, least_seconds(setting, false))},
             {"best_in_step",
              efficiency_of(setting, least_seconds(setting, true))}});
      }
    }
  }
  fmt::print("{}\n", rows.dump());
}

}  // namespace weft::bench
