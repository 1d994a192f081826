// What a tree of one's own adds, as docs/guides has it: each file joins a
// registry of its own here, and the build's with WEFT_EXTENSIONS
// (tests/repo/extension_slow_test.py).
#include <CLI/CLI.hpp>
#include <cmath>
#include <gtest/gtest.h>

#include "examples/extension/cli/verbs/losses.cpp"
#include "examples/extension/weft/comm/transport/transports/late.cpp"
#include "examples/extension/weft/data/augmentations/invert.cpp"
#include "examples/extension/weft/nn/layers/squeeze_excite.cpp"
#include "examples/extension/weft/nn/views/weight_norm.cpp"
#include "examples/extension/weft/optim/optimizers/adamax.cpp"
#include "examples/extension/weft/optim/schedules/triangular.cpp"
#include "examples/extension/weft/optim/wrappers/centralize.cpp"
#include "examples/extension/weft/train/sections/target.cpp"
#include "examples/extension/weft/train/simulate/laws/uneven.cpp"
#include "examples/extension/weft/train/sources/spirals.cpp"
#include "examples/extension/weft/train/sync/aggregation/clipped_mean.cpp"
#include "examples/extension/weft/train/sync/policies/majority.cpp"
#include "examples/extension/weft/train/tasks/quantile.cpp"
#include "tests/support/errors.h"
#include "tests/support/exact.h"
#include "tests/support/optimizer_run.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/transport_checks.h"

#include "weft/comm/transport/thread.h"
#include "weft/data/loader.h"
#include "weft/data/table.h"
#include "weft/nn/nn.h"
#include "weft/train/step/evaluation.h"
#include "weft/train/sync/worker_group.h"
#include "weft/train/trainer.h"

