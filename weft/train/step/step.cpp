#include "weft/train/step/step.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "weft/base/float_mode.h"
#include "weft/graph/program.h"
#include "weft/place/part_transfers.h"
#include "weft/runtime/executable_cache.h"
#include "weft/train/step/example_sums.h"
#include "weft/train/step/staged_step.h"

namespace weft {
namespace {

// Passes on which gradients are there, and which parameters are wanted, in the
// float mode of who asked for it.
class ParameterObserver : public RunObserver {
 public:
  ParameterObserver(std::size_t first_gradient,
                    std::span<const std::optional<std::size_t>> parameter_of,
                    const Step::OnParameter& on_gradient,
                    const Step::OnParameter& before_parameter)
      : first_gradient_(first_gradient),
        parameter_of_(parameter_of),
        on_gradient_(on_gradient),
        before_parameter_(before_parameter) {}
  void on_result(std::size_t index) override {
    // Gradients are the last results.
    if (index < first_gradient_) return;
    const FloatModeScope of_caller(mode_);
    on_gradient_(index - first_gradient_);
  }
  void before_argument(std::size_t index) override {
    if (!before_parameter_ || !parameter_of_[index]) return;
    const FloatModeScope of_caller(mode_);
    before_parameter_(*parameter_of_[index]);
  }

 private:
  std::size_t first_gradient_;
  std::span<const std::optional<std::size_t>> parameter_of_;  // by argument
  const Step::OnParameter& on_gradient_;
  const Step::OnParameter& before_parameter_;
  FloatMode mode_ = float_mode();
};

ExecutableOptions executable_options(const StepDescription& description,
                                     StepCut cut) {
  const auto& asked = description.options();
  ExecutableOptions options;
  options.check_numerics = asked.check_numerics;
  options.without = asked.without;
  options.batch_norm = asked.batch_norm;
  options.tagged = asked.tagged;
  options.search = asked.search;
  // What only reads the model keeps nothing for later.
  if (differentiates(cut)) options.memory_limit = asked.memory_limit;
  return options;
}

bool is_of_model(EntryRole role) {
  return role == EntryRole::kParameter || role == EntryRole::kFrozen ||
         role == EntryRole::kStatistic;
}

// What an entry's values lie in: what was given for it, or zeros of its own.
Tensor memory_for(const Entry& entry, StepCut cut) {
  const bool is_given = entry.memory.is_defined();
  const bool has_its_own =
      // Measuring must not change what training goes on with.
      (entry.role == EntryRole::kCarried && !differentiates(cut)) ||
      (entry.role == EntryRole::kGradient && !is_given);
  return has_its_own ? Tensor::zeros(entry.type) : entry.memory;
}

}  // namespace

Step::Step(const StepDescription& description, StepCut cut)
    : executable_(stage(description, cut)) {}

std::shared_ptr<Executable> Step::stage(const StepDescription& description,
                                        StepCut cut) {
  if (updates(cut) && description.optimizer() == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, name_of(cut),
                "there is no optimizer that could update anything");
  }
  WEFT_CHECK(cut != StepCut::kExport, "a step runs what is here");
  Program program;
  FunctionBuilder& builder = program.builder(name_of(cut));
  StagedStep staged(description, cut, builder);
  std::vector<bool> is_read(description.entries().size());
  for (std::size_t i = 0; i < is_read.size(); ++i) {
    // It is asked before compute(), which puts next values in the place of
    // those that were read.
    is_read[i] = staged.is_read(i);
  }
  program.add(builder.build([&] { return staged.compute(); }));
  tables_ = staged.tables();

  ExecutableOptions options = executable_options(description, cut);
  bind(description, cut, is_read, options);
  if (ExecutableCache* shared = description.options().executables) {
    return shared->get(program.build(), name_of(cut), std::move(options));
  }
  return std::make_shared<Executable>(program.build(), name_of(cut),
                                      std::move(options));
}

