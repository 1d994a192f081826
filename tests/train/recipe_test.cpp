#include "weft/train/recipe/recipe.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::recipe_test {
namespace {

using test::expect_error;

// Sections by line: model 1, data 4, optimizer 7, train 12.
const std::string kRecipe = R"([model]
name = "lstm-lm"
hidden = 100
[data]
name = "cifar10"
augment = ["crop", "flip"]
[optimizer]
name = "momentum"
lr = { schedule = "cosine", from = 0.1, to = 0.001, warmup = 100 }
momentum = 0.8
weight_decay = 1e-4
[train]
epochs = 20
batch = 64
dtype = "bf16"
seed = 7
)";

Recipe parse(const std::string& text,
             const std::vector<std::string>& overrides = {}) {
  return parse_recipe(text, "a.toml", overrides);
}

// Expects an error about kRecipe with `line` replaced by `text`.
void expect_refused(std::size_t line, const std::string& text,
                    std::initializer_list<std::string> parts) {
  std::string recipe;
  std::size_t begin = 0;
  for (std::size_t number = 1; begin < kRecipe.size(); ++number) {
    const std::size_t end = kRecipe.find('\n', begin) + 1;
    recipe += number == line ? text + "\n" : kRecipe.substr(begin, end - begin);
    begin = end;
  }
  expect_error(ErrorCode::kInvalidArgument, parts, [&] { parse(recipe); });
  expect_error(ErrorCode::kInvalidArgument, {"a.toml:" + std::to_string(line)},
               [&] { parse(recipe); });
}

TEST(Recipe, ReadsEverySection) {
  const Recipe recipe = parse(kRecipe);
  EXPECT_EQ(recipe.model.name, "lstm-lm");
  EXPECT_EQ(std::get<std::int64_t>(recipe.model.options.at("hidden")), 100);
  EXPECT_EQ(std::get<std::int64_t>(recipe.model.options.at("layers")), 2);
  EXPECT_EQ(recipe.data.name, "cifar10");
  EXPECT_EQ(recipe.data.augment,
            (std::vector<std::string>{"crop(padding=4)", "flip(chance=0.5)"}));
  EXPECT_EQ(recipe.optimizer.name, "momentum");
  EXPECT_EQ(recipe.optimizer.lr.name, "cosine");
  EXPECT_EQ(to_string(recipe.optimizer.lr),
            "cosine(from=0.1, to=0.001, warmup=100)");
  EXPECT_EQ(std::get<double>(recipe.optimizer.options.at("momentum")), 0.8);
  EXPECT_EQ(recipe.optimizer.clip_norm, 0);
  EXPECT_EQ(recipe.train.epochs, 20);
  EXPECT_EQ(recipe.train.batch, 64);
  EXPECT_EQ(recipe.train.dtype, DType::kBF16);
  EXPECT_EQ(recipe.train.seed, 7);
  EXPECT_FALSE(recipe.train.check_numerics);
}

TEST(Recipe, TakesAPlainLearningRateAndDefaults) {
  const Recipe recipe = parse(
      "model.name='mlp'\ndata.name='digits'\n"
      "optimizer = {name='adam', lr=1}\n");
  EXPECT_EQ(recipe.optimizer.lr, constant_rate(1));
  EXPECT_EQ(std::get<double>(recipe.optimizer.options.at("beta2")), 0.999);
  EXPECT_EQ(recipe.train, TrainRecipe{});
}

TEST(Recipe, PrintsATextThatReadsBackAsTheSame) {
  std::vector<std::string> schedules{
      "0.25", "'one-cycle(0.25, rise=0.5)'",
      "{schedule='step', from=1, factor=0.5, every=3}",
      "{schedule='linear', from=0.1, to=1e-7, warmup=3}"};
  for (const auto& lr : schedules) {
    const Recipe recipe =
        parse(kRecipe, {"optimizer.lr=" + lr, "optimizer.clip_norm=5",
                        "log.folder=\"odd \\\"name\\\\\\t\\u0001 ü\"",
                        "data.folder=/data"});
    const std::string text = to_toml(recipe);
    EXPECT_EQ(parse(text), recipe) << text;
    EXPECT_EQ(to_toml(parse(text)), text);
  }
}

TEST(Recipe, RefusesUnknownKeysWithTheNearestOne) {
  expect_refused(7, "[optimiser]",
                 {"unknown key 'optimiser' (did you mean 'optimizer'?)",
                  "keys at this place: model, task, data, optimizer, train, "
                  "privacy, compiler, "
                  "sync, simulate, log"});
  expect_refused(14, "bach = 3",
                 {"unknown key 'train.bach' (did you mean 'train.batch'?)",
                  "keys at this place: epochs, batch"});
  expect_refused(10, "momentun = 0.9", {"did you mean 'optimizer.momentum'?"});
  expect_refused(10, "beta1 = 0.9", {"unknown key 'optimizer.beta1'"});
  expect_refused(3, "hiden = 3", {"did you mean 'model.hidden'?"});
  expect_refused(2, "nam = 'mlp'", {"did you mean 'model.name'?"});
  expect_refused(9, "lr = {schedule = 'constant', form = 1}",
                 {"did you mean 'optimizer.lr.from'?"});
  expect_refused(9, "lr = {from = 1, to = 2}",
                 {"unknown key 'optimizer.lr.to'"});
}

