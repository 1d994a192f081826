// Differentially private training by a loop of one's own (DP-SGD: Abadi et al.,
// "Deep Learning with Differential Privacy", CCS 2016): what stands around an
// optimizer, draws who joins a batch, clips the gradients of each, adds noise,
// and counts what was given away.
//
//   VariableUpdater sgd(make_optimizer("sgd", {}), variables, 0.15);
//   PrivateOptimizer training(sgd, loss_of,
//                             {.examples = 60000, .batch = 256, .noise = 1.3});
//   for (int step = 0; step < 3510; ++step) {
//     const std::vector<std::int64_t> rows = training.sample();
//     training.update({images_of(rows), labels_of(rows)});
//   }
//   fmt::print("epsilon {}\n", training.epsilon(1e-5));
//
// It is the step of a recipe's [privacy] (private_run.h): the same key gives
// the same batches and the same noise.
//
// It promises what is counted only if each update gets the examples that
// sample() drew, and nothing else that is told came from the data: losses that
// update() returns are no private numbers.
//
// Threads: caller synchronises.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/data/poisson_order.h"
#include "weft/optim/variable_updater.h"
#include "weft/privacy/accountant.h"
#include "weft/runtime/executable.h"
#include "weft/train/step/private_noise.h"

namespace weft {

struct PrivateLoop {
  std::int64_t examples = 0;  // of the data set
  std::int64_t batch = 0;     // of these, that join on average
  double clip_norm = 1;       // of an example's gradients, all together
  // Its deviation in clip norms; or 0, and it is found so that `steps` steps
  // give away this epsilon and delta at most.
  double noise = 0;
  double epsilon = 0;
  double delta = 1e-5;
  std::int64_t steps = 0;  // more are refused; 0: any number, with `noise`
  std::int64_t rows = 0;   // that are computed at once; 0: a whole batch
  std::int64_t seed = 1;   // of what examples draw, as for dropout
  privacy::Accounting accounting = privacy::Accounting::kRenyi;
  // What decides who joins and what noise is; drawn from the system unless a
  // run must be made again. Who has it can take the noise off.
  std::optional<SecretKey> key = {};
};

class PrivateOptimizer {
 public:
  // The loss, f32[], of one example: of a batch of one, as the tensors of the
  // batch come. It is traced once for each kind of shapes; of the variables
  // that it reads, those of `updater` are trained.
  using Loss = std::function<Value(std::span<const Value> example)>;

  // `updater` outlives this, and is for f32 variables. Throws
  // Error(kInvalidArgument) for options that promise nothing.
  PrivateOptimizer(VariableUpdater& updater, Loss loss,
                   const PrivateLoop& options);

  // The examples of the next batch, from 0, in rising order; maybe none. The
  // same until update() is called. Throws Error(kExhausted) where all steps are
  // taken.
  std::vector<std::int64_t> sample() const;
  // One step, by the examples that sample() gave, as rows of each tensor.
  // Returns their mean loss, which is no private number; NaN where there are
  // none. Throws Error(kInvalidArgument) for another number of rows, for a loss
  // that is not f32[], or that assigns a variable, Error(kNumeric) for one that
  // is no number and for an example whose gradients are not finite, and as
  // clipped_sums(); nothing has changed then.
  double update(std::span<const Tensor> batch);

  // What the steps so far give away, at this delta; never below it.
  double epsilon(double delta) const;
  double noise() const { return noise_.deviation / options_.clip_norm; }
  double rate() const { return order_.rate(); }
  std::int64_t steps_per_epoch() const { return order_.steps_per_epoch(); }
  // f64[]: how many steps were taken. What a checkpoint must keep beside the
  // updater's variables.
  const Variable& step() const { return step_; }

 private:
  class VariableBuilder;
  // The sums of a batch of examples of some types, ready to run.
  struct Staged {
    std::vector<VariableRef> variables;  // the first arguments
    Executable sums;
  };

  std::int64_t number() const;
  Staged& staged(std::span<const Tensor> batch);
  Staged stage(std::span<const Tensor> batch) const;
  Function traced(VariableBuilder& builder,
                  std::span<const Tensor> batch) const;
  void check_batch(std::span<const Tensor> batch, std::size_t examples) const;
  // Adds those of the rows [begin, end) to `sums`, whose last is of losses.
  // Returns the first row whose gradients are not finite.
  std::optional<std::int64_t> add_sums(std::span<const Tensor> batch,
                                       std::int64_t begin, std::int64_t end,
                                       std::vector<Tensor>& sums);

  VariableUpdater& updater_;
  // Its update as one function, as a recipe's step has it.
  std::function<void(const std::vector<Value>&)> update_;
  Loss loss_;
  PrivateLoop options_;
  PoissonOrder order_;
  PrivateNoise noise_;
  Variable step_;
  std::map<std::string, Staged> staged_;  // by the types of an example
};

}  // namespace weft
