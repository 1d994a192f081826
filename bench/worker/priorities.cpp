// weft-bench priorities MODEL: what P3 gains on simulated networks of several
// rates (Jayarajan et al., "Priority-based Parameter Propagation for
// Distributed DNN Training", MLSys 2019, section 5).
//
// Hosts compute and serve. The baseline is the paper's: a layer goes to one
// server, or in equal parts to all where it is large, first come, first served;
// the next forward pass waits for each layer by itself. Both ways answer a push
// with the new values, which saves the baseline a round trip. Computing is what
// was measured (step_trace.h); what a server adds up takes no time.
#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/core.h>

#include "bench/worker/card_schedule.h"
#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/step_trace.h"

#include "weft/comm/transport/communicator.h"
#include "weft/comm/transport/sim.h"
#include "weft/comm/transport/task_signal.h"

namespace weft::bench {
namespace {

constexpr double kSlice = 4 * 40000;  // bytes: the default of the paper's code
constexpr double kLarge = 4e6;        // above, a layer is spread over servers
constexpr double kLatency = 50e-6;

// What travels by itself.
struct Piece {
  std::size_t bytes;
  int server;
};
using Pieces = std::vector<std::vector<Piece>>;  // by parameter

Pieces pieces_of(const StepTrace& trace, int hosts, bool is_p3) {
  Pieces pieces;
  std::vector<double> held(static_cast<std::size_t>(hosts), 0);
  for (const double bytes : trace.bytes) {
    pieces.emplace_back();
    const double most = is_p3            ? kSlice
                        : bytes < kLarge ? bytes
                                         : std::ceil(bytes / hosts);
    for (double begin = 0; begin < bytes; begin += most) {
      const double size = std::min(most, bytes - begin);
      // Each goes where the fewest bytes are, so that no server has more to do.
      const auto least = std::ranges::min_element(held);
      pieces.back().push_back({static_cast<std::size_t>(size),
                               static_cast<int>(least - held.begin())});
      *least += size;
    }
  }
  return pieces;
}

std::span<std::byte> room(std::size_t bytes) {
  return {static_cast<std::byte*>(nullptr), bytes};
}

class Host {
 public:
  Host(Transport& transport, const StepTrace& trace, const Pieces& pieces,
       int steps)
      : transport_(transport),
        all_(transport),
        trace_(trace),
        pieces_(pieces),
        missing_(pieces.size(), 0),
        changed_(transport) {
    const std::vector<std::size_t> uses = trace.first_uses();
    const auto events = static_cast<int>(trace.events.size());
    for (int step = 0; step < steps; ++step) {
      push_.emplace_back();
      pull_.emplace_back();
      for (const std::size_t use : uses) {
        // The older step goes first, which others wait for; then what is used
        // first. Without priorities nobody looks at it.
        const int priority = -(step * (events + 1) + static_cast<int>(use));
        push_.back().push_back(all_.open({"push", "", priority}));
        pull_.back().push_back(all_.open({"pull", "", priority}));
      }
    }
  }

  // `ended` gets when each step's computing was over.
  Task<> run(std::vector<double>& ended) {
    std::vector<Task<>> tasks;
    tasks.push_back(work(ended));
    for (std::size_t p = 0; p < pieces_.size(); ++p) {
      for (int server = 0; server < all_.size(); ++server) {
        tasks.push_back(receive(p, server));
      }
      tasks.push_back(serve(p));
    }
    co_await all_of(std::move(tasks));
  }

 private:
  Task<> work(std::vector<double>& ended) {
    std::vector<Task<>> sends;
    for (std::size_t step = 0; step < push_.size(); ++step) {
      for (const StepEvent& event : trace_.events) {
        co_await Pause(transport_, event.seconds);
        const std::size_t p = event.parameter;
        if (!event.is_gradient) {
          while (missing_[p] > 0) co_await changed_.next();
          continue;
        }
        missing_[p] += pieces_[p].size();
        sends.push_back(send(push_[step][p], pieces_[p]));
        sends.back().start();
      }
      co_await Pause(transport_, trace_.rest);
      ended.push_back(transport_.now());
    }
    for (Task<>& task : sends) co_await task;
  }

  static Task<> send(Channel channel, const std::vector<Piece>& pieces) {
    Transfers gradients(channel);
    for (const Piece& piece : pieces) {
      gradients.send(piece.server, room(piece.bytes));
    }
    co_await gradients.all();
  }

