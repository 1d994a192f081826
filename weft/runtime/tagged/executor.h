// Runs a flat graph: values travel under tags, a tag being the frame of the
// activation that they belong to.
//
// Evaluation is lenient: an activation begins with its first argument, and
// each result leaves as soon as it is there. Loops are strict: an iteration
// begins when all that is carried is there, so that a million of them need
// the memory of two. A call whose results are its caller's needs no caller.
//
// Threads: one run at a time; a run uses threads of its own.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "weft/compiler/batch_norm_form.h"
#include "weft/compiler/flat/flat_graph.h"
#include "weft/runtime/tagged/peers.h"

namespace weft {

enum class Batching {
  kWhereItPays,  // if a region that many activations may run holds a product;
                 // not among other ranks, as what is gathered there depends
                 // on when messages come, and results would not repeat
  kAlways,
  kNever,
};

struct TaggedOptions {
  // Whether regions run for many activations at once (batcher.h), by one
  // worker whose kernels are parallel inside. Scalar regions never do.
  Batching batching = Batching::kWhereItPays;
  // Workers of a run without batching, each depth first. 0: as many as the
  // process computes with, if the graph has calls that can run side by side. A
  // graph that accumulates has one: sums have a fixed order. So do gradients of
  // recursions with products, which are batched, and with large parameters,
  // whose kernels take all threads (draft.h).
  int workers = 0;
  // Activations that may be alive at once. A recursion without end stops here.
  std::int64_t max_frames = 1'000'000;
  // Check every op's results for NaN and infinity, as ExecutableOptions says.
  bool check_numerics = false;
  // Without, every op runs by itself, of one activation at a time, as
  // ExecutableOptions says.
  bool fuse = true;
  // Passes that are left out of the plans of regions (compiler/pass.h).
  std::vector<std::string> without = {};
  // How far batch norm is fused with what is around it, in these plans.
  BatchNormForm batch_norm = BatchNormForm::kAuto;
  // Measure the seconds that regions take.
  bool is_timed = false;
  // (parameter, result) pairs of the entry that share memory in every run: the
  // result overwrites the argument.
  std::vector<std::pair<std::size_t, std::size_t>> donated = {};
  // Called before each unit of work, on its worker: tests delay workers here.
  std::function<void()> before_work = {};
  // The other ranks of a graph that is a part (partition.h). Such a run has
  // one worker, which also moves the messages.
  Peers* peers = nullptr;
};

// What the last run did.
struct TaggedProfile {
  struct RegionUse {
    std::string name;
    std::int64_t runs = 0;
    std::int64_t instances = 0;  // a run may compute several at once
    double seconds = 0;          // with is_timed
  };
  struct BodyUse {
    std::string name;
    std::int64_t activations = 0;
  };
  std::vector<RegionUse> regions;
  std::vector<BodyUse> bodies;
  std::int64_t peak_frames = 0;  // with several workers a close estimate
  std::int64_t live_frames = 0;  // after the run: 0, or frames have leaked

  std::int64_t activations(std::string_view body) const;
};

// "region tree.4: 447 instances in 34 runs, batched: 13.1 each, 3.0 ms", a line
// each.
std::string to_string(const TaggedProfile& profile);

class TaggedExecutor {
 public:
  explicit TaggedExecutor(FlatGraph graph, TaggedOptions options = {});
  ~TaggedExecutor();
  TaggedExecutor(TaggedExecutor&&) noexcept;

  const FlatGraph& graph() const;
  // Arguments have the types of the entry's parameters; of a part, those that
  // are placed on other ranks may be undefined. Throws
  // Error(kExhausted), naming the calls, when there are more activations than
  // the options allow; Error(kCancelled) once `stop` is requested; what a
  // region's plan throws; with other ranks, what went wrong on one of them. All
  // frames are free again then.
  std::vector<Tensor> run(std::span<const Tensor> arguments,
                          std::stop_token stop = {});
  // The same with memory for the results, which they may lie in or not; with
  // donations it is needed.
  std::vector<Tensor> run(std::span<const Tensor> arguments,
                          std::span<const Tensor> destinations,
                          std::stop_token stop = {});
  // The first part of a run of a graph whose last arguments come later
  // (lowering.h): returns the results that need none of these, the others
  // undefined. What was computed is kept until the last arguments have come, or
  // drop(); one of them comes before the next run. Throws as run().
  std::vector<Tensor> begin(std::span<const Tensor> arguments);
  // The next part, for the next arguments: the results that need these, and
  // none that are still to come; the others undefined.
  std::vector<Tensor> go_on(std::span<const Tensor> late);
  // Frees what has been kept.
  void drop();
  TaggedProfile profile() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
