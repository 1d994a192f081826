// A folder per class, full of PNG and JPEG files of one size, or scaled to one:
//   FOLDER/train/cat/1.png, FOLDER/test/cat/2.jpg …
// or, without train and test, FOLDER/cat/1.png …, of which a fifth is held
// out. Files are decoded when they are read, so memory stays small.
#include <algorithm>

#include "weft/data/picture_set.h"
#include "weft/data/registry.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

template <class Keep>
std::vector<fs::path> list(const fs::path& folder, Keep keep) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (keep(entry)) found.push_back(entry.path());
  }
  if (error) {
    throw Error(ErrorCode::kUnavailable, folder.string(),
                "cannot list the folder: {}", error.message());
  }
  // A folder lists its entries in any order, and classes are numbered by it.
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> subfolders(const fs::path& folder) {
  return list(folder, [](const fs::directory_entry& entry) {
    // Hidden folders are those of other programs.
    return entry.is_directory() &&
           !entry.path().filename().string().starts_with('.');
  });
}

std::vector<fs::path> images_in(const fs::path& folder) {
  return list(folder, [](const fs::directory_entry& entry) {
    return entry.is_regular_file() && is_picture_name(entry.path());
  });
}

class ImageFolder final : public PictureSet {
 public:
  // `classes` are those of the training part; empty to take the subfolders.
  // `size`, height and width, is 0 where all files have one of their own.
  ImageFolder(const fs::path& folder, std::vector<std::string> classes,
              const ImageHeader& size)
      : PictureSet(size) {
    name_ = folder.filename().string();
    classes_ = std::move(classes);
    const bool takes_classes = classes_.empty();
    for (const auto& subfolder : subfolders(folder)) {
      const std::string label = subfolder.filename().string();
      // A test part with classes of its own would be numbered differently from
      // what the model was trained on.
      if (takes_classes) classes_.push_back(label);
      add_class(subfolder, index_of(label, subfolder));
    }
    if (files_.empty()) {
      throw Error(ErrorCode::kUnavailable, folder.string(),
                  "no subfolder with PNG or JPEG files is here");
    }
    describe(std::move(labels_));
  }

 private:
  std::int32_t index_of(const std::string& label, const fs::path& path) const {
    const auto found = std::find(classes_.begin(), classes_.end(), label);
    if (found == classes_.end()) {
      throw Error(ErrorCode::kDataLoss, path.string(),
                  "class '{}' is not among the {} of the training part", label,
                  classes_.size());
    }
    return static_cast<std::int32_t>(found - classes_.begin());
  }

  void add_class(const fs::path& subfolder, std::int32_t label) {
    for (auto& path : images_in(subfolder)) {
      files_.push_back(std::move(path));
      labels_.push_back(label);
    }
  }

  void with_picture(std::size_t row, const UsePicture& use) const override {
    const MappedFile file(files_[row]);
    use(file.bytes(), files_[row].string());
  }

  std::vector<fs::path> files_;
  std::vector<std::int32_t> labels_;  // until they are described
};

bool has_picture(const fs::path& folder) {
  std::error_code ignored;
  return std::any_of(
      fs::directory_iterator(folder, ignored), fs::directory_iterator(),
      [](const auto& entry) { return is_picture_name(entry.path()); });
}

// Folders of other formats have folders, too.
bool is_image_folder(const fs::path& folder) {
  std::error_code ignored;
  const fs::path train =
      fs::is_directory(folder / "train", ignored) ? folder / "train" : folder;
  return fs::is_directory(train, ignored) &&
         std::ranges::any_of(subfolders(train), has_picture);
}

DatasetSplits open_image_folder(const DataRequest& request) {
  const fs::path& folder = request.folder;
  const ImageHeader size = picture_size(request.options);
  const auto read = [&](const fs::path& part,
                        std::vector<std::string> classes) {
    return std::make_shared<ImageFolder>(part, std::move(classes), size);
  };
  if (!fs::is_directory(folder / "train")) {
    return hold_out_fifth(read(folder, {}));
  }
  DatasetSplits splits;
  splits.train = read(folder / "train", {});
  splits.test = read(folder / "test", splits.train->classes());
  return splits;
}

}  // namespace

void register_data_image_folder(DatasetRegistry& registry) {
  registry.add({.name = "image_folder",
                .summary = "PNG and JPEG files in a folder per class",
                .options = picture_size_specs(),
                .open = open_image_folder,
                .is_in = is_image_folder,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