namespace weft::extension_test {
namespace {

using testing::contents;
using testing::f32;

TEST(Extension, ARuleOfAnotherTreeCombines) {
  AggregationRuleRegistry rules("aggregation rule");
  register_aggregation_rule_clipped_mean(rules);
  rules.freeze();
  const auto call = parse_call("clipped_mean(5)", rules, "sync.rule");
  const auto rule = call.def->make(call.options, {.workers = 3});
  const std::vector<float> near{3, 4};
  const std::vector<float> far{300, 400};
  const std::vector<float> lost{NAN, 0};
  const std::vector<Contribution> arrived{{0, near}, {1, far}, {2, lost}};
  std::vector<float> result(2);
  rule->combine({.arrived = arrived}, result);
  // 5 long each.
  EXPECT_FLOAT_EQ(result[0], 6);
  EXPECT_FLOAT_EQ(result[1], 8);
}

TEST(Extension, ATransportOfAnotherTreeCarriesMessages) {
  TransportRegistry transports("transport");
  register_transport_late(transports);
  transports.freeze();
  const auto call = parse_call("late(4, most=100us)", transports, "test");
  open_transport(call, {})->run(test::check_sums);
}

TEST(Extension, ALawOfAnotherTreeCharges) {
  ComputeLawRegistry laws("law of computing");
  register_compute_law_uneven(laws);
  laws.freeze();
  const auto call = parse_call("uneven(3, kinds=3)", laws, "simulate.compute");
  const auto law = call.def->make(call.options, 1);
  EXPECT_DOUBLE_EQ(law->seconds({.rank = 0, .measured = 0.1}), 0.1);
  EXPECT_DOUBLE_EQ(law->seconds({.rank = 4, .measured = 0.1}), 0.2);
  EXPECT_DOUBLE_EQ(law->seconds({.rank = 2, .measured = 0.1}), 0.3);
}

TEST(Extension, ATaskOfAnotherTreeTrains) {
  TrainingTaskRegistry tasks("task");
  register_training_task_quantile(tasks);
  tasks.freeze();
  const TrainingTaskDef& def = tasks.get("quantile");
  const auto task = def.make(complete(def.options, {{"share", 0.75}}, "task"));

  // Each kind of row has the targets 0 … 7.
  std::string text;
  for (int i = 0; i < 64; ++i)
    text += fmt::format("{},{}.0\n", i / 8 % 2, i % 8);
  const auto data = parse_table(text, "t.csv", {.numbers = {"2"}});
  EXPECT_FALSE(task->declines(*data));
  task->fit(*data);
  nn::Sequential model{nn::Linear{1, 1}};
  model.initialize(1);
  auto source = std::make_unique<Loader>(data, LoaderOptions{.batch = 64});
  const auto optimizer = make_optimizer("adam", {});
  const StepDescription description(model, *task, source->inputs(), {},
                                    optimizer.get());
  Step step(description, StepCut::kTrain);
  for (int i = 0; i < 300; ++i) {
    step.run(source->next().tensors, {.lr = 0.02, .number = i});
  }
  Evaluation evaluation(description, std::move(source));
  const Scores scores(task->metrics(), evaluation.run());
  EXPECT_NEAR(scores.get("below"), 0.75, 0.13);
  const double told =
      Step(description, StepCut::kPredict)
          .predict(std::vector{Tensor::of<float>({1, 1}, {1})})[0]
          .item();
  EXPECT_NEAR(told, 5.5, 0.7);

  test::expect_error(
      ErrorCode::kInvalidArgument, {"task", "'share' = 1 must be in (0, 1)"},
      [&] {
        def.make(complete(def.options, {{"share", 1.0}}, "task"));
      });
}

TEST(Extension, ASourceOfAnotherTreeMakesBatches) {
  BatchSourceRegistry sources("batch source");
  register_batch_source_spirals(sources);
  const BatchSourceDef& def = sources.get("spirals");
  const auto open = [&](const Options& own) {
    return def.open({.name = "spirals",
                     .folder = {},
                     .augment = {},
                     .batch = 16,
                     .own = complete(def.options("spirals"), own, "data")});
  };
  const auto data = open({{"points", std::int64_t{40}}});
  const auto source = data->train({});
  EXPECT_EQ(source->batches_per_epoch(), 3);
  const Tensor first = source->next().tensors[0].clone();
  EXPECT_EQ(first.shape(), Shape({16, 2}));
  source->next();
  EXPECT_EQ(source->next().size, 8);
  EXPECT_FALSE(identical(source->next().tensors[0], first));  // epoch 1
  source->seek({});
  EXPECT_TRUE(identical(source->next().tensors[0], first));
  const auto part = data->train({.rank = 1, .ranks = 2});
  EXPECT_TRUE(identical(part->next().tensors[0], first.slice(8, 16)));
  test::expect_error(ErrorCode::kInvalidArgument, {"did you mean 'spirals'?"},
                     [&] { def.options("spiral"); });
  test::expect_error(ErrorCode::kInvalidArgument, {"points", "at least 1"},
                     [&] {
                       open({{"points", std::int64_t{0}}});
                     });
}

// Three workers vote, and two votes of three win unless all must.
std::vector<Tensor> voted(const Call<SyncPolicyDef>& policy) {
  std::vector<Tensor> parameters(3);
  ThreadWorld world(3);
  world.run([&](Transport& transport) {
    WorkerGroup group(transport, 20);
    const float gradients[3][4] = {
        {0.5, -7, 1e-6f, 0}, {2, -1, -3, 0}, {-9, -2, -1, 0}};
    const std::vector<NamedTensor> trainable{
        {"w", Tensor::of<float>({4}, {1, 2, 3, 4})}};
    std::vector<Bucket> buckets = make_buckets(trainable, 1 << 10);
    const auto optimizer = make_optimizer("sgd", {});
    const SyncRecipe recipe;
    const auto made =
        policy.def->make(policy.options, {.communicator = group.communicator(),
                                          .network = group.network(),
                                          .recipe = recipe,
                                          .optimizer = *optimizer,
                                          .roles = Roles(3, 0),
                                          .trainable = trainable,
                                          .buckets = buckets});
    std::ranges::copy(gradients[group.rank()], buckets[0].gradient().begin());
    const SyncStep step{.lr = 0.5};
    group.run([&] { return made->exchange(buckets[0], step); });
    made->end_step(step);
    parameters[static_cast<std::size_t>(group.rank())] =
        trainable[0].tensor.clone();
  });
  return parameters;
}

TEST(Extension, APolicyOfAnotherTreeHasOptions) {
  SyncPolicyRegistry policies("sync policy");
  register_sync_policy_majority(policies);
  const auto read = [&](std::string_view text) {
    return parse_call(text, policies, "sync.policy");
  };
  for (const Tensor& own : voted(read("majority(2)"))) {
    EXPECT_TENSOR(Value(own), f32({4}, {0, 3, 4, 4}));
  }
  for (const Tensor& own : voted(read("majority(2, lead=1)"))) {
    EXPECT_TENSOR(Value(own), f32({4}, {1, 3, 3, 4}));
  }
  EXPECT_EQ(to_string(read("majority")), "majority(scale=1, lead=0)");
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"option 'lead' = 1.5 must be in [0, 1]"},
                     [&] { read("majority(lead=1.5)"); });
  test::expect_error(ErrorCode::kInvalidArgument, {"did you mean 'lead'?"},
                     [&] { read("majority(leed=1)"); });
  const Call<SyncPolicyDef> call = read("majority");
  SyncRecipe recipe;
  EXPECT_FALSE(call.def->declines(call.options, recipe));
  recipe.codec = "bf16";
  const auto refusal = call.def->declines(call.options, recipe);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->because, "signs are what travels");
}

