// Runs activations depth first: takes the newest unit of work that is ready,
// runs it, and sends what it gives to where it goes. Nothing recurses here, so
// the depth of a recursion is bounded by memory alone.
//
// Threads: each worker belongs to one thread; a Session is what they share.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <stop_token>

#include "weft/compiler/flat/final_regions.h"
#include "weft/runtime/tagged/mailbox.h"
#include "weft/runtime/tagged/pool.h"
#include "weft/runtime/tagged/runner.h"
#include "weft/runtime/tagged/slab.h"

namespace weft {

// What regions did, and how many activations there were.
struct RegionUse {
  std::int64_t runs = 0;
  std::int64_t instances = 0;  // several of them may be one run
  double seconds = 0;
};
struct WorkerCounts {
  std::vector<RegionUse> regions;         // by region
  std::vector<std::int64_t> activations;  // by body
};

class TaggedWorker;

// One graph and the state of its current run.
struct Session {
  explicit Session(FlatGraph flat)
      : graph(std::move(flat)), program(graph), slab(program) {}

  FlatGraph graph;
  ProgramLayout program;
  FrameSlab slab;
  WorkPool pool;
  std::vector<std::unique_ptr<TaggedWorker>> workers;
  std::mutex planning;  // one plan at a time: it runs once, and libraries cache

  std::span<const Tensor> arguments;
  std::vector<Tensor> results;
  // How many of the last arguments come each time that the run goes on, how
  // often it has, and the entry's activation, which waits for them.
  std::vector<std::size_t> late;
  std::size_t gone_on = 0;
  Frame* entry = nullptr;
  // Where the arguments begin that come with the next but `times` going on.
  std::size_t first_late(std::size_t times) const {
    const auto others = std::span(late).subspan(times);
    return program.bodies[0].parameters.size() -
           std::accumulate(others.begin(), others.end(), std::size_t{0});
  }
  // Where results go that final regions compute; empty for new memory.
  std::span<const Tensor> destinations;
  // One entry for each region; empty if several workers or ranks run.
  std::vector<std::optional<FinalRegion>> finals;
  std::atomic<std::int64_t> peak_frames{0};

  // Options of the run.
  std::int64_t max_frames = 0;
  PlanOptions region_options = {};
  bool is_timed = false;
  std::stop_token stop;
  std::function<void()> before_work;  // if set: tests delay workers here
  Peers* peers = nullptr;             // if the graph is a part: one worker

  std::int64_t live_frames() const;
};

// Takes over ready regions instead of running them one by one.
class RegionBatcher {
 public:
  virtual ~RegionBatcher() = default;
  virtual bool takes(int region) const = 0;
  virtual void add(Item item) = 0;
  // Runs some; false if there are none.
  virtual bool run(TaggedWorker& worker) = 0;
};

class TaggedWorker {
 public:
  TaggedWorker(Session& session, bool is_alone);

  // Forgets what the last run left; the slab has its frames back.
  void begin_run();
  // Begins the entry's activation.
  void begin_entry();
  // Passes it the arguments that the run has gone on with.
  void pass_late();
  // Before that, where there are other ranks: they get and give what of the
  // entry's arguments is placed elsewhere than where it is read. One that has
  // memory already, into which it is written as it comes, is waited for by the
  // region that reads it first; the others have come when this returns.
  // `arguments` lives until the run is over.
  void exchange_arguments(std::span<Tensor> arguments);
  // Works until the run is over. Errors go to the pool.
  void work() noexcept;

  void set_batcher(RegionBatcher* batcher) { batcher_ = batcher; }
  // Is called after a failed run: the slab has reclaimed the frames.
  void drop_frames() { live_frames_.store(0, std::memory_order_relaxed); }
  // The batcher calls these: what a region's instance gives, and its end.
  std::int32_t send(Frame* frame, const Port& port, std::uint64_t word);
  std::int32_t send(Frame* frame, const Port& port, TensorBytes tensor);
  void finish(Frame* frame, std::int32_t change);
  // Runs one unit of work.
  void run(Item item);
  // Memory for a plan, at least so much.
  void* arena(std::size_t bytes);

