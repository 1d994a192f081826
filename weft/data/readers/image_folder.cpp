// A folder per class, full of PNG and JPEG files of one size, or scaled to one:
//   FOLDER/train/cat/1.png, FOLDER/test/cat/2.jpg …
// or, without train and test, FOLDER/cat/1.png …, of which a fifth is held
// out. Files are decoded when they are read, so memory stays small.
#include <algorithm>
#include <cstring>

#include "weft/data/image.h"
#include "weft/data/registry.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// A picture file beyond this is refused: it is not one to train on.
constexpr std::size_t kMostFileBytes = std::size_t{256} << 20;

bool is_image_name(const fs::path& path) {
  // std::tolower would go by the locale.
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

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
           !entry.path().filename().string().starts_with(".");
  });
}

std::vector<fs::path> images_in(const fs::path& folder) {
  return list(folder, [](const fs::directory_entry& entry) {
    return entry.is_regular_file() && is_image_name(entry.path());
  });
}

class ImageFolder final : public Dataset {
 public:
  // `classes` are those of the training part; empty to take the subfolders.
  // `size`, height and width, is 0 where all files have one of their own.
  ImageFolder(const fs::path& folder, std::vector<std::string> classes,
              const ImageHeader& size)
      : size_y_(size.height), size_x_(size.width), is_scaled_(size.height > 0) {
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
    size_ = static_cast<std::int64_t>(files_.size());
    if (size_ == 0) {
      throw Error(ErrorCode::kUnavailable, folder.string(),
                  "no subfolder with PNG or JPEG files is here");
    }
    check_sizes();
    features_ = {{"image", {DType::kU8, {size_y_, size_x_, channels_}}},
                 {"label", {DType::kI32, {}}}};
    pixel_scale_ = unit_scale(channels_);
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    auto* images = batch[0].as<std::uint8_t>();
    auto* labels = batch[1].as<std::int32_t>();
    const auto bytes = static_cast<std::size_t>(size_y_ * size_x_ * channels_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      const MappedFile file = open_image_folder(files_[row]);
      Image image = decode_image(file.bytes(), files_[row].string(),
                                 static_cast<int>(channels_));
      if (is_scaled_) image = resize_image(image, size_y_, size_x_);
      // The file may have been replaced since its header was read.
      check_size({image.height, image.width, image.channels}, files_[row]);
      std::memcpy(images + i * bytes, image.pixels.data(), bytes);
      labels[i] = labels_[row];
    }
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

  static MappedFile open_image_folder(const fs::path& path) {
    MappedFile file(path);
    if (file.bytes().size() > kMostFileBytes) {
      throw Error(ErrorCode::kExhausted, path.string(),
                  "larger than the {} bytes allowed for a picture",
                  kMostFileBytes);
    }
    return file;
  }

  // Reads every header, so that a picture of another size is found now and
  // not in the middle of an epoch. One colour picture makes all coloured.
  void check_sizes() {
    for (const auto& path : files_) {
      // Only headers are decoded, and of a mapped file the rest is not even
      // read.
      const MappedFile file = open_image_folder(path);
      const ImageHeader header = read_image_header(file.bytes(), path.string());
      if (size_y_ == 0) {
        size_y_ = header.height;
        size_x_ = header.width;
      }
      if (!is_scaled_) check_size(header, path);
      channels_ = std::max(channels_, header.channels);
    }
  }

  void check_size(const ImageHeader& header, const fs::path& path) const {
    if (header.height == size_y_ && header.width == size_x_) return;
    throw Error(ErrorCode::kDataLoss, path.string(),
                "{} x {} pixels, but {} has {} x {}", header.height,
                header.width, files_[0].string(), size_y_, size_x_)
        .hint("data.height and data.width scale all pictures to one size");
  }

  std::vector<fs::path> files_;
  std::vector<std::int32_t> labels_;
  std::int64_t size_y_;
  std::int64_t size_x_;
  bool is_scaled_;
  std::int64_t channels_ = 1;
};

OptionSpec side(const char* name) {
  return {name,
          std::int64_t{0},
          "to which pictures are scaled; 0: they have one size already",
          {.least = 0, .most = kMostImageSide}};
}

bool is_image_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder, ignored) && !subfolders(folder).empty();
}

DatasetSplits open_image_folder(const DataRequest& request) {
  const fs::path& folder = request.folder;
  const ImageHeader size{
      .height = option<std::int64_t>(request.options, "height"),
      .width = option<std::int64_t>(request.options, "width")};
  if ((size.height == 0) != (size.width == 0)) {
    throw Error(ErrorCode::kInvalidArgument, "data",
                "height and width are given together, or neither is");
  }
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
                .options = {side("height"), side("width")},
                .open = open_image_folder,
                .is_in = is_image_folder,
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
