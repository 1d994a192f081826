// Records of a table as they arrive, each trained on once, in their order: from
// a pipe, a FIFO or standard input, of whatever length.
//
// What comes first decides what all others are read by, as the training part of
// a file does, and a fifth of it is what the model is measured on.
#include <algorithm>
#include <numeric>

#include "weft/base/refusal.h"
#include "weft/data/loader.h"
#include "weft/data/record_stream.h"
#include "weft/data/table.h"
#include "weft/train/step/training_data.h"

namespace weft {
namespace {

// The beginning of a stream, and the stream behind it.
struct OpenedStream {
  explicit OpenedStream(const DataOptions& options)
      : records(options.folder),
        name(options.folder.string()),
        table(table_options(options.own)) {}

  RecordStream records;
  std::string name;
  TableOptions table;  // of what comes behind the beginning
  DatasetSplits first;
};

struct StreamOptions {
  std::int64_t batch = 0;
  std::int64_t batches = 0;  // of an epoch
  bool drops_last = false;   // where it is not full
  bool skips = false;
};

class StreamSource final : public BatchSource {
 public:
  StreamSource(std::shared_ptr<OpenedStream> stream,
               const StreamOptions& options)
      : stream_(std::move(stream)),
        options_(options),
        arrived_(stream_->first.train) {
    // Training begins with the training part of what came first. The buffers
    // hold a full batch and serve all batches.
    for (const Feature& feature : arrived_->features()) {
      TensorType type{feature.type.dtype, {options.batch}};
      for (const Dim dim : feature.type.shape) type.shape.push_back(dim);
      inputs_.push_back({feature.name, type});
      buffers_.push_back(Tensor::zeros(type));
    }
    batch_.tensors.resize(buffers_.size());
  }

  const std::vector<BatchInput>& inputs() const override { return inputs_; }
  std::int64_t batches_per_epoch() const override { return options_.batches; }
  std::int64_t examples_per_epoch() const override {
    return options_.batches * options_.batch;
  }
  BatchPosition position() const override { return next_; }

  const Batch& next() override {
    std::int64_t filled = 0;
    // Records arrive in pieces of any size, of which a batch may need several.
    while (filled < options_.batch && has_more(options_.batch - filled)) {
      const std::int64_t count =
          std::min(options_.batch - filled, arrived_->size() - row_);
      read(filled, count);
      filled += count;
    }
    if (options_.drops_last && filled < options_.batch) filled = 0;
    // A batch without examples says that the stream has ended.
    batch_.size = batch_.whole_size = filled;
    batch_.position = next_;
    for (std::size_t f = 0; f < buffers_.size(); ++f) {
      // The tensors are views: the next batch is written over this one.
      batch_.tensors[f] = buffers_[f].slice(0, filled);
    }
    go_on();
    return batch_;
  }

  void seek(BatchPosition position) override {
    // The end of an epoch is the beginning of the next one, as go_on() has it.
    if (position.batch == options_.batches) position = {position.epoch + 1, 0};
    const std::int64_t distance =
        (position.epoch - next_.epoch) * options_.batches + position.batch -
        next_.batch;
    if (distance < 0 || (distance > 0 && !options_.skips)) refuse(position);
    // What is skipped is read all the same: a pipe knows no other way past it.
    for (std::int64_t i = 0; i < distance; ++i) {
      if (next().whole_size == options_.batch) continue;
      throw Error(ErrorCode::kUnavailable, stream_->name,
                  "ended while what was trained on before was skipped");
    }
  }

 private:
  // Whether there is a record that was not read, waiting for `most` of them.
  bool has_more(std::int64_t most) {
    if (row_ < arrived_->size()) return true;
    TableOptions& table = stream_->table;
    // Messages then name lines of the whole stream.
    table.format.first_line = stream_->records.line();
    const std::string text =
        stream_->records.next(static_cast<std::size_t>(most));
    // Empty lines may be all that is left.
    if (text.find_first_not_of("\r\n") == text.npos) return false;
    arrived_ =
        // The first records tell which columns there are, and by what numbers
        // and words the model was built to read them.
        parse_table(text, stream_->name, table, stream_->first.train.get());
    row_ = 0;
    return true;
  }

  void read(std::int64_t filled, std::int64_t count) {
    rows_.resize(static_cast<std::size_t>(count));
    std::iota(rows_.begin(), rows_.end(), row_);
    std::vector<TensorView> views;
    for (const Tensor& buffer : buffers_) {
      views.push_back(buffer.slice(filled, filled + count).view());
    }
    arrived_->read(rows_, views);
    row_ += count;
  }

