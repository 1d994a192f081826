#include "weft/train/step/private_objective.h"

#include <algorithm>
#include <array>

#include "weft/autodiff/gradient.h"
#include "weft/base/refusal.h"
#include "weft/batching/clipped_sums.h"
#include "weft/graph/program.h"
#include "weft/nn/scope.h"
#include "weft/nn/staging.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/random.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// A key for each example, i64[N, 2]: what they draw, as dropout does, has
// nothing to do with each other. Their seeds follow on one that is drawn for
// the step, by their places in the batch of all workers.
Value keys_of(const Value& key, Dim rows, const Value& first) {
  const Value numbers = reshape(iota(rows) + first, {rows, 1});
  const std::array columns{numbers, zeros_like(numbers)};
  return split_key(key, 1) + concat(columns, 1);
}

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
    error.hint("privacy.per_example = \"one by one\" takes any model");
    throw;
  }
}

// A batch of one: what an example alone has to say.
TensorType of_one(const Value& batch) {
  TensorType type = batch.type();
  type.shape[0] = 1;
  return type;
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
  for (std::size_t i = 0; i < batch.batch.size(); ++i) {
    example.push_back(builder.parameter(of_one(batch.batch[i]),
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

ClippedSums sums_of(Program& program, const ExampleFunction& example,
                    std::span<const Value> arguments,
                    const std::vector<bool>& is_batched, std::size_t gradients,
                    double norm, const Value& weights) {
  const bool has_control = std::ranges::any_of(
      example.function.nodes(),
      [](const Node& node) { return node.op->has(kControl); });
  if (has_control) {
    return clipped_control_sums(program, program.add(example.function),
                                arguments, is_batched, gradients, norm,
                                weights);
  }
  return clipped_sums(*current_context().builder(), example.function, arguments,
                      is_batched, gradients, norm, weights);
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

Objective private_objective(const StepDescription& description,
                            const PrivateBatch& batch,
                            std::vector<Value>& gradients) {
  require_examples_apart(description);
  const PrivateStepOptions& options = *description.options().privacy;
  Program& program = current_context().builder()->program();
  const ExampleFunction example =
      explained([&] { return example_function(program, description, batch); });

  const Dim rows = batch.batch.at(0).shape()[0];
  std::vector<Value> arguments = batch.model;
  std::vector<bool> is_batched(arguments.size(), false);
  const auto told = [&](int what) {
    return reshape(slice_axis(batch.present, 0, what, what + 1), {});
  };
  arguments.push_back(keys_of(batch.key, rows, cast(told(1), DType::kI64)));
  is_batched.push_back(true);
  for (const Value& tensor : batch.batch) {
    std::vector<Dim> dims{rows, 1};
    const auto& own = tensor.shape().dims();
    dims.insert(dims.end(), own.begin() + 1, own.end());
    arguments.push_back(reshape(tensor, Shape(dims)));
    is_batched.push_back(true);
  }
  const Value weights =
      cast(less(iota(rows, DType::kF64), told(0)), DType::kF32);
  const ClippedSums clipped = explained([&] {
    return sums_of(program, example, arguments, is_batched,
                   description.updated().size(), options.clip_norm, weights);
  });

  gradients = clipped.sums;
  Objective objective;
  for (std::size_t i = 0; i + 1 < example.measures; i += 2) {
    const auto total = [&](const Value& each) {
      Shape column = weights.shape();
      while (column.rank() < each.shape().rank()) column.push_back(1);
      return sum(each * reshape(weights, column), {0});
    };
    objective.measures.push_back(
        {total(clipped.others[i]), total(clipped.others[i + 1])});
  }
  return objective;
}

}  // namespace weft
