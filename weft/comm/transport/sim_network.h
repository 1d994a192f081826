// What all ranks of a simulated world share: the clock, the cards and what is
// on its way. sim.h has the model; this is for the files beside it.
//
// Threads: caller synchronises.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "weft/base/philox.h"
#include "weft/comm/transport/sim.h"
#include "weft/simulate/simulator.h"

namespace weft {

class SimEndpoint;
class SimRanks;
struct SimMessage;  // sim_flow.h

// What a job of the simulator is for: one of these.
struct SimErrand {
  SimMessage* message = nullptr;  // on its way out or in
  bool is_way_out = false;
  std::coroutine_handle<> paused = {};
  std::shared_ptr<Alarm> alarm = nullptr;
  std::unique_ptr<Notice> notice = nullptr;
  int rank = 0;  // to whom
};

class SimNetwork {
 public:
  SimNetwork(Topology topology, SimWorldOptions options);
  ~SimNetwork();

  const Topology& topology() const { return topology_; }
  const SimWorldOptions& options() const { return options_; }
  const Level& level(int number) const {
    return topology_.levels[static_cast<std::size_t>(number)];
  }
  Simulator& simulator() { return simulator_; }
  int ranks() const { return static_cast<int>(endpoints_.size()); }
  SimEndpoint& endpoint(int rank) const {
    return *endpoints_[static_cast<std::size_t>(rank)];
  }
  Simulator::ResourceId processor(int rank) const {
    return processor_[static_cast<std::size_t>(rank)];
  }

  void do_errand(const Simulator::Job& job, SimErrand errand) {
    add_errand(job, std::move(errand));
  }
  void transmit(SimMessage& message, double release);

  // --- A run ---

  // A run of all ranks begins. While it lasts nobody else may poll.
  void begin();
  bool is_running() const { return running_ > 0; }
  // A rank has come to its end.
  void end_one() { --running_; }
  // It has failed, and all others are told. What they throw afterwards follows
  // from the first failure.
  void fail(int rank, const std::exception_ptr& thrown);
  // It has left with an error that it has not told. Others come as far as they
  // can without it: what it has sent still arrives.
  void leave(int rank, const std::exception_ptr& thrown);
  // The rest of the run, once all ranks have begun: `resume_ranks` lets those
  // go on that can, and says whether any could. Returns when all have ended.
  // Throws what the first that failed threw, or Error(kUnavailable) where all
  // ranks wait for ever.
  void finish(const std::function<bool()>& resume_ranks);

  // What all are told; after that nothing begins. Null: no rank has failed.
  const Error* told() const { return is_told_ ? &*reason_ : nullptr; }

  // Goes to the next event and what it lets run, but not to tasks of
  // `not_resumed`. False when nothing is under way.
  bool step(int not_resumed);

  // Those that are fibers; null: they are tasks.
  SimRanks* fibers = nullptr;

 private:
  Simulator::JobId add_errand(const Simulator::Job& job, SimErrand errand);
  Simulator::ResourceId card_out(int level, int rank) const {
    return first_card_[static_cast<std::size_t>(level)] +
           2 * topology_.unit_of(rank, level);
  }
  double bytes_beyond_burst(int level, int rank, std::size_t bytes);
  void end(SimErrand errand, int not_resumed);
  void come_through(SimMessage& message);
  bool is_lost();
  // When it is there, if it is later than `now`, and held back until then.
  bool hold_back(SimMessage& message, double until);
  void lose_parts(SimMessage& message);
  double tcp_arrival(const SimMessage& message);
  void fail_everyone();
  Error deadlock() const;

  const Topology topology_;
  const SimWorldOptions options_;
  const RandomStream random_{options_.seed};
  std::uint64_t drawn_ = 0;
  Simulator simulator_;
  std::vector<Simulator::ResourceId> first_card_;  // by level
  std::vector<Simulator::ResourceId> processor_;   // by rank
  std::vector<double> bucket_full_;  // when each way out has all its tokens
  std::vector<std::unique_ptr<SimEndpoint>> endpoints_;
  std::vector<SimErrand> errands_;  // by job
  // Until when TCP keeps what ranks send each other, by sender and receiver.
  std::map<std::pair<int, int>, double> tcp_until_;
  int running_ = 0;              // ranks of a run
  std::exception_ptr failure_;   // of the first that failed
  std::optional<Error> reason_;  // that, as others see it
  bool is_told_ = false;
};

}  // namespace weft
