#include "weft/train/step/private_objective.h"

#include "weft/autodiff/gradient.h"
#include "weft/base/refusal.h"
#include "weft/graph/program.h"
#include "weft/nn/scope.h"
#include "weft/nn/staging.h"

namespace weft {
namespace {

// What cannot be computed for one example, or for many at once, is said by ops
// and layers, which do not know what it is for.
template <class Body>
auto explained(Body&& body) {
  try {
    return body();
  } catch (Error& error) {
    error.detail(
        "in: private training, which computes the gradients of many examples "
        "at once, and apart");
    if (error.code() == ErrorCode::kUnsupported) {
      error.hint("privacy.per_example = \"one by one\" takes any model");
    }
    throw;
  }
}

struct ExampleFunction {
  Function function;
  std::size_t measures = 0;  // its first results: sums and counts
};

// Parameters: the model's, the key, the example.
ExampleFunction example_function(Program& program,
                                 const StepDescription& description,
                                 const PrivateBatch& batch) {
  FunctionBuilder& builder = program.builder("example");
  const nn::Staging staged(*description.model(), builder);
  const Value key = builder.parameter(batch.key.type(), "key");
  std::vector<Value> example;
  for (std::size_t i = 0; i < batch.tensors.size(); ++i) {
    example.push_back(builder.parameter(of_one(batch.tensors[i].type()),
                                        description.inputs()[i].name));
  }
  ExampleFunction made;
  made.function = builder.build([&] {
    const RandomKeyScope random(key);
    const Objective objective =
        description.task()->objective(*description.model(), example);
    std::vector<Value> results;
    for (const Measure& measure : objective.measures) {
      results.insert(results.end(), {measure.sum, measure.count});
    }
    made.measures = results.size();
    std::vector<Value> trained;
    for (const auto& each : description.updated()) {
      // The model's entries come first, in its order.
      trained.push_back(staged.arguments()[each.parameter]);
    }
    for (Value& gradient : weft::gradients(objective.loss, trained)) {
      results.push_back(std::move(gradient));
    }
    return results;
  });
  return made;
}

}  // namespace

void require_examples_apart(const StepDescription& description) {
  for (const Entry& entry : description.entries()) {
    const bool is_statistic = entry.role == EntryRole::kStatistic;
    if (!is_statistic && entry.role != EntryRole::kCarried) continue;
    throw refused(
        "privacy", in_quotes(entry.name),
        {"private training",
         is_statistic ? "statistics of a batch mix its examples, whose "
                        "gradients then cannot be told apart"
                      : "what is carried to the next batch mixes examples",
         is_statistic ? "group_norm or layer_norm in the place of batch_norm"
                      : "a model that begins anew with each example"});
  }
}

PrivateObjective private_objective(const StepDescription& description,
                                   const PrivateBatch& batch) {
  require_examples_apart(description);
  const PrivateStepOptions& options = *description.options().privacy;
  Program& program = current_context().builder()->program();
  const ExampleFunction example =
      explained([&] { return example_function(program, description, batch); });

  const ExampleSums sums = explained([&] {
    return example_sums(program, example.function, batch,
                        description.updated().size(), options.clip_norm);
  });
  PrivateObjective objective{
      .measures = {}, .gradients = sums.clipped.sums, .broken = sums.broken()};
  for (std::size_t i = 0; i + 1 < example.measures; i += 2) {
    objective.measures.push_back({sums.total(i), sums.total(i + 1)});
  }
  return objective;
}

}  // namespace weft
