// How a gradient changes a parameter. An optimizer is a pure function written
// with Values, so it runs staged inside the training step as well as eagerly;
// what it remembers (slots) goes in and comes out.
//
// Threads: immutable.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"
#include "weft/graph/value.h"

namespace weft {

class Optimizer {
 public:
  // What it remembers per parameter: "velocity". Each slot has the shape of
  // its parameter and starts at zero.
  virtual std::vector<std::string> slots() const { return {}; }

  // Numbers that all parameters share in a step, computed once: at least the
  // learning rate. `lr` is an f32 scalar, `step` an f64 scalar that counts
  // from 1.
  virtual std::vector<Value> scalars(const Value& lr, const Value& step) const;

  struct Update {
    Value parameter;
    std::vector<Value> slots;
  };
  // The next parameter and slots.
  virtual Update update(const Value& parameter, const Value& gradient,
                        std::span<const Value> slots,
                        std::span<const Value> scalars) const = 0;

  // Whether an element stays as it is, with its slots, where its gradient is
  // zero. Then rows of a table that got none need not be visited
  // (row_gradient.h).
  virtual bool keeps_without_gradient() const { return false; }

  virtual ~Optimizer() = default;
};

struct OptimizerDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  // beside "lr", which all have
  double default_lr = 0.01;
  // `options` are complete. Throws Error(kInvalidArgument) for a value that
  // makes no sense.
  std::unique_ptr<Optimizer> (*make)(const Options& options) = nullptr;
};

using OptimizerRegistry = Registry<OptimizerDef>;
// Filled from the files of weft/optim/optimizers.
const OptimizerRegistry& optimizer_registry();

// The named optimizer with its options checked and completed.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          const Options& options);

// Throws Error(kInvalidArgument) unless the option is in [low, high).
void require_range(const Options& options, std::string_view name, double low,
                   double high, std::string_view optimizer);

}  // namespace weft
