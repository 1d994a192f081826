#include "weft/train/step/step.h"

#include <cstring>

#include "weft/autodiff/gradient.h"
#include "weft/graph/program.h"
#include "weft/nn/scope.h"
#include "weft/nn/staging.h"
#include "weft/ops/arithmetic.h"
#include "weft/optim/clip.h"
#include "weft/optim/row_gradient.h"
#include "weft/train/step/mode_scope.h"

namespace weft {
namespace {

// --- What each cut is about --------------------------------------------------

const char* name_of(StepCut cut) {
  switch (cut) {
    case StepCut::kTrain:
      return "train_step";
    case StepCut::kGradients:
      return "backward_step";
    case StepCut::kUpdate:
      return "update_step";
    case StepCut::kEvaluate:
      return "eval_step";
    case StepCut::kPredict:
      return "predict";
  }
  WEFT_CHECK(false, "an unknown cut");
}

bool runs_model(StepCut cut) { return cut != StepCut::kUpdate; }
bool differentiates(StepCut cut) {
  return cut == StepCut::kTrain || cut == StepCut::kGradients;
}
bool updates(StepCut cut) {
  return cut == StepCut::kTrain || cut == StepCut::kUpdate;
}

// Whether the function of a cut takes an entry as a parameter.
bool reads(StepCut cut, EntryRole role) {
  switch (role) {
    case EntryRole::kParameter:
      return true;
    case EntryRole::kFrozen:
    case EntryRole::kMask:
    case EntryRole::kStatistic:
    case EntryRole::kCarried:
    case EntryRole::kKey:
    case EntryRole::kInput:
      return runs_model(cut);
    case EntryRole::kSlot:
    case EntryRole::kRate:
    case EntryRole::kNumber:
      return updates(cut);
    case EntryRole::kLossWeight:
      // The last batch of an epoch gives workers other shares than the rest do,
      // so the weight is an argument. One worker has all of it.
      return cut == StepCut::kGradients;
    case EntryRole::kGradient:
      return cut == StepCut::kUpdate;
    case EntryRole::kMeasure:
      return false;
  }
  WEFT_CHECK(false, "an unknown role");
}

// Whether the next value of an entry is a result.
bool writes(StepCut cut, EntryRole role) {
  switch (role) {
    case EntryRole::kParameter:
    case EntryRole::kSlot:
      return updates(cut);
    case EntryRole::kFrozen:
    case EntryRole::kMask:
    case EntryRole::kStatistic:
      return differentiates(cut);
    case EntryRole::kCarried:
    case EntryRole::kMeasure:
      return differentiates(cut) || cut == StepCut::kEvaluate;
    case EntryRole::kGradient:
      return cut == StepCut::kGradients;
    default:
      return false;
  }
}

// --- The function under construction -----------------------------------------

// The values of a description's entries, by their index, as the parts of a cut
// replace them by the next ones.
class StagedStep {
 public:
  StagedStep(const StepDescription& description, StepCut cut,
             FunctionBuilder& builder)
      : description_(description),
        cut_(cut),
        values_(description.entries().size()) {
    const std::vector<Entry>& entries = description.entries();
    std::size_t begin = 0;
    if (runs_model(cut)) {
      // The model's values come first among the entries, and in its order.
      staged_.emplace(*description.model(), builder);
      for (; begin < staged_->arguments().size(); ++begin) {
        values_[begin] = staged_->arguments()[begin];
      }
    }
    std::size_t unknown = cut == StepCut::kPredict
                              ? description.task()->known_inputs()
                              : entries.size();
    for (std::size_t i = begin; i < entries.size(); ++i) {
      if (!reads(cut, entries[i].role)) continue;
      if (entries[i].role == EntryRole::kInput && unknown-- == 0) break;
      values_[i] = builder.parameter(entries[i].type, entries[i].name);
    }
  }

  const Value& operator[](std::size_t entry) const { return values_[entry]; }
  bool is_read(std::size_t entry) const { return values_[entry].is_defined(); }

  // The results of the function: what the cut writes, or predictions.
  std::vector<Value> compute() {
    if (cut_ == StepCut::kPredict) return predict();
    if (runs_model(cut_)) run_model();
    if (updates(cut_)) update();
    std::vector<Value> results;
    const std::vector<Entry>& entries = description_.entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (writes(cut_, entries[i].role)) results.push_back(values_[i]);
    }
    return results;
  }

