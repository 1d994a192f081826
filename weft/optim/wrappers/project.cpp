// Parameters that stay in a set: after each step of the inner optimizer they
// become the nearest point of it (projected gradient: Levitin and Polyak,
// "Constrained minimization methods", 1966). The set lies where it is, or
// around the parameters as they were first.
#include "weft/base/call_reader.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/optim/projection.h"
#include "weft/optim/wrapper.h"

namespace weft {
namespace {

constexpr const char* kZero = "zero";
constexpr const char* kStart = "start";

class Project : public OptimizerWrapper {
 public:
  Project(std::unique_ptr<Optimizer> inner, Projection projection,
          bool is_around_start)
      : OptimizerWrapper(std::move(inner)),
        projection_(std::move(projection)),
        is_around_start_(is_around_start) {}

 protected:
  std::vector<Slot> own_slots(const ParameterInfo& parameter) const override {
    if (!is_around_start_) return {};
    return {{.name = "start", .type = parameter.type, .is_copy = true}};
  }

  void update_around(std::span<ParameterStep> parameters,
                     std::span<Value> shared, Own& own,
                     const StepTime& time) const override {
    inner().update(parameters, shared, time);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Value& parameter = parameters[i].parameter;
      if (!is_around_start_) {
        parameter = projection_(parameter);
        continue;
      }
      const Value start = own.of_parameter[i][0];
      const Value moved = parameter - start;
      const Value nearest = projection_(moved);
      // Within the set nothing is rounded.
      parameter = where(equal(nearest, moved), parameter, start + nearest);
    }
  }

 private:
  Projection projection_;
  bool is_around_start_;
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
                    .calls = calls_of<projection_registry>()},
                   {.name = "around",
                    .value = std::string(kZero),
                    .summary = "what it lies around: zero, or the parameters "
                               "at the start",
                    .choices = {kZero, kStart}}},
       .make = [](std::unique_ptr<Optimizer> inner,
                  const Options& options) -> std::unique_ptr<Optimizer> {
         return std::make_unique<Project>(
             std::move(inner),
             make_projection(option<std::string>(options, "onto")),
             option<std::string>(options, "around") == kStart);
       }});
}

}  // namespace weft
