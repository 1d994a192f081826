// What recipes say of views of parameters, trained, saved, resumed and shared
// among workers.
#include <atomic>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/files/safetensors.h"
#include "weft/nn/view.h"
#include "weft/ops/ops.h"
#include "weft/train/trained_model.h"
#include "weft/train/trainer.h"

namespace weft::views_test {
namespace {

using test::expect_error;

class ViewsInTraining : public ::testing::Test {
 protected:
  // A network of two matrices on the digits: [64, 32] and [32, 10].
  Recipe recipe(const std::string& folder, const std::string& views,
                std::vector<std::string> overrides = {}) const {
    overrides.push_back("log.folder=" + (folder_ / folder).string());
    return parse_recipe(R"(
[model]
name = "mlp"
hidden = [32]
views = [)" + views + R"(]
[data]
name = "digits"
[optimizer]
name = "adam"
lr = 0.01
[train]
epochs = 6
batch = 128
)",
                        "test", overrides);
  }

  std::map<std::string, Tensor> saved(const std::string& run) const {
    const SafetensorsFile file(folder_ / run / "last.safetensors");
    std::map<std::string, Tensor> tensors;
    for (const auto& entry : file.entries()) {
      tensors[entry.name] = file.read(entry);
    }
    return tensors;
  }

  test::TemporaryFolder folder_;
};

// An element of model.views.
std::string view(std::string_view parameters, std::string_view text) {
  return fmt::format("{{parameters = \"{}\", view = \"{}\"}}", parameters,
                     text);
}

const std::string kMasked = view("fc1.weight", "masked(density=0.2)");
const std::string kLowRank = view("fc2.weight", "low-rank(rank=3)");

TEST_F(ViewsInTraining, AreReadBackFromTheText) {
  const Recipe written = recipe("run", kMasked + ", " + kLowRank);
  ASSERT_EQ(written.model.views.size(), 2u);
  EXPECT_EQ(written.model.views[0].view,
            "masked(density=0.2, by=magnitude, gradient=kept)");
  EXPECT_EQ(parse_recipe(to_toml(written), "again"), written);
}

TEST_F(ViewsInTraining, AreRefusedBeforeAnyStep) {
  const auto refused = [&](const std::string& views,
                           std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::kInvalidArgument, parts,
                 [&] { Trainer(recipe("run", views), {.name = "run"}); });
  };
  refused(view("*", "masqued"),
          {"in: model.views.0.view, test:", "did you mean 'masked'?"});
  refused(view("*", "masked(density=2)"), {"model.views.0", "density"});
  refused("{parameters = \"*\", view = \"ternary\", bits = 3}",
          {"model.views.0", "bits"});
  refused(view("fc7.weight", "ternary"),
          {"model.views.0", "did you mean 'fc1.weight'?",
           "in: model.views.0, test:5"});
  refused(kMasked + ", " + view("fc1.*", "ternary"),
          {"model.views.1", "both for parameter 'fc1.weight'"});
  refused(view("fc2.weight", "low-rank(rank=11)"),
          {"model.views.0", "at most 10"});
}

TEST_F(ViewsInTraining, GoOnWhereTheyWere) {
  TrainObserver quiet;
  for (const char* text :
       {"quantized(bits=2)", "ternary", "masked(density=0.3, by=random)",
        "surgery", "low-rank(rank=3)"}) {
    const auto run = [&](const char* folder) {
      return recipe(folder, view("*.weight", text));
    };
    const TrainResult whole =
        Trainer(run("whole"), {.name = "views"}).run(quiet);
    Recipe half = run("parts");
    half.train.epochs = 3;
    Trainer(half, {.name = "views"}).run(quiet);
    const TrainResult parts =
        Trainer(run("parts"), {.name = "views", .is_resumed = true}).run(quiet);
    EXPECT_GT(whole.test.get("accuracy"), 0.6) << text;
    EXPECT_EQ(parts.test.get("accuracy"), whole.test.get("accuracy")) << text;
    const auto a = saved("whole");
    const auto b = saved("parts");
    ASSERT_EQ(a.size(), b.size()) << text;
    for (const auto& [name, tensor] : a) {
      EXPECT_TRUE(identical(tensor, b.at(name))) << text << " " << name;
    }
    std::filesystem::remove_all(folder_ / "whole");
    std::filesystem::remove_all(folder_ / "parts");
  }
}

// What is loaded computes with the masks of the checkpoint, not with those of
// its first values.
TEST_F(ViewsInTraining, AreLoadedWithTheModel) {
  TrainObserver quiet;
  Trainer(recipe("run", kMasked), {.name = "run"}).run(quiet);
  const TrainedModel trained =
      load_trained(folder_ / "run" / "last.safetensors");
  const auto tensors = saved("run");
  const Value mask = tensors.at("fc1.weight.mask");
  EXPECT_EQ(sum(cast(mask, DType::kI64)).tensor().item(), 410);  // of 2,048
  for (const auto& declared : trained.assembly.model->declared_parameters()) {
    if (declared.name != "fc1.weight") continue;
    const Value own = tensors.at("fc1.weight");
    EXPECT_TRUE(identical(nn::value_of(declared.parameter).tensor(),
                          where(mask, own, scalar_like(own, 0)).tensor()));
  }
}

TEST_F(ViewsInTraining, AreTheSameForSeveralWorkers) {
  TrainObserver quiet;
  const std::string views = kMasked + ", " + kLowRank;
  Trainer(recipe("one", views), {.name = "one"}).run(quiet);
  ThreadWorld world(2);
  world.run([&](Transport& transport) {
    set_thread_count(1);
    TrainObserver observer;
    Trainer(recipe("two", views), {.name = "two", .transport = &transport})
        .run(observer);
  });
  const auto one = saved("one");
  for (const auto& [name, tensor] : saved("two")) {
    if (name.starts_with("sync.")) continue;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      ASSERT_NEAR(tensor.item(i), one.at(name).item(i), 1e-5) << name;
    }
  }
}

}  // namespace
}  // namespace weft::views_test