 private:
  std::vector<Value> of_role(EntryRole role) const {
    std::vector<Value> found;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (description_.entries()[i].role == role && is_read(i)) {
        found.push_back(values_[i]);
      }
    }
    return found;
  }
  Value only(EntryRole role) const { return of_role(role).at(0); }

  std::vector<Value> predict() {
    const RandomKeyScope random(only(EntryRole::kKey));
    const PrecisionScope precision(description_.options().dtype);
    const ModeScope mode(*description_.model(), /*is_training=*/false);
    return description_.task()->prediction(*description_.model(),
                                           of_role(EntryRole::kInput));
  }

  void run_model() {
    const RandomKeyScope random(only(EntryRole::kKey));
    const PrecisionScope precision(description_.options().dtype);
    // The mode of this moment goes into the graph: dropout and the statistics
    // of batches are settled while it is built.
    const ModeScope mode(*description_.model(), differentiates(cut_));
    const Objective objective = description_.task()->objective(
        *description_.model(), of_role(EntryRole::kInput));
    if (differentiates(cut_)) differentiate(objective.loss);
    // What forward() assigned are the next values of statistics.
    const std::vector<Value> next = staged_->values();
    std::copy(next.begin(), next.end(), values_.begin());
    set_measures(objective);
  }

  void set_measures(const Objective& objective) {
    std::vector<Value> parts;
    for (const Measure& measure : objective.measures) {
      parts.insert(parts.end(), {measure.sum, measure.count});
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (description_.entries()[i].role != EntryRole::kMeasure) continue;
      WEFT_CHECK(next < parts.size(), "the task declares more measures");
      values_[i] = parts[next++];
    }
    WEFT_CHECK(next == parts.size(), "the task declares fewer measures");
  }

  void differentiate(const Value& loss) {
    std::vector<Value> wrt;
    for (const auto& each : description_.updated()) {
      wrt.push_back(values_[each.parameter]);
    }
    // The weight scales gradients alone; the loss is reported as it is.
    std::vector<Value> found = gradients(
        cut_ == StepCut::kGradients ? loss * only(EntryRole::kLossWeight)
                                    : loss,
        wrt);
    const double clip_norm = description_.options().clip_norm;
    if (cut_ == StepCut::kGradients && clip_norm > 0) {
      found = clip_by_global_norm(found, clip_norm);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      values_[description_.updated()[i].gradient] = found[i];
    }
  }

  void update() {
    const Optimizer& optimizer = *description_.optimizer();
    std::vector<ParameterStep> steps;
    for (const auto& each : description_.updated()) {
      ParameterStep& step = steps.emplace_back();
      step.name = description_.entries()[each.parameter].name;
      step.parameter = values_[each.parameter];
      step.gradient = values_[each.gradient];
      for (const std::size_t slot : each.slots) {
        step.slots.push_back(values_[slot]);
      }
    }
    std::vector<Value> shared;
    for (const std::size_t slot : description_.shared_slots()) {
      shared.push_back(values_[slot]);
    }
    // Rows are picked before gradients are clipped: what clipping makes of the
    // rows is what it makes of the table (optim/row_gradient.h), and they are
    // fewer.
    const TouchedRows touched(optimizer, steps, usual_sizes());
    if (description_.options().clip_norm > 0) clip(steps);
    optimizer.update(steps, shared,
                     {only(EntryRole::kRate), only(EntryRole::kNumber)});
    touched.put_back(steps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& each = description_.updated()[i];
      values_[each.parameter] = steps[i].parameter;
      for (std::size_t s = 0; s < each.slots.size(); ++s) {
        values_[each.slots[s]] = steps[i].slots[s];
      }
    }
    for (std::size_t s = 0; s < shared.size(); ++s) {
      values_[description_.shared_slots()[s]] = shared[s];
    }
  }

  // Clips the gradients of all parameters together.
  void clip(std::span<ParameterStep> steps) const {
    std::vector<Value> gradients;
    for (const ParameterStep& step : steps) gradients.push_back(step.gradient);
    // Rows of a table that are left out are zeros, which add nothing to the
    // norm.
    gradients =
        clip_by_global_norm(gradients, description_.options().clip_norm);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].gradient = gradients[i];
    }
  }

  // How many rows a full batch looks up decides whether a table is updated row
  // by row.
  Bindings usual_sizes() const {
    Bindings sizes;
    std::size_t input = 0;
    for (const Entry& entry : description_.entries()) {
      if (entry.role != EntryRole::kInput) continue;
      match(entry.type.shape, description_.inputs()[input++].type.shape, sizes);
    }
    return sizes;
  }

  const StepDescription& description_;
  StepCut cut_;
  std::optional<nn::Staging> staged_;
  std::vector<Value> values_;
};