void Step::bind(const StepDescription& description, StepCut cut,
                const std::vector<bool>& is_read, ExecutableOptions& options) {
  const std::vector<Entry>& entries = description.entries();
  // No more room than they take: simulated workers are many.
  const auto read = std::ranges::count(is_read, true);
  const auto written = std::ranges::count_if(
      entries, [&](const Entry& entry) { return writes(cut, entry.role); });
  arguments_.reserve(static_cast<std::size_t>(read));
  results_.reserve(static_cast<std::size_t>(written));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const bool is_written = writes(cut, entry.role);
    const bool is_parameter = entry.role == EntryRole::kParameter;
    const Tensor memory = memory_for(entry, cut);
    keep(entry.role, memory);
    if (is_read[i]) {
      if (is_written) {
        // Each part of the state is overwritten by its next value, in place.
        options.donated.emplace_back(arguments_.size(), results_.size());
      } else if (description.options().is_frozen && is_of_model(entry.role)) {
        options.frozen.emplace_back(arguments_.size(), memory);
      }
      // A prediction takes what is known and no labels.
      if (entry.role == EntryRole::kInput) {
        if (full_.empty()) first_input_ = arguments_.size();
        full_.push_back(description.inputs()[full_.size()].type);
      }
      arguments_.push_back(memory);
      parameter_of_.push_back(is_parameter ? std::optional(parameters_)
                                           : std::nullopt);
    }
    if (is_written) {
      results_.push_back(memory);
      gradients_ += entry.role == EntryRole::kGradient ? 1 : 0;
      if (entry.role == EntryRole::kBroken) broken_ = memory;
    }
    parameters_ += is_parameter ? 1 : 0;
  }
}

void Step::keep(EntryRole role, const Tensor& memory) {
  switch (role) {
    case EntryRole::kCarried:
      carried_.push_back(memory);
      break;
    case EntryRole::kKey:
      key_ = memory;
      break;
    case EntryRole::kRate:
      rate_ = memory;
      break;
    case EntryRole::kNumber:
      number_ = memory;
      break;
    case EntryRole::kLate:
      late_ = memory;
      break;
    case EntryRole::kLossWeight:
      weight_ = memory;
      break;
    case EntryRole::kPresent:
      present_ = memory;
      break;
    case EntryRole::kMeasure:
      measures_.push_back(memory);
      break;
    default:
      break;
  }
}

