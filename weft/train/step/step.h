// A cut of a step description (step_cut.h), ready to run.
//
//   StepDescription description(model, *task, inputs, {}, optimizer.get());
//   Step step(description, StepCut::kTrain);
//   for (std::int64_t i = 0; i < 100; ++i) {
//     step.run(source.next().tensors, {.lr = 0.1, .number = i});
//     fmt::print("{}\n", step.loss());
//   }
//
// What is updated is overwritten in place: the model's own values change with
// every run. Subnormal numbers are zeros to a run (base/float_mode.h).
//
// Threads: caller synchronises.
// Cost:    a run on a batch of known sizes allocates nothing.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/place/transfer_order.h"
#include "weft/runtime/executable.h"
#include "weft/train/step/description.h"
#include "weft/train/step/step_cut.h"

namespace weft {

// What a run is told beside its batch.
struct StepControls {
  double lr = 0;
  std::int64_t number = 0;  // of the step, from 0; what dropout draws is by it
  double loss_weight = 1;   // of kGradients
  std::int64_t late = 0;    // updates by which gradients are, of kUpdate
  // A private step is told how many examples count, and the place of the first
  // of them in the batch of all workers, by which they draw.
  std::int64_t present = 0;
  std::int64_t first = 0;
};

class Step {
 public:
  // `cut` is any but kExport, which export_step() puts into a file. Throws what
  // the task and its model throw for such inputs, and Error(kInvalidArgument)
  // for an update without an optimizer.
  Step(const StepDescription& description, StepCut cut);
  Step(Step&&) = default;
  Step& operator=(Step&&) = default;

  // Called with the index of a kParameter, among these.
  using OnParameter = std::function<void(std::size_t)>;

  // `inputs` are those of the description, of any size where the model carries
  // nothing; none for kUpdate. Throws Error(kNumeric) with check_numerics, and
  // as Executable::run().
  void run(std::span<const Tensor> inputs, const StepControls& controls = {},
           const OnParameter& on_gradient = {},
           const OnParameter& before_parameter = {});
  // The predictions, new tensors, for known inputs.
  std::vector<Tensor> predict(std::span<const Tensor> known);
  // What kLookUp tells: for each of tables(), the indices of the rows that step
  // `number` looks up, new tensors [count]. Some may come several times, and
  // negative ones count from the end.
  std::vector<Tensor> look_up(std::span<const Tensor> inputs,
                              std::int64_t number);
  // Which kParameters, among these, they are rows of.
  const std::vector<std::size_t>& tables() const { return tables_; }

  // Where in the order of the graph each kParameter is used first; kNeverUsed
  // for those that the cut does not read.
  std::vector<std::int64_t> first_uses() const;
  static constexpr std::int64_t kNeverUsed =
      std::numeric_limits<std::int64_t>::max();

  // What the steps of plan() read of parameters, which are the transfers, and
  // of each other, without times; where there is no plan, what the nodes of
  // function() read.
  TransferGraph transfers();

  // What the last run measured.
  MeasureSums measures() const;
  double loss() const;

  // Sets what is carried from batch to batch to zero, as an epoch begins.
  void reset_carried();

  const Function& function() const { return executable_->function(); }
  // A model that branches, loops or calls has no plan, but an executor.
  bool is_tagged() const { return executable_->is_tagged(); }
  // They are for the inputs of the last run; before it, for a full batch of
  // zeros.
  Plan& plan();
  TaggedExecutor& tagged();
  // What the search for faster graphs found; null where none was wanted.
  const OptimizeReport* optimize_report();
  // What runs pass to these, in the order of the function's parameters.
  const std::vector<Tensor>& arguments() const { return arguments_; }
  const std::vector<Tensor>& results() const { return results_; }

 private:
  std::shared_ptr<Executable> stage(const StepDescription& description,
                                    StepCut cut);
  // Gives arguments and results their memory, in the order of the entries, and
  // says in `options` which of them are donated and which frozen.
  void bind(const StepDescription& description, StepCut cut,
            const std::vector<bool>& is_read, ExecutableOptions& options);
  // Remembers what runs write into or read, by its role.
  void keep(EntryRole role, const Tensor& memory);
  void set_inputs(std::span<const Tensor> inputs);
  void fill_inputs();

  std::vector<Tensor> arguments_;
  std::vector<Tensor> results_;
  // Which kParameter an argument is, if it is one.
  std::vector<std::optional<std::size_t>> parameter_of_;
  std::size_t parameters_ = 0;   // kParameter entries
  std::size_t first_input_ = 0;  // among the arguments
  std::vector<std::size_t> tables_;
  std::vector<TensorType> full_;  // types of the inputs of a full batch
  std::size_t gradients_ = 0;     // which are the last results
  std::vector<Tensor> measures_;  // sum and count, alternating
  std::vector<Tensor> carried_;
  Tensor key_;
  Tensor rate_;
  Tensor number_;
  Tensor late_;
  Tensor weight_;
  Tensor present_;  // of a private step: how many, and the first
  Tensor broken_;   // of one that writes it: which of them
  // It may be shared (StepOptions::executables), and comes last: staging fills
  // what is above.
  std::shared_ptr<Executable> executable_;
};

// What a run measures, from the sums and counts that it tells in turn.
MeasureSums measure_sums(std::span<const Tensor> sums_and_counts);

// Answers sources that ask the model (data/batch_source.h): its predictions, by
// the parameters as they are when it is asked. The step is made when it is
// asked first.
BatchSource::Answer answer_of(const StepDescription& description);

}  // namespace weft