TEST(Recipe, RefusesUnknownNames) {
  expect_refused(2, "name = 'lstm-lmm'", {"lstm-lm"});
  expect_refused(5, "name = 'cifar100'", {"did you mean 'cifar10'?"});
  expect_refused(8, "name = 'momentun'", {"momentum"});
  expect_refused(6, "augment = ['crop', 'flop']", {"did you mean 'flip'?"});
  expect_refused(6, "augment = ['flip', 'flip']", {"twice"});
  expect_refused(6, "augment = ['crop(paddin=2)']",
                 {"did you mean 'padding'?"});
  expect_refused(6, "augment = ['crop(padding=-1)']", {"in [0, 1024]"});
  expect_refused(6, "augment = ['erase(least=0.5)']", {"least = 0.5"});
  expect_refused(15, "dtype = 'f16'", {"train.dtype", "f32, bf16"});
  expect_refused(9, "lr = {schedule = 'cosin', from = 1}",
                 {"did you mean 'cosine'?"});
}

TEST(Recipe, RefusesWrongTypes) {
  expect_refused(13, "epochs = 2.5", {"train.epochs must be an integer"});
  expect_refused(13, "epochs = '2'", {"train.epochs", "not a string"});
  expect_refused(10, "momentum = true",
                 {"optimizer.momentum must be a number, not a boolean"});
  expect_refused(9, "lr = [1]", {"optimizer.lr must be a number, not a list"});
  expect_refused(6, "augment = 'crop'", {"must be a list of strings"});
  expect_refused(6, "augment = [1]", {"must be a list of strings"});
  expect_refused(2, "name = 7", {"model.name must be a string"});
  expect_refused(3, "hidden = 'wide'", {"model.hidden must be an integer"});
  expect_error(ErrorCode::kInvalidArgument,
               {"train must be a table, not an integer", "a.toml:1"},
               [] { parse("train = 3\n"); });
}

TEST(Recipe, RefusesValuesOutOfRange) {
  expect_refused(13, "epochs = 0", {"train.epochs = 0 must be in [1"});
  expect_refused(14, "batch = -1", {"train.batch"});
  expect_refused(16, "seed = -1", {"train.seed = -1 must be at least 0"});
  expect_refused(9, "lr = 0.0", {"optimizer.lr = 0 must be above 0"});
  expect_refused(9, "lr = inf", {"optimizer.lr"});
  expect_refused(9, "lr = nan", {"optimizer.lr"});
  expect_refused(10, "momentum = 1",
                 {"optimizer.momentum = 1 must be in [0, 1)"});
}

TEST(Recipe, RefusesMissingNames) {
  expect_error(ErrorCode::kInvalidArgument, {"lacks 'model.name'", "a.toml"},
               [] { parse(""); });
  expect_error(ErrorCode::kInvalidArgument, {"lacks 'data.name'", "a.toml"},
               [] { parse("[model]\nname='mlp'\n[data]\n"); });
}

TEST(Recipe, ReadsHowSeveralWorkersSynchronise) {
  EXPECT_EQ(parse(kRecipe + "[sync]\n"), parse(kRecipe));
  const Recipe recipe = parse(kRecipe +
                              "[sync]\npolicy='server'\ncodec='3lc'\n"
                              "bucket_bytes=1024\noverlap=false\n");
  EXPECT_EQ(recipe.sync.policy, "server(quorum=0, deadline=0, in_part=false)");
  EXPECT_EQ(recipe.sync.codec, "3lc(s=1, zero_run=true)");
  EXPECT_EQ(recipe.sync.bucket_bytes, 1024);
  EXPECT_FALSE(recipe.sync.overlap);
  EXPECT_EQ(parse(to_toml(recipe)), recipe);
  expect_error(
      ErrorCode::kInvalidArgument,
      {"unknown key 'sync.polcy'", "did you mean 'sync.policy'", "a.toml:18"},
      [] { parse(kRecipe + "[sync]\npolcy='allreduce'\n"); });
}

TEST(Recipe, NamesLineAndColumnOfBadSyntax) {
  expect_error(ErrorCode::kInvalidArgument, {"a.toml:2:"},
               [] { parse("[model]\nname = \n"); });
  expect_error(ErrorCode::kInvalidArgument, {"a.toml:3"},
               [] { parse("[model]\nname='a'\nname='b'\n"); });
  expect_error(ErrorCode::kInvalidArgument, {"a.toml:1"},
               [] { parse("x = \"\xff\xfe\""); });
}

