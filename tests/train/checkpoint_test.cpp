#include "weft/train/files/checkpoint.h"

#include <cmath>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::checkpoint_test {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::TemporaryFolder;

Checkpoint checkpoint(std::int64_t step, std::int64_t size = 2) {
  Checkpoint result;
  result.info.recipe = "[model]\nname = \"mlp\"\n";
  result.info.step = step;
  result.info.position = {1, 2};
  result.info.seed = ~std::uint64_t{0};
  result.info.metrics = {{"loss", 0.1}, {"broken", std::nan("")}};
  const Tensor weight = Tensor::zeros({DType::kF32, {size}});
  weight.data<float>()[0] = static_cast<float>(step);
  result.tensors = {{"weight", weight}, {"bias", Tensor::scalar<float>(2)}};
  return result;
}

std::int64_t step_of(const fs::path& path) {
  return CheckpointFile(path).info().step;
}

TEST(CheckpointFolder, SetsAsideWhatIsOfAnotherRun) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  EXPECT_EQ(checkpoints.set_aside(), std::nullopt);
  checkpoints.save(checkpoint(1), /*is_best=*/true);
  checkpoints.save(checkpoint(2), /*is_best=*/false);
  const fs::path earlier = folder.path() / "earlier";
  EXPECT_EQ(checkpoints.set_aside(), earlier);
  EXPECT_EQ(checkpoints.latest(), std::nullopt);
  EXPECT_FALSE(fs::exists(checkpoints.best_path()));
  EXPECT_EQ(step_of(earlier / "best.safetensors"), 1);
  EXPECT_EQ(step_of(earlier / "last.safetensors"), 2);
  EXPECT_TRUE(fs::exists(earlier / "best.json"));
  // A third run has no best one, and that of the first is not its.
  checkpoints.save(checkpoint(3), /*is_best=*/false);
  EXPECT_EQ(checkpoints.set_aside(), earlier);
  EXPECT_EQ(step_of(earlier / "last.safetensors"), 3);
  EXPECT_FALSE(fs::exists(earlier / "best.safetensors"));
}

TEST(CheckpointInfo, SurvivesTheWayThroughJson) {
  const CheckpointInfo info = checkpoint(7).info;
  const CheckpointInfo back = parse_checkpoint_info(to_json(info), "x");
  EXPECT_EQ(back.recipe, info.recipe);
  EXPECT_EQ(back.step, 7);
  EXPECT_EQ(back.position, info.position);
  EXPECT_EQ(back.seed, info.seed);
  EXPECT_EQ(back.metrics.at("loss"), 0.1);
  EXPECT_TRUE(std::isnan(back.metrics.at("broken")));
}

TEST(CheckpointInfo, RefusesDamageAndOtherFormats) {
  const std::string text = to_json(checkpoint(7).info);
  for (std::size_t size = 0; size + 2 < text.size(); size += 5) {
    expect_error(ErrorCode::kDataLoss, {"x"},
                 [&] { parse_checkpoint_info(text.substr(0, size), "x"); });
  }
  expect_error(ErrorCode::kDataLoss, {"x"},
               [] { parse_checkpoint_info("{\"format\": 1}", "x"); });
  expect_error(ErrorCode::kDataLoss, {"x"},
               [] { parse_checkpoint_info("{\"format\": \"1\"}", "x"); });
  for (const char* step : {"-1", "1.5", "1e300", "18446744073709551615"}) {
    std::string damaged = text;
    damaged.replace(damaged.find("\"step\": 7") + 8, 1, step);
    expect_error(ErrorCode::kDataLoss, {"x", "'step'"},
                 [&] { parse_checkpoint_info(damaged, "x"); });
  }
  expect_error(ErrorCode::kUnsupported, {"x", "format 2"},
               [] { parse_checkpoint_info("{\"format\": 2}", "x"); });
}

TEST(CheckpointFolder, KeepsTheLastAndTheBest) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder / "runs/one");
  EXPECT_EQ(checkpoints.latest(), std::nullopt);
  checkpoints.save(checkpoint(1), true);
  checkpoints.save(checkpoint(2), false);
  EXPECT_EQ(checkpoints.latest(), checkpoints.last_path());
  EXPECT_EQ(step_of(checkpoints.last_path()), 2);
  EXPECT_EQ(step_of(checkpoints.best_path()), 1);
  checkpoints.save(checkpoint(3), true);
  EXPECT_EQ(step_of(checkpoints.last_path()), 3);
  EXPECT_EQ(step_of(checkpoints.best_path()), 3);
  // Beside them stands the same JSON for people.
  EXPECT_EQ(read_text(folder / "runs/one/best.json"),
            to_json(checkpoint(3).info));
}

TEST(CheckpointFolder, KeepsThePreviousOneWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  checkpoints.save(checkpoint(1), true);
  for (const bool is_best : {false, true}) {
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before;
    limit.rlim_cur = 4096;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    expect_error(ErrorCode::kExhausted, {folder.path().string(), "safetensors"},
                 [&] { checkpoints.save(checkpoint(2, 10000), is_best); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
  }
  EXPECT_EQ(step_of(checkpoints.last_path()), 1);
  EXPECT_EQ(step_of(checkpoints.best_path()), 1);
  EXPECT_EQ(folder.names().size(), 4u);  // two checkpoints, two JSONs
}

TEST(CheckpointFile, ReadsTheWantedTensorsInOrder) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  checkpoints.save(checkpoint(5), false);
  const CheckpointFile file(checkpoints.last_path());
  const std::vector<CheckpointFile::Wanted> wanted{
      {"bias", {DType::kF32, {}}}, {"weight", {DType::kF32, {2}}}};
  const auto tensors = file.read(wanted);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].item(), 2);
  EXPECT_EQ(tensors[1].item(), 5);
}

TEST(CheckpointFile, ListsEverythingThatDoesNotFit) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  checkpoints.save(checkpoint(5), false);
  const CheckpointFile file(checkpoints.last_path());
  const std::vector<CheckpointFile::Wanted> wanted{
      {"weight", {DType::kF32, {3}}}, {"scale", {DType::kBF16, {4}}}};
  expect_error(ErrorCode::kDataLoss,
               {"last.safetensors", "weight is f32[2], not f32[3]",
                "missing: scale bf16[4]", "not wanted: bias f32[]"},
               [&] { file.read(wanted); });
  const std::vector<CheckpointFile::Wanted> some{{"bias", {DType::kF32, {}}}};
  EXPECT_EQ(file.read(some, /*allow_more=*/true).size(), 1u);
}

TEST(CheckpointFile, RefusesWeightsWithoutInfo) {
  const TemporaryFolder folder;
  write_safetensors(folder / "w.safetensors", checkpoint(1).tensors);
  expect_error(ErrorCode::kDataLoss, {"w.safetensors", "no checkpoint"},
               [&] { CheckpointFile{folder / "w.safetensors"}; });
}

TEST(CheckpointFile, NeverTakesDamageForAnotherHeader) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  checkpoints.save(checkpoint(5), false);
  const std::string whole = read_text(checkpoints.last_path());
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const auto path = folder.write("cut.safetensors", whole.substr(0, size));
    expect_error(ErrorCode::kDataLoss, {"cut.safetensors"},
                 [&] { CheckpointFile{path}; });
  }
}

}  // namespace
}  // namespace weft::checkpoint_test
