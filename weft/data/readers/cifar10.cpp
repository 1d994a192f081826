// CIFAR-10 in its binary version: data_batch_*.bin and test_batch.bin, each
// of any whole number of records.
#include "weft/data/cifar10.h"

#include <algorithm>

#include "weft/data/registry.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// The mean and the deviation of the 50,000 training images, per channel.
const PixelScale kPixelScale{{125.306918f, 122.950394f, 113.865383f},
                             {62.993219f, 62.088708f, 66.704900f}};

const std::vector<std::string> kClasses{
    "airplane", "automobile", "bird",  "cat",  "deer",
    "dog",      "frog",       "horse", "ship", "truck"};

std::vector<fs::path> train_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("data_batch_") && name.ends_with(".bin")) {
      files.push_back(entry.path());
    }
  }
  // A folder lists its files in any order, and examples are numbered by it.
  std::sort(files.begin(), files.end());
  return files;
}

bool is_cifar10(const fs::path& folder) { return !train_files(folder).empty(); }

class Cifar10 final : public Dataset {
 public:
  explicit Cifar10(const std::vector<fs::path>& paths) {
    name_ = "cifar10";
    features_ = {{"image", {DType::kU8, {kCifarSide, kCifarSide, 3}}},
                 {"label", {DType::kI32, {}}}};
    classes_ = kClasses;
    pixel_scale_ = kPixelScale;
    for (const auto& path : paths) {
      // Files are mapped: the system keeps of them what is used.
      files_.emplace_back(path);
      size_ += check_cifar(files_.back().bytes(), path.string());
      ends_.push_back(size_);
    }
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    auto* images = batch[0].as<std::uint8_t>();
    auto* labels = batch[1].as<std::int32_t>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint8_t* record = record_at(rows[i]);
      // A record is a label of one byte, then three planes of pixels.
      labels[i] = *record;
      copy_cifar_image(record, images + i * 3 * kCifarPlane);
    }
  }

 private:
  const std::uint8_t* record_at(std::int64_t row) const {
    // The file is the first one that ends behind the row.
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), row);
    const std::int64_t begin = end == ends_.begin() ? 0 : *(end - 1);
    const auto file = static_cast<std::size_t>(end - ends_.begin());
    return files_[file].bytes().data() +
           static_cast<std::size_t>(row - begin) * kCifarRecord;
  }

  std::vector<MappedFile> files_;
  std::vector<std::int64_t> ends_;  // rows up to and including each file
};

DatasetSplits open_cifar10(const DataRequest& request) {
  const auto train = train_files(request.folder);
  if (train.empty()) {
    throw Error(ErrorCode::kUnavailable, request.folder.string(),
                "no data_batch_*.bin is here");
  }
  DatasetSplits splits;
  splits.train = std::make_shared<Cifar10>(train);
  splits.test = std::make_shared<Cifar10>(
      std::vector<fs::path>{request.folder / "test_batch.bin"});
  return splits;
}

}  // namespace

void register_data_cifar10(DatasetRegistry& registry) {
  registry.add(
      {.name = "cifar10",
       .summary = "photographs of ten kinds, 50,000 + 10,000 of 32 x 32",
       .open = open_cifar10,
       .is_in = is_cifar10,
       .sources = {{.url = "https://www.cs.toronto.edu/~kriz/"
                           "cifar-10-binary.tar.gz",
                    .name = "cifar-10-binary.tar.gz",
                    .sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8"
                              "d9ddda3db29a59bca1dd",
                    .bytes = 170052171,
                    .is_archive = true}},
       .terms = "Krizhevsky 2009; no licence stated, cite the report"});
}

}  // namespace weft
