#include "weft/train/step/training_data.h"

#include "weft/data/checked_source.h"

namespace weft {
namespace {

class CheckedData final : public TrainingData {
 public:
  CheckedData(const BatchSourceDef& def, std::unique_ptr<TrainingData> data)
      : name_(fmt::format("batch source '{}'", def.name)),
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
  std::unique_ptr<TrainingData> data_;
};

}  // namespace

std::unique_ptr<TrainingData> open_training_data(const BatchSourceDef& def,
                                                 const DataOptions& options) {
  return std::make_unique<CheckedData>(def, def.open(options));
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

}  // namespace weft