TEST(RecipeOverride, SetsValuesOfEveryKind) {
  const Recipe recipe =
      parse(kRecipe, {"train.epochs=3", "train.dtype=f32", "data.augment=[]",
                      "optimizer.lr.from=0.5", "train.check_numerics=true",
                      "train.batching=never", "train.max_frames=500",
                      "log.folder=2024-01-01", "optimizer.clip_norm=1"});
  EXPECT_EQ(recipe.train.epochs, 3);
  EXPECT_EQ(recipe.train.dtype, DType::kF32);
  EXPECT_TRUE(recipe.data.augment.empty());
  EXPECT_EQ(std::get<double>(recipe.optimizer.lr.options.at("from")), 0.5);
  EXPECT_EQ(std::get<double>(recipe.optimizer.lr.options.at("to")), 0.001);
  EXPECT_TRUE(recipe.train.check_numerics);
  EXPECT_EQ(recipe.train.batching, "never");
  EXPECT_EQ(recipe.train.max_frames, 500);
  EXPECT_EQ(recipe.train.recursion_workers, 0);
  EXPECT_EQ(recipe.log.folder, "2024-01-01");
  EXPECT_EQ(recipe.optimizer.clip_norm, 1.0);
}

TEST(RecipeOverride, IsNamedInErrors) {
  expect_error(ErrorCode::kInvalidArgument,
               {"unknown key 'optimiser' (did you mean 'optimizer'?)",
                "in: command line, --set optimiser.lr=0.1",
                "keys at this place: model, task, data, optimizer, train, "
                "privacy, compiler, sync, simulate, log"},
               [] { parse(kRecipe, {"optimiser.lr=0.1"}); });
  expect_error(ErrorCode::kInvalidArgument,
               {"train.epochs", "--set train.epochs=many"},
               [] { parse(kRecipe, {"train.epochs=many"}); });
  expect_error(ErrorCode::kInvalidArgument,
               {"train.batch is an integer, not a table"},
               [] { parse(kRecipe, {"train.batch.size=1"}); });
}

TEST(RecipeOverride, RefusesWhatIsNoAssignment) {
  for (const char* text : {"train.epochs", "=3", "train..epochs=3", ".a=1",
                           "tr ain.epochs=3", "log.folder=\"open"}) {
    expect_error(ErrorCode::kInvalidArgument, {std::string("--set ") + text},
                 [&] { parse(kRecipe, {text}); });
  }
}

TEST(RecipeOverride, CannotSmuggleInOtherKeys) {
  const Recipe recipe = parse(kRecipe, {"log.folder=1\n[train]\nepochs = 99"});
  EXPECT_EQ(recipe.train.epochs, 20);
  EXPECT_EQ(recipe.log.folder, "1\n[train]\nepochs = 99");
}

TEST(LoadRecipe, PutsRunsIntoAFolderOfTheRecipesName) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("mine.toml", kRecipe);
  EXPECT_EQ(load_recipe(path).log.folder, "runs/mine");
  expect_error(ErrorCode::kUnavailable, {"none.toml"},
               [&] { load_recipe(folder / "none.toml"); });
}

// What keeps accuracy, unless the recipe says otherwise.
TEST(Recipe, SmallTensorsAreThoseOfTheCodec) {
  const auto min_elements = [](std::vector<std::string> overrides) {
    overrides.insert(overrides.end(),
                     {"model.name=mlp", "data.name=digits",
                      "optimizer.name=sgd", "log.folder=runs/x"});
    return parse_recipe("", "test", overrides).sync.min_elements;
  };
  EXPECT_EQ(min_elements({}), 256);
  EXPECT_EQ(min_elements({"sync.codec=3lc"}), 256);
  EXPECT_EQ(min_elements({"sync.codec=3lc(1.75)"}), 1000);
  EXPECT_EQ(min_elements({"sync.codec=3lc(1.75) | zstd"}), 1000);
  EXPECT_EQ(min_elements({"sync.codec=3lc(1.75)", "sync.min_elements=7"}), 7);
  EXPECT_EQ(min_elements({"sync.codec=auto"}), 256);
}

TEST(Recipe, WrappersOfAnOptimizerAreCheckedAndKept) {
  const Recipe recipe = parse(
      kRecipe, {"optimizer.wrap=[\"accumulate(2)\", \"lookahead(steps=5)\"]"});
  EXPECT_EQ(recipe.optimizer.wrap,
            (std::vector<std::string>{"accumulate(batches=2)",
                                      "lookahead(steps=5, alpha=0.5)"}));
  EXPECT_EQ(parse(to_toml(recipe)), recipe);
  expect_error(ErrorCode::kInvalidArgument,
               {"lookahed", "did you mean 'lookahead'?", "optimizer.wrap"},
               [] { parse(kRecipe, {"optimizer.wrap=[\"lookahed(5)\"]"}); });
}

