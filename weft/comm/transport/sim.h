// Ranks of a simulated network: the code of real ranks on a virtual clock.
//
//   SimWorld world(parse_topology("4@5us,35GB/s x 64@5us,10GB/s"));
//   const double seconds = world.run([](Transport& transport) -> Task<> {
//     Communicator all(transport);
//     const Channel channel = all.open({"all_reduce(ring)", "f32[1000]"});
//     co_await all_reduce(channel, …);
//   });
//
// A message of n bytes between two ranks that level s joins takes the way out
// of the sender's card and the way in of the receiver's, both of that level
// and shared by all ranks of the unit, for n * seconds_per_byte each, and
// arrives `latency` after the later of them. The way in begins with the way
// out, or later: what a busy receiver does not take yet waits in the switch
// and keeps no sender from its next message. A send is over with its way out.
// Memory for messages has no limit.
//
// One thread runs all ranks, in an order that depends on the seed alone. A rank
// is a task, or a function that waits as on a thread of its own:
//
//   world.run_ranks([](Transport& transport) {
//     const auto network = transport.start_engine({});
//     network->wait(network->submit(…));
//     network->charge(0.02);  // seconds of computing
//   });
//
// Source of the model: the alpha-beta model (Hockney, 1994) with one port per
// card and a switch that buffers.
//
// Threads: caller synchronises; wake() from any.
// Cost: about two microseconds of real time per message.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "weft/comm/transport/task.h"
#include "weft/comm/transport/topology.h"
#include "weft/comm/transport/transport.h"
#include "weft/simulate/simulator.h"

namespace weft {

struct SimWorldOptions {
  // False: only sizes travel, and buffers may be null.
  bool carries_payload = true;
  // Which message a card takes next, by Transfer::Route::priority; or, with
  // kFair, the messages of all ranks at once, those of one rank in turn.
  Queueing queueing = Queueing::kFirstCome;
  // With kSliced, what goes before a message of higher priority may.
  double slice_bytes = 65536;
  // A pause of s seconds takes s / compute_speed; pauses of a rank take turns.
  double compute_speed = 1;
  // Chance that a transmission is lost. It is repeated `retransmit_after`
  // seconds after it should have arrived, until one arrives.
  double loss = 0;
  double retransmit_after = 1e-3;
  // Above 0, losses are of segments of TCP with a retransmission timeout of so
  // many seconds: the messages of one rank to another are no faster than its
  // congestion control lets them be (Padhye, Firoiu, Towsley and Kurose,
  // "Modeling TCP Throughput", SIGCOMM 1998, equation 30).
  double tcp_timeout = 0;
  // Each part of a message that may arrive in part (part_map.h) is lost with
  // the chance `loss`, for good; its receiver goes on `silence` seconds after
  // the last one that came.
  double silence = 10e-3;
  // Messages arrive late by a random time of up to this (seconds), so that
  // those of different flows overtake each other.
  double most_delay = 0;
  // A token bucket of so many bytes before each card: what finds tokens passes
  // at once, the rest at the rate at which they come.
  double burst_bytes = 0;
  std::uint64_t seed = 0;  // of losses and delays
  // Ranks that are lost, in seconds of the clock: what a function of
  // run_ranks() next waits for or computes is an Error(kUnavailable).
  std::map<int, double> failures = {};
};

class SimNetwork;  // sim_network.h

// What a rank has sent over the fabric of one level.
struct SimTraffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::int64_t lost = 0;  // transmissions; not in the numbers above

  bool operator==(const SimTraffic&) const = default;
};

class SimWorld {
 public:
  explicit SimWorld(Topology topology, SimWorldOptions options = {});
  ~SimWorld();

  // The network as `rank` sees it. Lives as long as the world. Its poll(), for
  // engines outside of run(), moves the whole world on.
  Transport& endpoint(int rank);

  // Runs one task per rank to its end and returns the seconds that took on the
  // virtual clock, which goes on from one run to the next. A task that throws
  // fails the transfers of all others; what the first threw is thrown again.
  // Throws Error(kUnavailable) when all ranks wait and nothing is under way,
  // naming who waits for what. A world whose run threw has done its service.
  double run(const std::function<Task<>(Transport&)>& body);
  // The same for functions, which wait by an engine of their transport
  // (async_engine.h) and for nothing else. One that throws leaves: the others
  // go on until all of them wait for what is not coming.
  double run_ranks(const std::function<void(Transport&)>& body);

  // What a rank has sent since the world was made, by level.
  std::span<const SimTraffic> traffic(int rank) const;
  // Seconds that `rank` has spent in pauses.
  double computing_seconds(int rank) const;

 private:
  std::unique_ptr<SimNetwork> network_;
};

}  // namespace weft
