// Batching across tags: instances of one region that are ready at the same
// time, in different activations, run as one, with a leading batch axis in
// front of what they differ in. The activations of a tree network at equal
// height, over all trees, are one product each.
//
// Calls and branches go on first, as far as they can. Then runs a region of the
// earliest phase. Of these come first those that lead to calls or decide a
// branch, so that all activations are there before their work is done: outer
// bodies before inner ones, and level by level. Then the one with the most
// instances; last what only adds to accumulators. So what is gathered does not
// depend on timing, and results repeat bit for bit.
//
// What instances add to the same accumulator is summed over the batch by the op
// that makes it: one product over all rows, not a matrix for each.
//
// Results of one run are rows of one tensor: nothing is scattered, and rows
// that lie one behind the other are not gathered either.
//
// Method:  on-the-fly operation batching of dynamic graphs: Neubig, Goldberg
//          and Dyer, 2017, with regions for operations and activations for
//          the graph.
// Threads: belongs to one worker, which is alone.
#pragma once

#include <map>
#include <memory>

#include "weft/base/profile.h"
#include "weft/runtime/tagged/worker.h"

namespace weft {

class Batcher : public RegionBatcher {
 public:
  explicit Batcher(Session& session);

  // Forgets what a failed run left.
  void begin_run();
  bool takes(int region) const override;
  void add(Item item) override;
  bool run(TaggedWorker& worker) override;

 private:
  // A region over so many instances, with a bit per input that is the same for
  // all of them and per result that is summed.
  struct Variant {
    std::size_t count;
    std::uint64_t shared;
    std::uint64_t summed;
    auto operator<=>(const Variant&) const = default;
  };
  struct Batch {
    Plan plan;
    std::vector<bool> is_stacked;  // by result
    std::uint64_t summed;
    // Those among them that the plan adds to their totals: it takes the
    // totals after its inputs.
    std::vector<std::size_t> added;
    SpanKindRef span;
  };
  // Lower ones run first.
  struct Priority {
    int phase = 0;
    int use = 0;
    int body = 0;
    auto operator<=>(const Priority&) const = default;
  };
  struct Queue {
    bool is_taken = false;
    Priority priority = {};
    std::vector<Item> items;
    std::uint64_t since = 0;  // when the oldest of them came
    std::map<Variant, std::unique_ptr<Batch>> batches;
  };

  // Which of two that are not empty runs first.
  static bool is_before(const Queue& a, const Queue& b);
  static Priority priority_of(const Layout& layout, const Work& work,
                              int phase);
  Batch& batch_of(Queue& queue, const Layout& layout, const Work& work,
                  const Variant& variant);
  void run_together(TaggedWorker& worker, Queue& queue,
                    std::span<const Item> items);
  std::uint64_t shared_inputs(const Work& work,
                              std::span<const Item> items) const;
  std::uint64_t summed_results(const Work& work,
                               std::span<const Item> items) const;
  void* gather(const Input& input, std::span<const Item> items);
  void send(TaggedWorker& worker, const Work& work, const Batch& batch,
            std::span<const Item> items);

  Session& session_;
  std::vector<Queue> queues_;  // by region
  std::uint64_t ticks_ = 0;
  std::vector<Tensor> gathered_;
  std::vector<void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Tensor> made_;
};

}  // namespace weft
