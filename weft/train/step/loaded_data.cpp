#include "weft/train/step/loaded_data.h"

#include "weft/base/libraries/sha256.h"
#include "weft/data/loader.h"

namespace weft {
namespace {

// So many examples of each part of the data are compared: enough to tell other
// files, and other orders, from these, in milliseconds.
constexpr std::int64_t kExamples = 128;

std::string sha256_of(const void* bytes, std::size_t size) {
  return sha256({static_cast<const std::uint8_t*>(bytes), size});
}

std::string content_of(const Dataset& data) {
  const std::int64_t count = std::min(kExamples, data.size());
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    // The examples are spread over the whole, so that files of other lengths or
    // orders show.
    rows.push_back(i * data.size() / count);
  }
  std::vector<Tensor> batch;
  std::vector<TensorView> views;
  for (const Feature& feature : data.features()) {
    std::vector<Dim> dims{count};
    for (const Dim dim : feature.type.shape.dims()) dims.push_back(dim);
    batch.push_back(Tensor::zeros({feature.type.dtype, Shape(dims)}));
    views.push_back(batch.back().view());
  }
  data.read(rows, views);
  // A digest of digests needs no copy of all tensors in a row.
  std::string digests;
  for (const Tensor& tensor : batch) {
    digests += sha256_of(tensor.raw(), tensor.bytes());
  }
  return sha256_of(digests.data(), digests.size());
}

class LoadedData final : public TrainingData {
 public:
  LoadedData(DatasetSplits splits, const DataOptions& options)
      : options_(options), splits_(std::move(splits)) {
    const bool is_measured =
        splits_.valid != nullptr || splits_.test != nullptr;
    // A run that could not measure would have nothing to choose its best
    // checkpoint by.
    if (splits_.train != nullptr && is_measured) {
      for (const DataPart part : {DataPart::kValid, DataPart::kTest}) {
        if (has(part)) check_part(part);
      }
      return;
    }
    throw Error(ErrorCode::kInvalidArgument, "data", "there is no part to {}",
                is_measured ? "train on" : "measure on");
  }

  const DataDescription& description() const override { return *splits_.train; }
  bool has(DataPart part) const override { return of(part) != nullptr; }

  std::unique_ptr<BatchSource> train(const Shard& shard) const override {
    return std::make_unique<Loader>(
        splits_.train,
        LoaderOptions{
            .batch = options_.batch,
            // What a lane carries from batch to batch belongs to the text that
            // comes next in it, so running text keeps its order.
            .shuffle = !splits_.train->is_sequential(),
            .drop_last = options_.drop_last,
            .seed = options_.seed,
            .augment = options_.augment,
            .shard = shard,
            .poisson = options_.poisson,
            .prefetch = prefetch()});
  }

  std::unique_ptr<BatchSource> measure(DataPart part,
                                       const Shard& shard) const override {
    // Measuring goes through all examples in their order and unchanged, so that
    // scores can be compared.
    return std::make_unique<Loader>(
        of(part),
        LoaderOptions{
            .batch = options_.batch, .shard = shard, .prefetch = prefetch()});
  }

  std::vector<std::pair<std::string, std::string>> fingerprint()
      const override {
    std::vector<std::pair<std::string, std::string>> items;
    for (const DataPart part :
         {DataPart::kTrain, DataPart::kValid, DataPart::kTest}) {
      if (has(part)) add_part(part, *of(part), items);
    }
    return items;
  }

 private:
  const DatasetRef& of(DataPart part) const {
    switch (part) {
      case DataPart::kTrain:
        return splits_.train;
      case DataPart::kValid:
        return splits_.valid;
      case DataPart::kTest:
        return splits_.test;
    }
    WEFT_CHECK(false, "an unknown part");
  }

  int prefetch() const {
    return options_.makes_ahead ? LoaderOptions().prefetch : 0;
  }

  // What is trained on one is measured on the other. Axes that vary are as long
  // as the longest example of each.
  void check_part(DataPart part) const {
    const std::vector<Feature>& due = splits_.train->features();
    const std::vector<Feature>& found = of(part)->features();
    bool fits = found.size() == due.size();
    for (std::size_t i = 0; fits && i < due.size(); ++i) {
      Shape shape = found[i].type.shape;
      // Names tell those apart that are alike, and may stand in another order.
      fits = found[i].name == due[i].name &&
             found[i].type.dtype == due[i].type.dtype &&
             shape.rank() == due[i].type.shape.rank();
      if (!fits) break;
      for (const int axis : due[i].varying) {
        shape[axis] = due[i].type.shape[axis];
      }
      fits = shape == due[i].type.shape;
    }
    if (fits) return;
    throw Error(ErrorCode::kInvalidArgument, "data",
                "the {} part has other features than the training part",
                to_string(part))
        .detail("training:" + text_of(due))
        .detail(fmt::format("{}:{}", to_string(part), text_of(found)));
  }

  static std::string text_of(const std::vector<Feature>& features) {
    std::string text;
    for (const Feature& feature : features) {
      text += fmt::format(" {} {}", feature.name, to_string(feature.type));
    }
    return text;
  }

  static void add_part(
      DataPart part, const Dataset& data,
      std::vector<std::pair<std::string, std::string>>& items) {
    items.emplace_back(
        fmt::format("{} data", to_string(part)),
        fmt::format("{} examples of{}, {} classes", data.size(),
                    text_of(data.features()), data.classes().size()));
    if (data.size() > 0) {
      items.emplace_back(fmt::format("content of the {} data", to_string(part)),
                         // 64 bits tell files apart that differ by mistake, and
                         // fit into a message.
                         content_of(data).substr(0, 16));
    }
  }

  DataOptions options_;
  DatasetSplits splits_;
};

}  // namespace

std::unique_ptr<TrainingData> loaded_data(DatasetSplits splits,
                                          const DataOptions& options) {
  return std::make_unique<LoadedData>(std::move(splits), options);
}

}  // namespace weft