TEST(Recipe, LayersAreWrittenOutAndRefusedWhenTheyAreRead) {
  const auto with = [](const std::string& layers) {
    return parse(kRecipe,
                 {"model={name = \"sequential\", layers = " + layers + "}"});
  };
  const Recipe recipe =
      with("[\"max-pool\", \"residual([dropout(0.25)])\", \"linear\"]");
  EXPECT_EQ(option<std::vector<std::string>>(recipe.model.options, "layers"),
            (std::vector<std::string>{
                "max-pool(window=2, stride=0, padding=0, ceil=false)",
                "residual(layers=[dropout(rate=0.25)])",
                "linear(outputs=0, bias=true)"}));
  EXPECT_EQ(parse(to_toml(recipe)), recipe);
  expect_error(ErrorCode::kInvalidArgument,
               {"did you mean 'linear'?", "layers.1", "model.layers"},
               [&] { with("[\"relu\", \"liner\"]"); });
  expect_error(ErrorCode::kInvalidArgument,
               {"rate", "[0, 1)", "layers.0, dropout(1)", "layers.2"}, [&] {
                 with("[\"relu\", \"relu\", \"residual([dropout(1)])\"]");
               });
}

TEST(Recipe, AnOptimizerOfAllGradientsWaitsForAllOfThem) {
  const std::vector<std::string> prodigy{"optimizer={name = \"prodigy\"}"};
  EXPECT_EQ(parse(kRecipe, prodigy).optimizer.name, "prodigy");
  expect_error(ErrorCode::kInvalidArgument,
               {"looks at all gradients together", "sync.overlap_forward"},
               [&] {
                 parse(kRecipe, {prodigy[0], "sync.overlap_forward=true"});
               });
}

TEST(Recipe, GroupsSayWhatIsDifferent) {
  const std::string groups = R"(
[[optimizer.groups]]
parameters = "*.bias"
weight_decay = 0.0
[[optimizer.groups]]
parameters = "embedding.*"
name = "adagrad"
lr_scale = 0.5
wrap = ["lazy_rows"]
[[optimizer.groups]]
parameters = "first.*"
frozen = true
)";
  std::string text = kRecipe;
  text.insert(text.find("[train]"), groups);
  const Recipe recipe = parse(text);
  ASSERT_EQ(recipe.optimizer.groups.size(), 3u);
  const GroupRecipe& biases = recipe.optimizer.groups[0];
  EXPECT_EQ(biases.name, "momentum");
  EXPECT_EQ(std::get<double>(biases.options.at("momentum")), 0.8);
  EXPECT_EQ(std::get<double>(biases.options.at("weight_decay")), 0);
  EXPECT_EQ(recipe.optimizer.groups[1].name, "adagrad");
  EXPECT_EQ(recipe.optimizer.groups[1].lr_scale, 0.5);
  EXPECT_EQ(recipe.optimizer.groups[1].wrap,
            std::vector<std::string>{"lazy_rows"});
  EXPECT_TRUE(recipe.optimizer.groups[2].is_frozen);
  EXPECT_EQ(parse(to_toml(recipe)), recipe);

  const auto expect_group_refused =
      [](const std::string& group, std::initializer_list<std::string> parts) {
        expect_error(ErrorCode::kInvalidArgument, parts, [&] {
          parse(kRecipe, {"optimizer.groups=[{" + group + "}]"});
        });
      };
  expect_group_refused("lr_scale=1",
                       {"lacks 'optimizer.groups.0.parameters'", "--set"});
  expect_group_refused("parameters=\"*\", frozen=true, lr_scale=2",
                       {"unknown key 'optimizer.groups.0.lr_scale'"});
  expect_group_refused("parameters=\"*\", wieght_decay=0",
                       {"did you mean 'optimizer.groups.0.weight_decay'?"});
  expect_group_refused("parameters=\"*\", name=\"adma\"",
                       {"did you mean 'adam'?", "optimizer.groups"});
  expect_group_refused("parameters=\"*\", wrap=[\"lazy_row\"]",
                       {"optimizer.groups.0.wrap", "'lazy_rows'?"});
  // The slots of both would have one name.
  expect_error(ErrorCode::kInvalidArgument,
               {"optimizer.groups.0.wrap", "'lookahead' is there twice"}, [&] {
                 parse(kRecipe, {"optimizer.wrap=[\"lookahead(5)\"]",
                                 "optimizer.groups=[{parameters=\"*\", "
                                 "wrap=[\"lookahead(2)\"]}]"});
               });
}

}  // namespace
}  // namespace weft::recipe_test
