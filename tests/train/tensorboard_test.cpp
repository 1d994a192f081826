// What TensorBoard is given, read back field by field.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "tests/support/training_runs.h"

#include "weft/base/file.h"
#include "weft/data/image.h"
#include "weft/graph/text.h"
#include "weft/onnx/wire.h"
#include "weft/train/tensorboard/event_file.h"
#include "weft/train/tensorboard/summaries.h"
#include "weft/train/tensorboard/xspace.h"
#include "weft/train/trainer.h"

namespace weft::tensorboard_test {
namespace {

using onnx::WireReader;

ByteSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string text_of(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

// The fields of a message by number: the bytes of the last one of each.
std::map<int, std::string> fields_of(std::string_view message) {
  std::map<int, std::string> fields;
  for (WireReader reader(bytes_of(message), "test"); reader.next();) {
    const bool is_bytes = reader.kind() == WireKind::kBytes;
    const ByteSpan bytes = is_bytes ? reader.bytes() : ByteSpan();
    fields[reader.number()] = {bytes.begin(), bytes.end()};
  }
  return fields;
}

double double_at(const std::string& bytes, std::size_t index) {
  double value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// The records of a file, whose checksums must be right.
std::vector<std::string> records_of(const std::filesystem::path& path) {
  const std::string file = read_text(path);
  const auto masked = [](std::string_view bytes) {
    const std::uint32_t crc = crc32c(bytes);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
  };
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
  };
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t size = number(at);
    EXPECT_EQ(number(at + 8), masked(std::string_view(file).substr(at, 8)));
    records.push_back(file.substr(at + 12, size));
    EXPECT_EQ(number(at + 12 + size), masked(records.back()));
    at += 16 + size;
  }
  return records;
}

TEST(TensorBoard, ChecksumsAreCastagnolis) {
  // RFC 3720, appendix B.4, and the usual check value.
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(TensorBoard, HistogramsCountEveryNumberOnce) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor values = Tensor::of<float>(
      {8}, {-2, 0, 1, 1.05f, 3, std::nanf(""), kInfinity, 1e30f});
  WireWriter summary;
  add_histogram(summary, "w", values);
  std::map<std::string, std::string> told;  // contents by tag
  for (WireReader reader(bytes_of(summary.written()), "test"); reader.next();) {
    auto value = fields_of(text_of(reader.bytes()));
    told[value[1]] = value[5];
  }
  ASSERT_EQ(told.size(), 2u);
  EXPECT_TRUE(told.contains("w/not finite"));
  auto fields = fields_of(told["w"]);
  const std::string& limits = fields[6];
  const std::string& counts = fields[7];
  ASSERT_EQ(limits.size(), counts.size());
  double sum = 0;
  for (std::size_t i = 0; i < counts.size() / 8; ++i) {
    sum += double_at(counts, i);
    if (i == 0) continue;
    EXPECT_GT(double_at(limits, i), double_at(limits, i - 1));
  }
  EXPECT_EQ(sum, 6);
  // No bucket at either end is empty, and the first holds -2.
  EXPECT_GT(double_at(counts, 0), 0);
  EXPECT_GT(double_at(limits, 0), -2);
  EXPECT_LT(double_at(limits, 0), -1.7);
  EXPECT_GT(double_at(counts, counts.size() / 8 - 1), 0);
}

TEST(TensorBoard, GraphsNameNodesAndTheirInputs) {
  const Graph graph = parse_graph(
      "func @f(%0 \"fc.weight\": f32[2, 3], %1: f32[3, 4]) -> (f32[2, 4]) {\n"
      "  %2 = matmul(%0, %1) {transpose_a = false, transpose_b = false, "
      "activation = \"none\"} : f32[2, 4]\n"
      "  %3 = relu(%2) : f32[2, 4]\n  return %3\n}\n",
      "test");
  const std::string text = graph_def(graph.functions[0]);
  std::vector<std::map<int, std::string>> nodes;
  for (WireReader reader(bytes_of(text), "test"); reader.next();) {
    nodes.push_back(fields_of(text_of(reader.bytes())));
  }
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0][1], "fc/weight");
  EXPECT_EQ(nodes[1][1], "argument");
  EXPECT_EQ(nodes[2][2], "matmul");
  EXPECT_EQ(nodes[2][3], "argument");  // the last of its inputs
  EXPECT_EQ(nodes[3][3], "matmul");
}