TEST(Extension, AnAugmentationOfAnotherTreeChangesImages) {
  AugmentationRegistry augmentations("augmentation");
  register_augmentation_invert(augmentations);
  const AugmentationDef& def = augmentations.get("invert");
  std::vector<std::uint8_t> pixels{0, 1, 255, 100};
  const ImagePixels image{pixels.data(), 2, 2, 1};
  def.make({{"chance", 0.0}})->apply({}, image);
  EXPECT_EQ(pixels, (std::vector<std::uint8_t>{0, 1, 255, 100}));
  def.make({{"chance", 1.0}})->apply({}, image);
  EXPECT_EQ(pixels, (std::vector<std::uint8_t>{255, 254, 0, 155}));
}

TEST(Extension, AnOptimizerOfAnotherTreeEqualsAPlainLoop) {
  OptimizerRegistry optimizers("optimizer");
  register_optimizer_adamax(optimizers);
  const OptimizerDef& def = optimizers.get("adamax");
  test::OptimizerRun run(
      def.make(complete(def.options, {{"beta2", 0.5}}, "optimizer")),
      {Tensor::of<float>({2}, {1, -3})});
  double p[] = {1, -3}, m[] = {0, 0}, u[] = {0, 0};
  for (int t = 1; t <= 6; ++t) {
    // The second gradient is zero at first, and its parameter then stays.
    const double g[] = {0.5 * p[0] - 0.1 * t, t < 4 ? 0.0 : 0.7};
    run.step({Tensor::of<float>(
                 {2}, {static_cast<float>(g[0]), static_cast<float>(g[1])})},
             0.1);
    for (int i = 0; i < 2; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      u[i] = std::fmax(0.5 * u[i], std::fabs(g[i]));
      p[i] -= 0.1 / (1 - std::pow(0.9, t)) * m[i] / (u[i] + 1e-8);
      EXPECT_NEAR(run.parameter().item(i), p[i], 1e-5) << t;
    }
  }
  EXPECT_EQ(wrap_optimizer(def.make(complete(def.options, {}, "optimizer")),
                           {"lazy_rows"})
                ->slots({"table", {DType::kF32, {3, 2}}})
                .size(),
            2);
  test::expect_error(ErrorCode::kInvalidArgument, {"beta1", "[0, 1)"}, [&] {
    complete(def.options, {{"beta1", 1.0}}, "optimizer");
  });
}

TEST(Extension, AWrapperOfAnotherTreeStandsAroundAnOptimizer) {
  OptimizerWrapperRegistry wrappers("wrapper");
  register_optimizer_wrapper_centralize(wrappers);
  test::OptimizerRun run(
      wrappers.get("centralize").make(make_optimizer("sgd", {}), {}),
      {Tensor::of<float>({2, 2}, {0, 0, 0, 0}), Tensor::of<float>({1}, {0})});
  run.step(
      {Tensor::of<float>({2, 2}, {1, 5, 3, 5}), Tensor::of<float>({1}, {2})},
      1);
  EXPECT_TENSOR(run.parameter(0), f32({2, 2}, {1, 0, -1, 0}));
  EXPECT_TENSOR(run.parameter(1), f32({1}, {-2}));  // a bias
}

TEST(Extension, AScheduleOfAnotherTreeSaysTheRate) {
  ScheduleRegistry schedules("schedule");
  register_schedule_triangular(schedules);
  const ScheduleDef& def = schedules.get("triangular");
  const Options options = complete(
      def.options, {{"to", 0.5}, {"half", std::int64_t{4}}}, "schedule");
  const auto rate = [&](std::int64_t step) {
    return def.rate(0.1, options, {.step = step, .warmup = 2});
  };
  EXPECT_DOUBLE_EQ(rate(2), 0.1);
  EXPECT_DOUBLE_EQ(rate(4), 0.3);
  EXPECT_DOUBLE_EQ(rate(6), 0.5);
  EXPECT_DOUBLE_EQ(rate(9), 0.2);
  EXPECT_DOUBLE_EQ(rate(10), 0.1);
}

