// Optimizers around an optimizer: what they do with its gradients, or with what
// it makes of the parameters.
//
//   wrap_optimizer(make_optimizer("sgd", {}), {"accumulate(4)",
//   "lookahead(5)"})
//
// Threads: immutable.
#pragma once

#include "weft/optim/optimizer.h"

namespace weft {

class OptimizerWrapper : public Optimizer {
 public:
  explicit OptimizerWrapper(std::unique_ptr<Optimizer> inner)
      : inner_(std::move(inner)) {}

  // A wrapper's own slots come before those of what it wraps.
  std::vector<Slot> slots(const ParameterInfo& parameter) const final;
  std::vector<Slot> shared_slots() const final;
  void update(std::span<ParameterStep> parameters, std::span<Value> shared,
              const StepTime& time) const final;
  bool looks_at_names() const override { return inner_->looks_at_names(); }
  bool sees_all_parameters() const override {
    return inner_->sees_all_parameters();
  }
  bool has_momentum() const override { return inner_->has_momentum(); }
  bool measures_sizes() const override { return inner_->measures_sizes(); }

 protected:
  // The values of a wrapper's own slots, of each parameter and shared.
  struct Own {
    std::vector<std::vector<Value>> of_parameter;
    std::vector<Value> shared;
  };

  virtual std::vector<Slot> own_slots(const ParameterInfo&) const { return {}; }
  virtual std::vector<Slot> own_shared_slots() const { return {}; }
  // As Optimizer::update(), with the slots of inner() in `parameters` and
  // `shared`; it calls inner().update() itself.
  virtual void update_around(std::span<ParameterStep> parameters,
                             std::span<Value> shared, Own& own,
                             const StepTime& time) const = 0;
  const Optimizer& inner() const { return *inner_; }

 private:
  std::unique_ptr<Optimizer> inner_;
};

struct OptimizerWrapperDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;
  // `options` are complete, and what they may be.
  std::unique_ptr<Optimizer> (*make)(std::unique_ptr<Optimizer> inner,
                                     const Options& options) = nullptr;
};

using OptimizerWrapperRegistry = Registry<OptimizerWrapperDef>;
// It is filled from the files of weft/optim/wrappers.
const OptimizerWrapperRegistry& optimizer_wrapper_registry();

// `optimizer` inside of the wrappers, the first one innermost; each is written
// "lookahead(steps=5)" (base/call_reader.h). Throws Error(kInvalidArgument) for
// an unknown one, with the nearest name, for one that is there twice, also
// among those that will stand `outside`, and for options that make no sense.
std::unique_ptr<Optimizer> wrap_optimizer(
    std::unique_ptr<Optimizer> optimizer,
    const std::vector<std::string>& wrappers,
    const std::vector<std::string>& outside = {});

}  // namespace weft