  WorkerCounts& counts() { return counts_; }
  std::int64_t live_frames() const {
    return live_frames_.load(std::memory_order_relaxed);
  }

 private:
  struct Cell {  // a scalar that a plan reads or writes
    alignas(kAlignment) std::byte bytes[kAlignment];
  };

  std::optional<Item> next();
  void share();
  RegionRunner& runner(const Layout& layout, const Work& work);
  std::int32_t run_region(Frame* frame, const Work& work);
  void run_scalars(Frame* frame, const Work& work, ScalarProgram& program);
  std::int32_t run_plan(Frame* frame, const Work& work, RegionRunner& runner);
  const Function& function_of(const Work& work) const;
  Tensor& total_of(Frame* frame, const Work& work, std::size_t result) const;
  Cell* take_operands(Frame* frame, const Work& work);
  void make_results(Frame* frame, const Work& work, RegionRunner& runner,
                    bool in_place, Cell* cell);
  std::int32_t send_results(Frame* frame, const Work& work,
                            const RegionRunner& runner, const Cell* cell);
  static bool owns_changed(Frame* frame, const Work& work,
                           const RegionRunner& runner);
  std::int32_t run_switch(Frame* frame, const Work& work);
  std::int32_t run_call(Frame* frame, const Work& work, std::uint32_t index);
  std::int32_t run_return(Frame* frame, const Work& work);
  bool send_totals(Frame* frame);

  void run_send(Frame* frame, const Work& work);
  void listen(double seconds);
  void await_argument(std::size_t argument);
  bool misses_arguments(const Work& work);
  std::int32_t run_receive(Item item);
  std::int32_t send_received(Frame* frame, const Work& work, Tensor value);
  bool hear(double seconds);
  void wait_for_peers();
  void check_stop() const;

  template <class Write>
  std::int32_t deliver(Frame* frame, const Port& port, Write&& write);
  void push(Frame* frame, std::uint32_t work, bool is_call);
  Frame* begin(int body, Frame* parent, int site, std::uint32_t arguments);
  void push_first(Frame* frame);
  std::int32_t send_arguments(Frame* frame, std::size_t begin, std::size_t end);
  Frame* child(Frame* frame, const Work& work, const SiteLayout& site,
               std::int32_t& change);
  void abandon(Frame* frame);
  void complete(Frame* frame);
  void count_frame(Frame* parent);
  [[noreturn]] void fail_limit(Frame* frame) const;
  static void add_chain(Error& error, const Frame* frame);
  void store_result(Frame* frame, const Work& work);

  std::int32_t add(std::int32_t& count, std::int32_t change) const;
  std::uint64_t argument_word(std::uint32_t index) const;

  Session& session_;
  bool is_alone_;  // no other worker: nothing need be atomic
  FrameCache frames_;
  std::vector<std::optional<RegionRunner>> runners_;  // by region
  RegionBatcher* batcher_ = nullptr;

  const FinalRegion* final_region(int region) const {
    const auto& finals = session_.finals;
    const auto index = static_cast<std::size_t>(region);
    return index < finals.size() && finals[index] ? &*finals[index] : nullptr;
  }

  std::vector<Item> last_;       // final regions: run when all else is done
  std::vector<Item> ready_;      // regions, switches and returns: newest last
  std::vector<Item> calls_;      // run when nothing else is ready
  std::size_t oldest_call_ = 0;  // before it, all were given away
  unsigned ticks_ = 0;

  std::deque<Sums> sums_;
  std::vector<Sums*> free_sums_;

  std::atomic<std::int64_t> live_frames_{0};  // begun less ended here
  std::int64_t most_frames_ = 0;
  WorkerCounts counts_;

  // These lists keep their memory from one unit of work to the next.
  Tensor arena_;
  std::vector<Cell> cells_;
  std::vector<void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Tensor> made_;

  class ArgumentReads;  // argument_reads.h

  Mailbox mailbox_;
  std::vector<Parcel> parcels_;
  // In a run among other ranks: its arguments, and which of them have not come.
  std::span<Tensor> arguments_;
  std::vector<bool> are_missing_;  // under the mutex, as a region runs
  std::mutex coming_;
  std::condition_variable has_come_;
};

}  // namespace weft