TEST(TensorBoard, ProfilesKeepWhatOverlapsApart) {
  using Form = ProfileEvent::Form;
  const auto conv = span_kind({"conv2d", "kernel", "onednn:brgconv", 3e9, 2e6});
  const auto bucket = span_kind({"bucket 0", "network"});
  const std::string written = xspace(std::vector<ProfileEvent>{
      {conv, Form::kSpan, 0, 2.0, 2.5},
      {conv, Form::kSpan, 1, 2.25, 2.5},
      {bucket, Form::kMessage, 0, 2.5, 3.5},
      {bucket, Form::kMessage, 0, 3.0, 4.0},  // while the first is under way
      {bucket, Form::kMessage, 0, 3.5, 4.0},
      {bucket, Form::kQuantity, 0, 2.0, 2.0, 7}});
  const std::string plane = fields_of(written)[1];
  EXPECT_EQ(fields_of(plane)[2], "/host:CPU");
  std::vector<std::pair<std::string, int>> lines;  // names, numbers of events
  std::vector<std::int64_t> begins;                // in picoseconds
  bool has_kernel = false;
  for (WireReader reader(bytes_of(plane), "test"); reader.next();) {
    if (reader.number() == 4) {
      const std::string entry = text_of(reader.bytes());
      has_kernel |= entry.find("onednn:brgconv") != std::string::npos;
    }
    if (reader.number() != 3) continue;
    lines.emplace_back();
    const std::string line = text_of(reader.bytes());
    for (WireReader part(bytes_of(line), "test"); part.next();) {
      if (part.number() == 2) lines.back().first = text_of(part.bytes());
      if (part.number() != 4) continue;
      ++lines.back().second;
      const std::string event = text_of(part.bytes());
      for (WireReader field(bytes_of(event), "test"); field.next();) {
        if (field.number() == 2) begins.push_back(field.integer());
      }
    }
  }
  EXPECT_TRUE(has_kernel);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1].second, 1);
  EXPECT_EQ(lines[2], std::pair(std::string("network"), 2));
  EXPECT_EQ(lines[3], std::pair(std::string("network"), 1));
  constexpr std::int64_t kSecond = 1'000'000'000'000;
  EXPECT_EQ(begins, (std::vector<std::int64_t>{0, kSecond / 4, kSecond / 2,
                                               3 * kSecond / 2, kSecond}));
}

const char* const kRecipe = R"toml(
[model]
name = "mlp"
hidden = [8]
[data]
name = "digits"
[optimizer]
name = "adam"
[train]
epochs = 2
batch = 64
)toml";

std::filesystem::path only_file_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  EXPECT_EQ(files.size(), 1u);
  return files.at(0);
}

// How often each tag is told.
std::map<std::string, int> tags_of(const std::vector<std::string>& records) {
  std::map<std::string, int> tags;
  for (const std::string& record : records) {
    auto event = fields_of(record);
    if (!event.contains(5)) continue;
    for (WireReader value(bytes_of(event[5]), "test"); value.next();) {
      ++tags[fields_of(text_of(value.bytes()))[1]];
    }
  }
  return tags;
}

TEST(TensorBoard, ARunIsTold) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> overrides{
      "log.folder=" + (folder / "run").string(), "tensorboard.folder=board",
      "tensorboard.every=10"};
  TrainObserver quiet;
  Trainer(parse_recipe(kRecipe, "test", overrides), {.name = "run"}).run(quiet);
  const auto file = only_file_in(folder / "run" / "board");
  EXPECT_NE(file.filename().string().find("tfevents"), std::string::npos);
  const auto records = records_of(file);
  EXPECT_EQ(fields_of(records[0])[3], "brain.Event:2");
  EXPECT_TRUE(std::ranges::any_of(records, [](const std::string& record) {
    return fields_of(record).contains(4);  // the graph
  }));
  auto tags = tags_of(records);
  EXPECT_EQ(tags["loss/train"], 2);
  EXPECT_EQ(tags["accuracy/held out"], 2);
  EXPECT_EQ(tags["fc1.weight"], 2);
  EXPECT_EQ(tags["gradient/fc1.weight"], 2);
  EXPECT_EQ(tags["batch/0"], 1);
  EXPECT_EQ(tags["loss/step"], 4);  // of 46 steps
  EXPECT_EQ(tags["_hparams_/session_start_info"], 1);
  EXPECT_EQ(tags["_hparams_/session_end_info"], 1);
}