TEST(Extension, ALayerOfAnotherTreeStandsAmongOthers) {
  LayerRegistry layers("layer");
  register_layer_squeeze_excite(layers);
  LayerStack stack =
      stack_layers({"squeeze-excite(2)"}, {.example = {2, 2, 4}}, layers);
  EXPECT_EQ(stack.made, Shape({2, 2, 4}));
  stack.layers.initialize(1);
  for (const auto& [name, parameter] : stack.layers.parameters()) {
    EXPECT_TRUE(name.starts_with("squeeze-excite1."));
    const TensorType& type = parameter->type();
    parameter->variable.set_tensor(Tensor::zeros(type));
  }
  // The sigmoid of 0 is a half.
  EXPECT_TENSOR(stack.layers(full({DType::kF32, {1, 2, 2, 4}}, 3)),
                full({DType::kF32, {1, 2, 2, 4}}, 1.5));
  test::expect_error(
      ErrorCode::kInvalidArgument,
      {"squeeze-excite", "[height, width, channels]", "layers.0"},
      [&] { stack_layers({"squeeze-excite"}, {.example = {4}}, layers); });
}

TEST(Extension, AViewOfAnotherTreeReplacesAWeight) {
  ParameterViewRegistry views("view");
  register_parameter_view_weight_norm(views);
  const auto view = views.get("weight-norm").make({});
  const Tensor weight = Tensor::of<float>({2, 2}, {3, 1, 4, 0});
  const std::vector<Tensor> first = view->first_values(weight, 1, "weight");
  EXPECT_TENSOR(Value(first[1]), f32({2}, {5, 1}));
  const std::vector<Value> parts{f32({2, 2}, {6, 1, 8, 0}), f32({2}, {5, 2})};
  EXPECT_TENSOR(view->value(weight.type(), {}, parts),
                f32({2, 2}, {3, 2, 4, 0}));
  EXPECT_TRUE(view->declines({DType::kF32, {3}}));
}

TEST(Extension, ASectionOfAnotherTreeEndsARun) {
  RecipeSectionRegistry sections("section");
  register_recipe_section_target(sections);
  sections.freeze();
  const test::TemporaryFolder folder;
  Recipe recipe = parse_recipe(
      "[model]\nname = 'mlp'\n[data]\nname = 'digits'\n"
      "[optimizer]\nname = 'adam'\n[train]\nepochs = 50\n",
      "test", std::vector{"log.folder=" + (folder.path() / "run").string()});
  // A run without the section has no such hook.
  EXPECT_TRUE(section_hooks(recipe, sections).empty());

  recipe.more["target"] = {{"loss", 0.5}};
  TrainObserver quiet;
  Trainer trainer(recipe, {.name = "run"});
  for (auto& hook : section_hooks(recipe, sections)) {
    trainer.add(std::move(hook));
  }
  const TrainResult result = trainer.run(quiet);
  EXPECT_LT(result.epochs, 50);
  EXPECT_LE(result.test.loss(), 0.5);

  recipe.more["target"] = {{"los", 0.5}};
  test::expect_error(ErrorCode::kInvalidArgument, {"target", "loss"},
                     [&] { section_hooks(recipe, sections); });
}

TEST(Extension, AVerbOfAnotherTreeReadsTheCommandLine) {
  cli::VerbRegistry verbs("verb");
  register_verb_losses(verbs);
  const cli::VerbDef& def = verbs.get("losses");
  CLI::App app;
  def.add(*app.add_subcommand(def.name, def.summary));

  const test::TemporaryFolder folder;
  const std::string out = (folder.path() / "run").string();
  TrainObserver quiet;
  Trainer trainer(
      parse_recipe("[model]\nname = 'mlp'\n[data]\nname = 'digits'\n"
                   "[optimizer]\nname = 'adam'\n"
                   "[train]\nepochs = 2\neval_every = 2\n",
                   "test", std::vector{"log.folder=" + out}),
      {.name = "run"});
  trainer.run(quiet);

  ::testing::internal::CaptureStdout();
  app.parse("losses " + out);
  std::istringstream printed(::testing::internal::GetCapturedStdout());
  std::string title, first_epoch, train, held_out, second_epoch;
  std::getline(printed, title);
  printed >> first_epoch >> train >> held_out >> second_epoch;
  EXPECT_EQ(first_epoch, "1");
  EXPECT_GT(std::stod(train), 0);
  EXPECT_EQ(held_out, "nan");  // every second epoch is measured
  EXPECT_EQ(second_epoch, "2");

  EXPECT_THROW(app.parse("losses"), CLI::RequiredError);
  test::expect_error(ErrorCode::kInvalidArgument, {"none"},
                     [&] { app.parse("losses none"); });
}

}  // namespace
}  // namespace weft::extension_test
