#include "weft/runtime/jit/kept_call.h"

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/runtime/eager.h"

namespace weft {
namespace {

const OpDef& call_op() {
  static const OpDef& op = op_registry().get("call");
  return op;
}

bool is_tracing() { return current_context().builder() != nullptr; }

// How many tapes would differentiate what is computed from these.
std::size_t count_watching(
    std::initializer_list<std::span<const Value>> lists) {
  std::vector<const Value*> pointers;
  for (const auto values : lists) {
    for (const Value& value : values) {
      if (value.is_defined()) pointers.push_back(&value);
    }
  }
  return Tape::count_watching(pointers);
}

}  // namespace

Gradients spread(std::vector<Value> gradients, const std::vector<bool>& wrt) {
  Gradients result(wrt.size());
  for (std::size_t i = 0, next = 0; i < wrt.size(); ++i) {
    if (wrt[i]) result[i] = std::move(gradients[next++]);
  }
  return result;
}

KeptCall::KeptCall(std::shared_ptr<KeptRun> run, std::vector<Value> inputs,
                   std::vector<bool> wrt, Anew anew)
    : run_(std::move(run)),
      inputs_(std::move(inputs)),
      wrt_(std::move(wrt)),
      anew_(std::move(anew)) {}

std::vector<Value> KeptCall::record(std::size_t results) {
  for (std::size_t i = 0; i < results; ++i) {
    // Tapes know values by their numbers, and a tensor may be the result of
    // several runs.
    outputs_.emplace_back(run_->results()[i], Value::fresh_id());
  }
  // It stands on the tapes for the run: whoever has entered the gradient gives
  // it one, by which backward() knows.
  activation_ = Value(Tensor::scalar(0.f), Value::fresh_id());
  std::vector<Value> all = outputs_;
  all.push_back(activation_);
  Tape::record_on_all(
      {&call_op(),
       {},
       inputs_,
       std::move(all),
       [self = shared_from_this()](std::span<const Value> arrived) {
         const bool is_entered = arrived.back().is_defined();
         return spread(
             self->backward(arrived.first(arrived.size() - 1), is_entered),
             self->wrt_);
       }});
  return outputs_;
}

// Inputs, then outputs: what the backward function is given.
std::vector<Value> KeptCall::kept() const {
  std::vector<Value> all = inputs_;
  all.insert(all.end(), outputs_.begin(), outputs_.end());
  return all;
}

std::vector<Value> KeptCall::of_floating_results(
    std::span<const Value> values) const {
  std::vector<Value> found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_floating(outputs_[i].dtype())) found.push_back(values[i]);
  }
  return found;
}

// The next phase of the run; nothing for what has not arrived.
std::vector<Value> KeptCall::enter(const std::vector<Value>& arrived) {
  std::vector<Tensor> seeds;
  for (const Value& each : arrived) {
    seeds.push_back(each.is_defined() ? each.tensor() : Tensor());
  }
  std::vector<Value> gradients;
  for (Tensor& gradient : run_->enter(seeds)) {
    gradients.emplace_back(std::move(gradient));
  }
  return gradients;
}

// The gradients of the inputs in wrt_. `is_entered` says that who walks back
// has entered the gradient before, whose share comes with this.
std::vector<Value> KeptCall::backward(std::span<const Value> arrived,
                                      bool is_entered) {
  const std::size_t next = run_->next_phase();
  const std::size_t tapes = count_watching({inputs_, outputs_, arrived});
  const std::vector<Value> seeds = of_floating_results(arrived);
  if (is_entered) {
    WEFT_CHECK(next == 3, "the phases of a run have come apart");
    if (tapes == 0 && !is_tracing()) return enter(seeds);
    // Only what arrives here is differentiated once more.
    std::vector<Value> shares = enter(std::vector<Value>(seeds.size()));
    const auto others = anew_(kept(), arrived);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i] = shares[i] + others[i];
    }
    return shares;
  }
  // The run has phases for one gradient of its gradient, so that one tape at
  // most may see it.
  const bool may_record = tapes == 1 && run_->phase_count() > 2;
  if (next > 1 || is_tracing() || (tapes > 0 && !may_record)) {
    return anew_(kept(), arrived);
  }
  std::vector<Value> gradients = enter(seeds);
  if (tapes > 0) record_gradient(arrived, gradients);
  return gradients;
}

// Puts the gradient on the tape that sees it, as an application to the
// inputs, to what arrived, and to the activation.
void KeptCall::record_gradient(std::span<const Value> arrived,
                               std::vector<Value>& gradients) {
  for (Value& gradient : gradients) {
    gradient = Value(gradient.tensor(), Value::fresh_id());
  }
  std::vector<Value> inputs = inputs_;
  std::vector<Value> seeds(arrived.begin(), arrived.end());
  for (const Value& seed : seeds) {
    if (seed.is_defined()) inputs.push_back(seed);
  }
  inputs.push_back(activation_);
  Tape::record_on_all(
      {&call_op(),
       {},
       std::move(inputs),
       gradients,
       [self = shared_from_this(), seeds](std::span<const Value> slopes) {
         return self->second_backward(seeds, slopes);
       }});
}

// The gradients of the inputs, of the `seeds` that are defined, and of the
// activation, given those of the gradient. What the inputs owe comes with the
// call, once its own gradient has arrived.
Gradients KeptCall::second_backward(const std::vector<Value>& seeds,
                                    std::span<const Value> slopes) {
  if (run_->next_phase() != 2 || is_tracing() ||
      count_watching({inputs_, outputs_, seeds, slopes}) > 0) {
    return computed_anew(seeds, slopes);
  }
  const auto of_seeds = enter({slopes.begin(), slopes.end()});
  Gradients gradients(inputs_.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    // The phase has a seed for each floating result, for those too that got
    // none.
    if (!is_floating(outputs_[i].dtype())) continue;
    if (seeds[i].is_defined()) gradients.push_back(of_seeds[next]);
    ++next;
  }
  gradients.push_back(zeros_like(activation_));
  return gradients;
}

Gradients KeptCall::computed_anew(const std::vector<Value>& seeds,
                                  std::span<const Value> slopes) const {
  std::vector<Value> wanted;
  Tape tape;
  const auto watched = [&](Value value) {
    if (value.is_defined() && is_floating(value.dtype())) tape.watch(value);
    return value;
  };
  std::vector<Value> given = kept();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    given[i] = watched(given[i]);
    if (wrt_[i]) wanted.push_back(given[i]);
  }
  std::vector<Value> arrived;
  for (const Value& seed : seeds) {
    arrived.push_back(watched(seed));
    if (seed.is_defined()) wanted.push_back(arrived.back());
  }
  const auto roots = anew_(given, arrived);
  std::vector<Value> weights(slopes.begin(), slopes.end());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    // Where no slope arrives, it is 0.
    if (!weights[i].is_defined()) weights[i] = zeros_like(roots[i]);
  }
  const auto found = tape.gradient(roots, weights, wanted);
  Gradients gradients(inputs_.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (wrt_[i]) gradients[i] = found[next++];
  }
  gradients.insert(gradients.end(),
                   found.begin() + static_cast<std::ptrdiff_t>(next),
                   found.end());
  // The activation owes nothing: this has not entered it.
  gradients.emplace_back();
  return gradients;
}

}  // namespace weft