// Passes on which gradients are there.
class GradientObserver : public ResultObserver {
 public:
  GradientObserver(std::size_t first, const Step::OnGradient& on_gradient)
      : first_(first), on_gradient_(on_gradient) {}
  void on_result(std::size_t index) override {
    // Gradients are the last results.
    if (index >= first_) on_gradient_(index - first_);
  }

 private:
  std::size_t first_;
  const Step::OnGradient& on_gradient_;
};

}  // namespace

Step::Step(const StepDescription& description, StepCut cut)
    : executable_(stage(description, cut)) {}

Executable Step::stage(const StepDescription& description, StepCut cut) {
  if (updates(cut) && description.optimizer() == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, name_of(cut),
                "there is no optimizer that could update anything");
  }
  Program program;
  FunctionBuilder& builder = program.builder(name_of(cut));
  StagedStep staged(description, cut, builder);
  ExecutableOptions settings;
  settings.check_numerics = description.options().check_numerics;
  settings.without = description.options().without;
  settings.tagged = description.options().tagged;
  const std::vector<Entry>& entries = description.entries();
  std::vector<bool> is_read(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    is_read[i] = staged.is_read(i);
  }
  program.add(builder.build([&] { return staged.compute(); }));

  std::size_t next_input = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    Tensor memory = entry.memory;
    switch (entry.role) {
      case EntryRole::kCarried:
        // Measuring must not change what training goes on with.
        if (!differentiates(cut)) memory = Tensor::zeros(entry.type);
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
      case EntryRole::kLossWeight:
        weight_ = memory;
        break;
      case EntryRole::kMeasure:
        measures_.push_back(memory);
        break;
      case EntryRole::kInput:
        if (!is_read[i]) continue;
        if (next_input == 0) first_input_ = arguments_.size();
        full_.push_back(description.inputs()[next_input++].type);
        break;
      case EntryRole::kGradient:
        if (!memory.is_defined()) memory = Tensor::zeros(entry.type);
        gradients_ += writes(cut, entry.role) ? 1 : 0;
        break;
      default:
        break;
    }
    const bool is_written = writes(cut, entry.role);
    if (is_read[i] && is_written) {
      // Each part of the state is overwritten by its next value, in place.
      settings.donated.emplace_back(arguments_.size(), results_.size());
    }
    if (is_read[i]) arguments_.push_back(memory);
    if (is_written) results_.push_back(memory);
  }
  return Executable(program.build(), name_of(cut), std::move(settings));
}

void Step::set_inputs(std::span<const Tensor> inputs) {
  if (inputs.size() != full_.size()) {
    throw Error(ErrorCode::kInvalidArgument, executable_.function().name(),
                "{} tensors, where a batch has {}", inputs.size(),
                full_.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    arguments_[first_input_ + i] = inputs[i];
  }
}

void Step::run(std::span<const Tensor> inputs, const StepControls& controls,
               const OnGradient& on_gradient) {
  set_inputs(inputs);
  // The random key is a function of the seed and the step alone, so that a run
  // that is resumed draws as it would have.
  key_.data<std::int64_t>()[1] = controls.number;
  rate_.data<float>()[0] = static_cast<float>(controls.lr);
  // Optimizers count from 1, as the bias corrections of Adam do.
  number_.data<double>()[0] = static_cast<double>(controls.number + 1);
  weight_.data<float>()[0] = static_cast<float>(controls.loss_weight);
  if (on_gradient) {
    GradientObserver observer(results_.size() - gradients_, on_gradient);
    executable_.run(arguments_, results_, &observer);
  } else {
    executable_.run(arguments_, results_);
  }
}

std::vector<Tensor> Step::predict(std::span<const Tensor> known) {
  set_inputs(known);
  key_.data<std::int64_t>()[1] = 0;
  return executable_.run(arguments_);
}

MeasureSums Step::measures() const {
  MeasureSums sums;
  for (std::size_t i = 0; i < measures_.size(); i += 2) {
    const double count = measures_[i + 1].item();
    for (std::int64_t k = 0; k < measures_[i].size(); ++k) {
      sums.ratios().push_back({measures_[i].item(k), count});
    }
  }
  return sums;
}

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
  return executable_.plan_for(arguments_);
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

TaggedExecutor& Step::tagged() {
  fill_inputs();
  return executable_.tagged_for(arguments_);
}

}  // namespace weft