void Step::set_inputs(std::span<const Tensor> inputs) {
  if (inputs.size() != full_.size()) {
    throw Error(ErrorCode::kInvalidArgument, executable_->function().name(),
                "{} tensors, where a batch has {}", inputs.size(),
                full_.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    arguments_[first_input_ + i] = inputs[i];
  }
}

void Step::run(std::span<const Tensor> inputs, const StepControls& controls,
               const OnParameter& on_gradient,
               const OnParameter& before_parameter) {
  set_inputs(inputs);
  // The random key is a function of the seed and the step alone, so that a run
  // that is resumed draws as it would have.
  key_.data<std::int64_t>()[1] = controls.number;
  rate_.data<float>()[0] = static_cast<float>(controls.lr);
  // Optimizers count from 1, as the bias corrections of Adam do.
  number_.data<double>()[0] = static_cast<double>(controls.number + 1);
  late_.data<double>()[0] = static_cast<double>(controls.late);
  weight_.data<float>()[0] = static_cast<float>(controls.loss_weight);
  if (present_.is_defined()) {
    present_.data<double>()[0] = static_cast<double>(controls.present);
    present_.data<double>()[1] = static_cast<double>(controls.first);
  }
  std::optional<ParameterObserver> observer;
  if (on_gradient) {
    observer.emplace(results_.size() - gradients_, parameter_of_, on_gradient,
                     before_parameter);
  }
  // Weights that decay and meet no example go towards 0 by a factor a step.
  // They change nothing long before they are subnormal, and could take half of
  // the step from then on.
  const FloatModeScope flushing(flushing_subnormals());
  executable_->run(arguments_, results_, observer ? &*observer : nullptr);
  if (!broken_.is_defined()) return;
  const std::int64_t broken = *broken_.data<std::int64_t>();
  if (broken >= 0) throw broken_example(controls.first + broken);
}

std::vector<Tensor> Step::predict(std::span<const Tensor> known) {
  set_inputs(known);
  // What a prediction draws is the same each time.
  key_.data<std::int64_t>()[1] = 0;
  return executable_->run(arguments_);
}

std::vector<Tensor> Step::look_up(std::span<const Tensor> inputs,
                                  std::int64_t number) {
  set_inputs(inputs);
  key_.data<std::int64_t>()[1] = number;
  return executable_->run(arguments_);
}

std::vector<std::int64_t> Step::first_uses() const {
  const Function& function = executable_->function();
  std::map<ValueId, std::int64_t> first;
  std::int64_t position = 0;
  for (const Node& node : function.nodes()) {
    for (const ValueId id : node.inputs) first.emplace(id, position);
    ++position;
  }
  std::vector<std::int64_t> uses(parameters_, kNeverUsed);
  for (std::size_t i = 0; i < parameter_of_.size(); ++i) {
    const auto found = first.find(function.parameters()[i]);
    if (!parameter_of_[i] || found == first.end()) continue;
    uses[*parameter_of_[i]] = found->second;
  }
  return uses;
}

TransferGraph Step::transfers() {
  RegionSteps steps;
  if (is_tagged()) {
    steps = steps_of_nodes(executable_->function());
  } else {
    for (const StepInfo& info : plan().steps()) {
      steps.push_back({info.reads.arguments, info.reads.predecessors});
    }
  }
  TransferGraph graph;
  graph.transfers.resize(parameters_);
  for (RegionStep& step : steps) {
    TransferGraph::Computation& computation = graph.computations.emplace_back();
    computation.predecessors = std::move(step.predecessors);
    for (const std::size_t argument : step.arguments) {
      const auto& parameter = parameter_of_[argument];
      if (parameter) computation.transfers.push_back(*parameter);
    }
  }
  return graph;
}

MeasureSums measure_sums(std::span<const Tensor> sums_and_counts) {
  MeasureSums sums;
  // They stand in pairs (StepDescription::add_measures).
  for (std::size_t i = 0; i + 1 < sums_and_counts.size(); i += 2) {
    const double count = sums_and_counts[i + 1].item();
    for (std::int64_t k = 0; k < sums_and_counts[i].size(); ++k) {
      sums.ratios().push_back({sums_and_counts[i].item(k), count});
    }
  }
  return sums;
}

MeasureSums Step::measures() const { return measure_sums(measures_); }

double Step::loss() const {
  return Ratio{measures_.at(0).item(), measures_.at(1).item()}.mean();
}

void Step::reset_carried() {
  for (const Tensor& tensor : carried_) {
    std::memset(tensor.raw(), 0, tensor.bytes());
  }
}

void Step::fill_inputs() {
  for (std::size_t i = 0; i < full_.size(); ++i) {
    // Before the first batch, zeros of its types stand for it.
    Tensor& input = arguments_[first_input_ + i];
    if (!input.is_defined()) input = Tensor::zeros(full_[i]);
  }
}

Plan& Step::plan() {
  fill_inputs();
  return executable_->plan_for(arguments_);
}

BatchSource::Answer answer_of(const StepDescription& description) {
  struct Lazy {
    StepDescription description;
    std::optional<Step> step;
  };
  // std::function wants to be copied, and a step cannot be.
  auto lazy = std::make_shared<Lazy>(Lazy{description, std::nullopt});
  return [lazy](std::span<const Tensor> known) {
    if (!lazy->step) lazy->step.emplace(lazy->description, StepCut::kPredict);
    return lazy->step->predict(known);
  };
}

const OptimizeReport* Step::optimize_report() {
  fill_inputs();
  return executable_->optimize_report_for(arguments_);
}

TaggedExecutor& Step::tagged() {
  fill_inputs();
  return executable_->tagged_for(arguments_);
}

}  // namespace weft
