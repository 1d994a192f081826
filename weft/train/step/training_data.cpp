#include "weft/train/step/training_data.h"

#include "weft/data/checked_source.h"

namespace weft {
namespace {

class CheckedData final : public TrainingData {
 public:
  CheckedData(std::string_view source, std::shared_ptr<const TrainingData> data)
      : name_(fmt::format("batch source '{}'", source)),
        data_(std::move(data)) {}

  const DataDescription& description() const override {
    return data_->description();
  }
  bool has(DataPart part) const override { return data_->has(part); }
  std::unique_ptr<BatchSource> train(const Shard& shard) const override {
    return std::make_unique<CheckedSource>(name_, data_->train(shard));
  }
  std::unique_ptr<BatchSource> measure(DataPart part,
                                       const Shard& shard) const override {
    return std::make_unique<CheckedSource>(name_, data_->measure(part, shard));
  }
  std::vector<std::pair<std::string, std::string>> fingerprint()
      const override {
    return data_->fingerprint();
  }

 private:
  std::string name_;
  std::shared_ptr<const TrainingData> data_;
};

}  // namespace

std::unique_ptr<TrainingData> open_training_data(const BatchSourceDef& def,
                                                 const DataOptions& options) {
  // Sources may come from outside, and are checked whoever wrote them.
  return std::make_unique<CheckedData>(def.name, def.open(options));
}

std::shared_ptr<const TrainingData> checked_data(
    std::shared_ptr<const TrainingData> data, std::string_view source) {
  return std::make_shared<CheckedData>(source, std::move(data));
}

std::string_view to_string(DataPart part) {
  switch (part) {
    case DataPart::kTrain:
      return "train";
    case DataPart::kValid:
      return "valid";
    case DataPart::kTest:
      return "test";
  }
  WEFT_CHECK(false, "an unknown part");
}

DataPart data_part(std::string_view name) {
  for (const DataPart part :
       {DataPart::kTrain, DataPart::kValid, DataPart::kTest}) {
    if (to_string(part) == name) return part;
  }
  throw Error(ErrorCode::kInvalidArgument, "part", "data have no part '{}'",
              name)
      .hint("train, valid or test");
}

}  // namespace weft
