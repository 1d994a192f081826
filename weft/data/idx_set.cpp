#include "weft/data/idx_set.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/base/libraries/gzip.h"
#include "weft/data/idx.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// A set unpacks to less than this, or it is not one to hold in memory.
constexpr std::size_t kMostBytes = std::size_t{4} << 30;

fs::path find_either(const fs::path& folder, const std::string& name) {
  // A plain file comes first, as it need not be unpacked.
  for (const char* ending : {"", ".gz"}) {
    fs::path path = folder / (name + ending);
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return {};
}

fs::path require(fs::path found, const fs::path& folder,
                 const std::string& name) {
  if (!found.empty()) return found;
  throw Error(ErrorCode::kUnavailable, folder.string(),
              "neither {} nor {}.gz is here", name, name);
}

std::string images_name(const std::string& prefix) {
  return prefix + "-images-idx3-ubyte";
}

std::string labels_name(const std::string& prefix) {
  return prefix + "-labels-idx1-ubyte";
}

// Parses and insists on u8 of a rank.
IdxArray parse_bytes(ByteSpan bytes, const fs::path& path, int rank) {
  const IdxArray array = parse_idx(bytes, path.string());
  if (array.dtype != DType::kU8) {
    throw Error(ErrorCode::kDataLoss, path.string(),
                "byte 2: holds {}, where u8 is needed", to_string(array.dtype));
  }
  if (array.shape.rank() != rank) {
    throw Error(ErrorCode::kDataLoss, path.string(),
                "byte 3: has {} dims, where {} are needed", array.shape.rank(),
                rank);
  }
  return array;
}

class IdxSet final : public Dataset {
 public:
  IdxSet(const fs::path& images, const fs::path& labels,
         const IdxSetOptions& options)
      // A limit keeps a small damaged archive from unpacking into all memory.
      : image_file_(images, kMostBytes), label_file_(labels, kMostBytes) {
    const IdxArray pixels = parse_bytes(image_file_.bytes(), images, 3);
    const IdxArray names = parse_bytes(label_file_.bytes(), labels, 1);
    if (pixels.shape[0] != names.shape[0]) {
      throw Error(ErrorCode::kDataLoss, labels.string(),
                  "byte 4: {} labels for the {} images of {}", names.shape[0],
                  pixels.shape[0], images.filename().string());
    }
    if (pixels.data.empty()) {
      throw Error(ErrorCode::kDataLoss, images.string(),
                  "byte 4: no pixels: {}", to_string(pixels.shape));
    }
    name_ = options.name;
    size_ = pixels.shape[0];
    // The files stay open, since pixels and labels are views of them.
    pixels_ = pixels.data;
    labels_ = names.data;
    // There are pixels, so size_ is not 0.
    image_bytes_ = pixels.data.size() / static_cast<std::size_t>(size_);
    features_ = {{"image", {DType::kU8, {pixels.shape[1], pixels.shape[2], 1}}},
                 {"label", {DType::kI32, {}}}};
    pixel_scale_ =
        options.pixel_scale.std.empty() ? unit_scale(1) : options.pixel_scale;
    name_classes(options, labels);
    build_pixel_table(options.white, images);
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    auto* images = batch[0].as<std::uint8_t>();
    auto* labels = batch[1].as<std::int32_t>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      const std::uint8_t* from = pixels_.data() + row * image_bytes_;
      std::uint8_t* to = images + i * image_bytes_;
      if (is_scaled_) {
        std::transform(from, from + image_bytes_, to,
                       [&](std::uint8_t pixel) { return table_[pixel]; });
      } else {
        std::memcpy(to, from, image_bytes_);
      }
      labels[i] = labels_[row];
    }
  }

 private:
  void name_classes(const IdxSetOptions& options, const fs::path& path) {
    const auto largest = std::max_element(labels_.begin(), labels_.end());
    classes_ = options.classes;
    if (classes_.empty()) {
      for (int label = 0; label <= *largest; ++label) {
        classes_.push_back(std::to_string(label));
      }
    }
    // Labels are checked here because kernels cannot throw. The data begins
    // behind a header of 8 bytes, as there is one dim.
    if (*largest >= classes_.size()) {
      throw Error(ErrorCode::kDataLoss, path.string(),
                  "byte {}: label {}, but there are only {} classes",
                  8 + (largest - labels_.begin()), *largest, classes_.size());
    }
  }

  void build_pixel_table(int white, const fs::path& path) {
    // Most sets use all 256 values, and are copied as they are.
    is_scaled_ = white != 255;
    if (!is_scaled_) return;
    const auto above =
        std::find_if(pixels_.begin(), pixels_.end(),
                     [&](std::uint8_t pixel) { return pixel > white; });
    if (above != pixels_.end()) {
      throw Error(ErrorCode::kDataLoss, path.string(),
                  "byte {}: pixel {}, but the largest is {}",
                  16 + (above - pixels_.begin()), *above, white);
    }
    // Pixels of 0 to `white` are spread over 0 to 255, rounded.
    for (int pixel = 0; pixel <= white; ++pixel) {
      table_[static_cast<std::size_t>(pixel)] =
          static_cast<std::uint8_t>((pixel * 255 + white / 2) / white);
    }
  }

  UnpackedFile image_file_;
  UnpackedFile label_file_;
  ByteSpan pixels_;
  ByteSpan labels_;
  std::size_t image_bytes_ = 0;
  bool is_scaled_ = false;
  std::array<std::uint8_t, 256> table_{};
};

}  // namespace

fs::path find_idx_images(const fs::path& folder, const std::string& prefix) {
  return find_either(folder, images_name(prefix));
}

fs::path find_idx_labels(const fs::path& folder, const std::string& prefix) {
  return find_either(folder, labels_name(prefix));
}

DatasetRef open_idx_set(const fs::path& folder, const std::string& prefix,
                        const IdxSetOptions& options) {
  return std::make_shared<IdxSet>(
      require(find_idx_images(folder, prefix), folder, images_name(prefix)),
      require(find_idx_labels(folder, prefix), folder, labels_name(prefix)),
      options);
}

}  // namespace weft
