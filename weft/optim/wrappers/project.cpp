// Parameters that stay in a set: after each step of the inner optimizer they
// become the nearest point of it (projected gradient: Levitin and Polyak,
// "Constrained minimization methods", 1966).
#include "weft/base/call_reader.h"
#include "weft/optim/projection.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

class Project : public OptimizerWrapper {
 public:
  Project(std::unique_ptr<Optimizer> inner, Projection projection)
      : OptimizerWrapper(std::move(inner)),
        projection_(std::move(projection)) {}

 protected:
  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own&,
                     const StepTime& time) const override {
    inner().update(parameters, shared, time);
    for (ParameterStep& step : parameters) {
      step.parameter = projection_(step.parameter);
    }
  }

 private:
  Projection projection_;
};

}  // namespace

void register_optimizer_wrapper_project(OptimizerWrapperRegistry& wrappers) {
  wrappers.add(
      {.name = "project",
       .summary = "parameters stay in a set: what a step makes of "
                  "them goes to its nearest point",
       .options = {{.name = "onto",
                    .value = std::string("ball"),
                    .summary = "the set: ball(radius=2), …",
                    .calls = calls_of<projection_registry>()}},
       .make = [](std::unique_ptr<Optimizer> inner,
                  const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Project>(
             std::move(inner),
             make_projection(option<std::string>(options, "onto")));
       }});
}

}  // namespace weft
