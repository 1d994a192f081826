// Records that are trained on as they arrive.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/train/step/training_data.h"
#include "weft/train/trainer.h"

namespace weft::stream_test {
namespace {

using test::expect_error;
using test::TemporaryFolder;

// Record i has the number i and is of one of two classes.
std::string records(int begin, int end, bool has_header = true) {
  std::string text = has_header ? "size,kind\n" : "";
  for (int i = begin; i < end; ++i) {
    text += fmt::format("{},{}\n", i, i % 3 == 0 ? "low" : "high");
  }
  return text;
}

std::unique_ptr<TrainingData> opened(const std::filesystem::path& path,
                                     Options own = {}, int workers = 1,
                                     std::int64_t batch = 4) {
  own.insert({"first", std::int64_t{11}});
  own.insert({"batches", std::int64_t{3}});
  own.insert({"standardize", false});
  const BatchSourceDef& def = batch_source_registry().get("stream");
  return open_training_data(
      def, {.name = "csv-stream",
            .folder = path,
            .augment = {},
            .batch = batch,
            .workers = workers,
            .own = complete(def.options("csv-stream"), own, "data")});
}

std::vector<float> sizes(const Batch& batch) {
  const auto span = batch.tensors[0].span<float>();
  return {span.begin(), span.end()};
}

TEST(Stream, GivesEachRecordOnceInOrder) {
  const TemporaryFolder folder;
  const auto data = opened(folder.write("a.csv", records(0, 18)));
  EXPECT_EQ(data->description().classes(),
            (std::vector<std::string>{"high", "low"}));
  const auto source = data->train({});
  EXPECT_EQ(source->examples_per_epoch(), 12);
  // Records 0 and 5 of the first ten are held out.
  EXPECT_EQ(sizes(source->next()), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(sizes(source->next()), (std::vector<float>{6, 7, 8, 9}));
  const Batch& third = source->next();
  EXPECT_EQ(sizes(third), (std::vector<float>{10, 11, 12, 13}));
  EXPECT_EQ(third.tensors[1].span<std::int32_t>()[2], 1);
  EXPECT_EQ(source->position(), (BatchPosition{1, 0}));
  EXPECT_EQ(sizes(source->next()), (std::vector<float>{14, 15, 16, 17}));
  expect_error(ErrorCode::kUnavailable,
               {"batch source 'stream'", "ran dry", "batch 2 of epoch 2"},
               [&] { source->next(); });

  const auto measured = data->measure(DataPart::kTest, {});
  EXPECT_EQ(sizes(measured->next()), (std::vector<float>{0, 5}));
}

TEST(Stream, ALastBatchMayBeShort) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.csv", records(0, 15));
  const auto source = opened(path)->train({});
  for (int i = 0; i < 3; ++i) source->next();
  EXPECT_EQ(sizes(source->next()), (std::vector<float>{14}));
}

// A record without numbers behind the beginning is no header.
TEST(Stream, NamesComeFromTheBeginningAlone) {
  const TemporaryFolder folder;
  std::string text = "kind,shape\n";
  for (int i = 0; i < 16; ++i) text += i % 2 ? "a,round\n" : "b,flat\n";
  const auto source = opened(folder.write("a.csv", text))->train({});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(source->next().size, 4);
}

TEST(Stream, IsTrainedOnWhileItArrives) {
  const TemporaryFolder folder;
  const auto path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::jthread writer([&] {
    std::ofstream out(path);
    for (int i = 0; i < 200; i += 20) {
      out << records(i, i + 20, i == 0) << std::flush;
    }
  });
  Trainer trainer(
      parse_recipe(
          "[model]\nname = 'mlp'\nhidden = [4]\n"
          "[data]\nname = 'csv-stream'\nsource = 'stream'\nfirst = 50\n"
          "batches = 5\n[optimizer]\nname = 'adam'\n"
          "[train]\nepochs = 3\nbatch = 10\n",
          "test",
          std::vector{"data.folder=" + path.string(),
                      "log.folder=" + (folder / "run").string()}),
      {.name = "run"});
  TrainObserver quiet;
  const TrainResult result = trainer.run(quiet);
  EXPECT_EQ(result.epochs, 3);
}

TEST(Stream, SaysWhatARunWantsThatGoesBeyondIt) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.csv", records(0, 100));
  Trainer trainer(
      parse_recipe(
          "[model]\nname = 'mlp'\nhidden = [4]\n"
          "[data]\nname = 'csv-stream'\nsource = 'stream'\nfirst = 50\n"
          "batches = 5\n[optimizer]\nname = 'adam'\n"
          "[train]\nepochs = 3\nbatch = 10\n",
          "test",
          std::vector{"data.folder=" + path.string(),
                      "log.folder=" + (folder / "run").string()}),
      {.name = "run"});
  TrainObserver quiet;
  expect_error(ErrorCode::kUnavailable,
               {"batch source 'stream'", "ran dry", "batch 5 of epoch 2",
                "train.max_steps"},
               [&] { trainer.run(quiet); });
}

TEST(Stream, GoesOnOnlyWhereItIsToldThatItBeginsAgain) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.csv", records(0, 40));
  const auto whole = opened(path)->train({});
  for (int i = 0; i < 4; ++i) whole->next();
  const std::vector<float> fifth = sizes(whole->next());
  expect_error(ErrorCode::kUnsupported, {"what went by is gone", "data.skip"},
               [&] {
                 whole->seek({0, 1});
               });
  expect_error(ErrorCode::kUnsupported, {"batch 2 of epoch 2", "data.skip"},
               [&] {
                 opened(path)->train({})->seek({1, 1});
               });

  const auto resumed = opened(path, {{"skip", true}})->train({});
  resumed->seek({0, 3});
  EXPECT_EQ(resumed->position(), (BatchPosition{1, 0}));
  resumed->seek({1, 1});
  EXPECT_EQ(sizes(resumed->next()), fifth);
  expect_error(ErrorCode::kUnavailable, {"ended while"}, [&] {
    resumed->seek({9, 0});
  });
}

TEST(Stream, RefusesRecordsOfOtherTypes) {
  const TemporaryFolder folder;
  const auto reads = [&](const std::string& more) {
    const auto source =
        opened(folder.write("a.csv", records(0, 10) + more))->train({});
    for (int i = 0; i < 3; ++i) source->next();
  };
  expect_error(ErrorCode::kDataLoss, {"a.csv:13", "tiny"},
               [&] { reads("10,low\ntiny,low\n"); });
  expect_error(ErrorCode::kDataLoss, {"a.csv:12"}, [&] { reads("10\n"); });
  expect_error(ErrorCode::kDataLoss, {"a.csv:12", "middling"},
               [&] { reads("10,middling\n"); });
}

TEST(Stream, RefusesWhatItCannotDo) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.csv", records(0, 20));
  expect_error(ErrorCode::kUnsupported, {"'stream' declines 2 workers"},
               [&] { opened(path, {}, 2); });
  expect_error(ErrorCode::kInvalidArgument, {"/dev/stdin"},
               [&] { opened(""); });
  expect_error(ErrorCode::kInvalidArgument, {"no data 'csv'"},
               [] { batch_source_registry().get("stream").options("csv"); });
}

}  // namespace
}  // namespace weft::stream_test
