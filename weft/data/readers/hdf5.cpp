// Named datasets in HDF5 files (.h5, .hdf5), whose first axis counts examples:
// inputs are read batch by batch, labels once.
#include "weft/data/hdf5.h"

#include <algorithm>

#include "weft/data/named_tensors.h"
#include "weft/data/tensor_set.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class Hdf5Set final : public Dataset {
 public:
  Hdf5Set(const fs::path& path, const Options& options, const Dataset* train)
      : file_(path) {
    name_ = path.string();
    const auto mixed = option<std::int64_t>(options, "mixed");
    names_ = chosen_tensors(file_.names(), options, name_);
    for (const std::string& name : names_) {
      // A batch may end one group of chunks and begin the next.
      add(name, file_.open(name, mixed + 1));
    }
    if (size_ < 1) {
      throw Error(ErrorCode::kDataLoss, name_, "it has no examples");
    }
    const TensorType& first = features_.front().type;
    if (first.dtype == DType::kU8 && first.shape.rank() == 3) {
      pixel_scale_ = unit_scale(first.shape[2]);
    }
    read_labels(train);
    find_blocks(mixed);
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    // Neighbours are read at once, which they are where nothing is shuffled.
    for (std::size_t i = 0; i < rows.size();) {
      std::size_t end = i + 1;
      while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
      for (std::size_t f = 0; f + 1 < names_.size(); ++f) {
        file_.read(names_[f], rows[i],
                   rows[i] + static_cast<std::int64_t>(end - i),
                   row_of(batch[f], i));
      }
      i = end;
    }
    const std::size_t bytes = labels_.bytes() / static_cast<std::size_t>(size_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(static_cast<const std::byte*>(labels_.raw()) +
                      static_cast<std::size_t>(rows[i]) * bytes,
                  bytes, row_of(batch.back(), i));
    }
  }

 private:
  void add(const std::string& name, const TensorType& type) {
    if (!features_.empty() && type.shape[0] != size_) {
      throw Error(ErrorCode::kDataLoss, name_,
                  "'{}' has {} examples, and '{}' has {}", names_[0], size_,
                  name, type.shape[0]);
    }
    size_ = type.shape[0];
    features_.push_back(
        {name, {type.dtype, Shape(type.shape.last(type.shape.rank() - 1))}});
  }

  void read_labels(const Dataset* train) {
    Tensor labels = Tensor::empty(file_.open(names_.back()));
    file_.read(names_.back(), 0, size_, labels.raw());
    labels_ = as_labels(labels, name_);
    features_.back().type.dtype = labels_.dtype();
    TensorLabels said = labels_of(
        name_, labels_,
        train == nullptr ? std::vector<std::string>() : train->classes());
    classes_ = std::move(said.classes);
    target_scale_ = said.scale;
  }

  // Where the largest chunks of the inputs end.
  void find_blocks(std::int64_t mixed) {
    std::int64_t rows = 1;
    for (std::size_t f = 0; f + 1 < names_.size(); ++f) {
      rows = std::max(rows, file_.chunk_rows(names_[f]));
    }
    if (rows == 1) return;
    for (std::int64_t end = rows; end < size_; end += rows) {
      blocks_.push_back(end);
    }
    blocks_.push_back(size_);
    // With all of them in memory, nothing is won by an order.
    const auto all = static_cast<std::int64_t>(blocks_.size());
    mixed_blocks_ = mixed < all ? mixed : 0;
  }

  Hdf5File file_;
  std::vector<std::string> names_;
  Tensor labels_;
};

// The one of the two usual endings that is there.
const char* extension_in(const fs::path& folder) {
  return is_tensor_file(folder, ".hdf5") ? ".hdf5" : ".h5";
}

bool is_hdf5(const fs::path& folder) {
  return is_tensor_file(folder, extension_in(folder));
}

DatasetSplits open_hdf5(const DataRequest& request) {
  return open_tensor_files(request.folder, extension_in(request.folder),
                           [&](const fs::path& path, const Dataset* train) {
                             return std::make_shared<Hdf5Set>(
                                 path, request.options, train);
                           });
}

}  // namespace

void register_data_hdf5(DatasetRegistry& registry) {
  std::vector<OptionSpec> options = named_tensor_specs();
  options.push_back(
      {"mixed",
       std::int64_t{0},
       "chunks that are shuffled with each other, and kept in memory; "
       "0: all examples are shuffled, and each is read alone",
       {.least = 0},
       {},
       "chunks"});
  registry.add({.name = "hdf5",
                .summary = "named datasets in HDF5 (.h5), an example a row",
                .options = std::move(options),
                .open = open_hdf5,
                .is_in = is_hdf5,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