  void go_on() {
    if (++next_.batch == options_.batches) next_ = {next_.epoch + 1, 0};
  }

  [[noreturn]] void refuse(BatchPosition position) const {
    throw Error(ErrorCode::kUnsupported, stream_->name,
                "a stream cannot go from batch {} of epoch {} to batch {} of "
                "epoch {}: what went by is gone",
                next_.batch + 1, next_.epoch + 1, position.batch + 1,
                position.epoch + 1)
        .hint(
            "if the stream begins again with the same records, data.skip = "
            "true passes over those that a resumed run was trained on");
  }

  std::shared_ptr<OpenedStream> stream_;
  StreamOptions options_;
  std::vector<BatchInput> inputs_;
  std::vector<Tensor> buffers_;
  DatasetRef arrived_;    // the records that are being read,
  std::int64_t row_ = 0;  // and the first of them that was not
  std::vector<std::int64_t> rows_;
  Batch batch_;
  BatchPosition next_;
};

std::vector<OptionSpec> stream_options() {
  std::vector<OptionSpec> options = table_option_specs();
  options.push_back({"first",
                     std::int64_t{1000},
                     "that decide how all are read; a fifth of them is "
                     "measured on",
                     {.least = 10},
                     {},
                     "records"});
  options.push_back(
      {"batches", std::int64_t{100}, "of an epoch", {.least = 1}});
  options.push_back({"skip", false,
                     "whether a resumed run passes over as many records as "
                     "were trained on; else it is refused"});
  return options;
}

class StreamedData final : public TrainingData {
 public:
  explicit StreamedData(const DataOptions& options)
      : options_(options), stream_(open(options)) {}

  const DataDescription& description() const override {
    return *stream_->first.train;
  }
  bool has(DataPart part) const override { return part != DataPart::kValid; }

  std::unique_ptr<BatchSource> train(const Shard&) const override {
    return std::make_unique<StreamSource>(
        stream_,
        StreamOptions{.batch = options_.batch,
                      .batches = option<std::int64_t>(options_.own, "batches"),
                      .drops_last = options_.drop_last,
                      .skips = option<bool>(options_.own, "skip")});
  }

  std::unique_ptr<BatchSource> measure(DataPart part,
                                       const Shard& shard) const override {
    // Only what came first was kept, so that it can be measured on again.
    const DatasetSplits& first = stream_->first;
    return std::make_unique<Loader>(
        part == DataPart::kTrain ? first.train : first.test,
        LoaderOptions{.batch = options_.batch, .shard = shard});
  }

  std::vector<std::pair<std::string, std::string>> fingerprint()
      const override {
    // Nothing can be told of records that are still to come.
    return {{"stream", stream_->name}};
  }

 private:
  static std::shared_ptr<OpenedStream> open(const DataOptions& options) {
    check(options);
    auto stream = std::make_shared<OpenedStream>(options);
    const std::string text = stream->records.next(
        static_cast<std::size_t>(option<std::int64_t>(options.own, "first")));
    stream->first = split_table(text, stream->name, stream->table);
    // What follows has no header, even where no field of it is a number.
    stream->table.format.names =
        Records(text, stream->name, stream->table.format).names();
    return stream;
  }

  static void check(const DataOptions& options) {
    if (options.folder.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "data.folder",
                  "a stream has no place of its own")
          .hint("name a pipe or file: --data /dev/stdin");
    }
    if (!options.augment.empty()) {
      throw refused("data.augment", in_quotes(options.augment.front()),
                    {"a stream", "it is for images, and these are records",
                     "leave data.augment out"});
    }
    if (options.workers > 1) {
      throw refused("data.source", "'stream'",
                    {fmt::format("{} workers", options.workers),
                     "one of them would read what the others need",
                     "data.source = \"loader\" gives several workers files"},
                    ErrorCode::kUnsupported);
    }
  }

  DataOptions options_;
  std::shared_ptr<OpenedStream> stream_;
};

}  // namespace

void register_batch_source_stream(BatchSourceRegistry& sources) {
  sources.add(
      {.name = "stream",
       .summary = "records of a table as they arrive, each trained on once",
       .options = [](const std::string& name) -> std::vector<OptionSpec> {
         if (name == "csv-stream") return stream_options();
         throw Error(ErrorCode::kInvalidArgument, "stream",
                     "no data '{}': a stream is a 'csv-stream'", name);
       },
       .names = [] { return std::vector<std::string>{"csv-stream"}; },
       .open = [](const DataOptions& options) -> std::unique_ptr<TrainingData> {
         return std::make_unique<StreamedData>(options);
       }});
}

}  // namespace weft