  Task<> receive(std::size_t p, int server) {
    for (const std::vector<Channel>& step : pull_) {
      for (const Piece& piece : pieces_[p]) {
        if (piece.server != server) continue;
        co_await step[p].receive(server, room(piece.bytes));
        --missing_[p];
        changed_.notify_all();
      }
    }
  }

  // A piece goes back as soon as it has come from all.
  Task<> serve(std::size_t p) {
    std::deque<Transfers> answers;
    for (std::size_t step = 0; step < push_.size(); ++step) {
      for (const Piece& piece : pieces_[p]) {
        if (piece.server != all_.rank()) continue;
        Transfers gradients(push_[step][p]);
        for (int host = 0; host < all_.size(); ++host) {
          gradients.receive(host, room(piece.bytes));
        }
        co_await gradients.all();
        Transfers& values = answers.emplace_back(pull_[step][p]);
        for (int host = 0; host < all_.size(); ++host) {
          values.send(host, room(piece.bytes));
        }
      }
    }
    for (Transfers& values : answers) co_await values.all();
  }

  Transport& transport_;
  Communicator all_;
  const StepTrace& trace_;
  const Pieces& pieces_;
  std::vector<std::size_t> missing_;        // pieces on their way, by parameter
  std::vector<std::vector<Channel>> push_;  // by step and parameter
  std::vector<std::vector<Channel>> pull_;
  TaskSignal changed_;
};

// A step takes so long when steps have settled.
double seconds_of_step(const StepTrace& trace, int hosts, double rate,
                       int steps, bool is_p3) {
  SimWorld world(
      Topology{{{hosts, kLatency, 1 / rate}}},
      {.carries_payload = false,
       .queueing = is_p3 ? Queueing::kPriority : Queueing::kFirstCome});
  const Pieces pieces = pieces_of(trace, hosts, is_p3);
  std::vector<double> first;
  world.run([&](Transport& transport) -> Task<> {
    std::vector<double> ended;
    Host host(transport, trace, pieces, steps);
    co_await host.run(ended);
    if (transport.rank() == 0) first = std::move(ended);
  });
  return (first.back() - first.front()) / static_cast<double>(steps - 1);
}

// What a step takes at least, whatever goes first and wherever parameters are:
// the way out of the mean card carries each gradient but the own part, and the
// new values of that to all others. A gradient is there so long before the end
// of a step, and what is behind the first use of its parameter waits for the
// values.
double least_seconds_of_step(const StepTrace& trace, int hosts, double rate) {
  const double computing = trace.seconds();
  std::vector<CardJob> jobs(trace.bytes.size());
  std::vector<bool> is_used(jobs.size(), false);
  double wire = 0;
  double left = computing;
  for (const StepEvent& event : trace.events) {
    left -= event.seconds;
    CardJob& job = jobs[event.parameter];
    if (event.is_gradient) {
      // A step counts from the end of the one before.
      job.release = -left;
      job.seconds =
          2 * trace.bytes[event.parameter] * (hosts - 1) / hosts / rate;
      wire += job.seconds;
    } else if (!is_used[event.parameter]) {
      is_used[event.parameter] = true;
      job.tail = left;
    }
  }
  return std::max({computing, wire, least_makespan(std::move(jobs))});
}

}  // namespace

void simulate_priorities(const WorkerOptions& options) {
  const int hosts = static_cast<int>(options.integer("hosts"));
  const int steps = static_cast<int>(options.integer("steps"));
  const StepTrace trace = trace_step(options, true);
  double bytes = 0;
  for (const double each : trace.bytes) bytes += each;
  Json rates = Json::array();
  // From a network that takes eight times as long as computing for one way of
  // all parameters, to one that takes a thirty-second; finer where they are
  // about equal, as the gain peaks there.
  for (double share = 8; share > 0.03;
       share /= share > 2 || share < 0.3 ? 2 : std::pow(2.0, 0.25)) {
    const double rate = bytes / (share * trace.seconds());
    rates.push_back(
        {{"share", share},
         {"plain", seconds_of_step(trace, hosts, rate, steps, false)},
         {"p3", seconds_of_step(trace, hosts, rate, steps, true)},
         {"least", least_seconds_of_step(trace, hosts, rate)}});
  }
  fmt::print(
      "{}\n",
      Json{{"bytes", bytes}, {"computing", trace.seconds()}, {"rates", rates}}
          .dump());
}

}  // namespace weft::bench