// Whoever reads both files of a run that was stopped has each step once.
TEST(TensorBoard, AResumedRunTellsWhereItGoesOn) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> overrides{
      "log.folder=" + (folder / "run").string(), "tensorboard.folder=board",
      "tensorboard.every=5"};
  const Recipe recipe = parse_recipe(kRecipe, "test", overrides);
  class Stopper : public TrainObserver {
   public:
    explicit Stopper(std::filesystem::path board) : board_(std::move(board)) {}
    void on_step(const TrainProgress&) override {
      if (++steps_ != 10) return;
      stop = true;
      // A killed process leaves what is in the file by now.
      told_ = tags_of(records_of(only_file_in(board_)))["loss/step"];
    }
    int told() const { return told_; }
    std::atomic<bool> stop = false;

   private:
    std::filesystem::path board_;
    int steps_ = 0;
    int told_ = 0;
  } stopper(folder / "run" / "board");
  Trainer stopped(recipe, {.name = "run", .stop = &stopper.stop});
  EXPECT_THROW(stopped.run(stopper), Error);
  EXPECT_EQ(stopper.told(), 2);
  // Names have the second in which a file was begun.
  const auto first = only_file_in(folder / "run" / "board");
  const auto moved = folder / "first";
  std::filesystem::rename(first, moved);
  TrainObserver quiet;
  Trainer(recipe, {.name = "run", .is_resumed = true}).run(quiet);
  for (const auto& [file, step] :
       {std::pair(moved, 1), {only_file_in(folder / "run" / "board"), 12}}) {
    int begins = 0;
    for (const std::string& record : records_of(file)) {
      if (!fields_of(record).contains(7)) continue;
      ++begins;
      EXPECT_EQ(fields_of(fields_of(record)[7]).size(), 1u);
      for (WireReader reader(bytes_of(record), "test"); reader.next();) {
        if (reader.number() != 2) continue;
        EXPECT_EQ(reader.integer(), step);
      }
    }
    EXPECT_EQ(begins, 1) << file;
  }
}

TEST(TensorBoard, ARunThatEndsEarlyIsOver) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> overrides{
      "log.folder=" + (folder / "run").string(), "tensorboard.folder=board",
      "train.epochs=9", "train.patience=1", "optimizer.lr=1e-30"};
  TrainObserver quiet;
  const TrainResult result =
      Trainer(parse_recipe(kRecipe, "test", overrides), {.name = "run"})
          .run(quiet);
  ASSERT_EQ(result.epochs, 2);
  auto tags = tags_of(records_of(only_file_in(folder / "run" / "board")));
  EXPECT_EQ(tags["_hparams_/session_end_info"], 1);
}

// An epoch is told before it is saved: a run that was killed behind that would
// not tell it again.
TEST(TensorBoard, AnEpochIsToldBeforeItIsSaved) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> overrides{
      "log.folder=" + (folder / "run").string(), "tensorboard.folder=board"};
  class Failing : public TrainHook {
    void on_measure(TrainLoop&) override {
      throw Error(ErrorCode::kInternal, "test", "the end");
    }
  };
  Trainer trainer(parse_recipe(kRecipe, "test", overrides), {.name = "run"});
  trainer.add(std::make_unique<Failing>());
  TrainObserver quiet;
  EXPECT_THROW(trainer.run(quiet), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "run" / "last.safetensors"));
  auto tags = tags_of(records_of(only_file_in(folder / "run" / "board")));
  EXPECT_EQ(tags["loss/train"], 1);
}

// The first worker writes what all of them have computed.
TEST(TensorBoard, SeveralWorkersShowGradients) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> overrides{
      "log.folder=" + (folder / "run").string(), "tensorboard.folder=board"};
  test::train_on_threads(parse_recipe(kRecipe, "test", overrides), 2);
  auto tags = tags_of(records_of(only_file_in(folder / "run" / "board")));
  EXPECT_EQ(tags["gradient/fc1.weight"], 2);
  EXPECT_EQ(tags["fc1.weight"], 2);
}

}  // namespace
}  // namespace weft::tensorboard_test
