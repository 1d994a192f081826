// Optimizers over variables: by hand, eagerly and staged.
#include "weft/optim/variable_updater.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/jit/jit.h"

namespace weft::testing::variable_updater_test {
namespace {

using test::expect_error;

Tensor numbers(std::initializer_list<float> values) {
  return Tensor::of<float>({static_cast<Dim>(values.size())}, values);
}

VariableUpdater updater_of(const char* name, const Variable& variable,
                           double lr) {
  const Options options =
      std::string(name) == "momentum" ? Options{{"momentum", 0.5}} : Options{};
  return {make_optimizer(name, options), {variable.state()}, lr};
}

TEST(VariableUpdater, MomentumByHand) {
  const Variable x(numbers({1}), {.name = "x"});
  VariableUpdater updater = updater_of("momentum", x, 0.1);
  const std::vector<Value> gradient{numbers({2})};
  updater.update(gradient);  // v = 2
  EXPECT_FLOAT_EQ(static_cast<float>(x.tensor().item()), 0.8f);
  updater.update(gradient);  // v = 3
  EXPECT_FLOAT_EQ(static_cast<float>(x.tensor().item()), 0.5f);
  EXPECT_EQ(updater.step().tensor().item(), 2);
  ASSERT_EQ(updater.slots().size(), 1u);
  EXPECT_EQ(updater.slots()[0].name, "x.velocity");
  EXPECT_EQ(updater.slots()[0].variable->tensor().item(), 3);
}

TEST(VariableUpdater, RefusesAVariableThatIsThereTwice) {
  const Variable shared(numbers({1}), {.name = "words"});
  const Variable other(numbers({1}), {.name = "other"});
  expect_error(
      ErrorCode::kInvalidArgument, {"optimizer", "'words'", "twice"}, [&] {
        VariableUpdater(make_optimizer("sgd", {}),
                        {shared.state(), other.state(), shared.state()}, 0.1);
      });
}

// As the weights of two layers, which layers know by no other name.
TEST(VariableUpdater, TellsVariablesOfOneNameApart) {
  const Variable a(numbers({1}), {.name = "weight"});
  const Variable b(numbers({1}), {.name = "weight"});
  const auto names_of_slots = [&](std::vector<std::string> given) {
    const VariableUpdater updater(make_optimizer("momentum", {}),
                                  {a.state(), b.state()}, 0.1,
                                  std::move(given));
    std::vector<std::string> names;
    for (const auto& slot : updater.slots()) names.push_back(slot.name);
    return names;
  };
  EXPECT_EQ(names_of_slots({}),
            (std::vector<std::string>{"0.velocity", "1.velocity"}));
  EXPECT_EQ(
      names_of_slots({"in.weight", "out.weight"}),
      (std::vector<std::string>{"in.weight.velocity", "out.weight.velocity"}));
}

// Staged, only the rows that are looked up are changed.
TEST(VariableUpdater, RowsOfATableStagedAsEagerly) {
  const auto table_of = [] {
    return Variable(test::pattern({30, 2}), {.name = "table"});
  };
  const Variable eager = table_of();
  const Variable staged = table_of();
  VariableUpdater one = updater_of("adagrad", eager, 0.1);
  VariableUpdater other = updater_of("adagrad", staged, 0.1);
  const Value rows = Tensor::of<std::int64_t>({5}, {4, 29, 4, 0, 4});
  const auto step = [&](VariableUpdater& updater, const Variable& table) {
    Tape tape;
    const Value all = table.read();
    const Value loss = sum(square(gather(all, rows)));
    updater.update(tape.gradient(loss, {&all, 1}));
  };
  const auto jitted = jit([&] { step(other, staged); });
  for (int i = 0; i < 3; ++i) {
    step(one, eager);
    jitted();
  }
  EXPECT_TRUE(test::near(staged.tensor(), eager.tensor(), 1e-6));
  EXPECT_TRUE(test::near(other.slots()[0].variable->tensor(),
                         one.slots()[0].variable->tensor(), 1e-6));
  bool is_by_rows = false;
  for (const Node& node : jitted.graph()->function().nodes()) {
    is_by_rows = is_by_rows || node.op->name() == "add_rows";
  }
  EXPECT_TRUE(is_by_rows);
}

TEST(VariableUpdater, StagedAsEagerly) {
  const Variable eager(numbers({1, -2}));
  const Variable staged(numbers({1, -2}));
  VariableUpdater one = updater_of("adam", eager, 0.1);
  VariableUpdater other = updater_of("adam", staged, 0.1);
  const auto step = [](VariableUpdater& updater, const Variable& x) {
    const std::vector<Value> gradient{square(x.read())};
    updater.update(gradient);
  };
  const auto jitted = jit([&] { step(other, staged); });
  for (int i = 0; i < 5; ++i) {
    step(one, eager);
    jitted();
  }
  EXPECT_EQ(jitted.core().trace_count(), 1u);
  EXPECT_EQ(other.step().tensor().item(), 5);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(eager.tensor().item(i), staged.tensor().item(i), 1e-6);
  }
}

TEST(VariableUpdater, FollowsTheLearningRate) {
  const Variable x(numbers({1}));
  VariableUpdater updater = updater_of("sgd", x, 0.5);
  const std::vector<Value> gradient{numbers({1})};
  updater.learning_rate().assign(Tensor::scalar(0.25f));
  updater.update(gradient);
  EXPECT_EQ(x.tensor().item(), 0.75);
}

TEST(VariableUpdater, WantsAGradientForEachVariable) {
  const Variable x(numbers({1}));
  VariableUpdater updater = updater_of("sgd", x, 0.5);
  expect_error(ErrorCode::kInvalidArgument, {"0 gradients for 1 variables"},
               [&] { updater.update({}); });
}

TEST(VariableUpdater, MayHaveNothingToChange) {
  const Tensor nothing = Tensor::zeros({DType::kF32, {0}});
  for (const OptimizerDef& def : optimizer_registry().all()) {
    Options options;
    if (def.name == "yellowfin") {
      options = {{"closed_loop", true}, {"sparse", true}};
    }
    for (const std::size_t count : {0u, 1u}) {
      const std::vector<VariableRef> variables(count,
                                               Variable(nothing).state());
      VariableUpdater updater(make_optimizer(def.name, options), variables,
                              0.1);
      updater.update(std::vector<Value>(count, nothing));
      EXPECT_EQ(updater.step().tensor().item(), 1) << def.name;
    }
  }
}

TEST(VariableUpdater, WantsAValueToKeepACopyOf) {
  const Variable x(TensorType{DType::kF32, {2}}, {.name = "x"});
  expect_error(ErrorCode::kInvalidArgument, {"'x' has no value yet"},
               [&] { updater_of("prodigy", x, 1); });
}

TEST(VariableUpdater, RefusesAGradientOfAnotherType) {
  const Variable x(numbers({1, 2}), {.name = "x"});
  VariableUpdater updater = updater_of("sgd", x, 0.5);
  const std::vector<Value> gradient{Tensor::zeros({DType::kF32, {3, 2}})};
  expect_error(ErrorCode::kInvalidArgument,
               {"the gradient of 'x' is f32[3, 2]", "f32[2]"},
               [&] { updater.update(gradient); });
  EXPECT_EQ(updater.step().tensor().item(), 0);
}

TEST(VariableUpdater, RefusesAVariableThatIsNotF32) {
  const Variable x(Tensor::zeros({DType::kF64, {2}}), {.name = "x"});
  expect_error(ErrorCode::kUnsupported, {"'x' is f64"},
               [&] { updater_of("sgd", x, 0.5); });
}

}  // namespace
}  // namespace weft::testing::variable_updater_test
