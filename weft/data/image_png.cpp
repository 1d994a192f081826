#include <array>
#include <csetjmp>
#include <cstring>
#include <png.h>

#include "weft/data/image.h"

namespace weft::detail {
namespace {

// What libpng's callbacks see. Errors leave libpng by longjmp, as it wants:
// no C++ exception crosses its frames, and nothing with a destructor lives in
// a function that is jumped out of.
struct PngInput {
  ByteSpan file;
  std::size_t position = 0;
  std::array<char, 128> reason{};
};

void on_error(png_structp png, png_const_charp message) {
  auto* input = static_cast<PngInput*>(png_get_error_ptr(png));
  // The array was zeros, and its last byte stays 0: the text ends there.
  std::strncpy(input->reason.data(), message, input->reason.size() - 1);
  std::longjmp(png_jmpbuf(png), 1);
}

// Without this, libpng would print its warnings to standard error.
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep to, std::size_t size) {
  auto* input = static_cast<PngInput*>(png_get_io_ptr(png));
  const std::size_t left = input->file.size() - input->position;
  if (size > left) {
    input->position = input->file.size();
    png_error(png, "the file ends too early");
  }
  std::memcpy(to, input->file.data() + input->position, size);
  input->position += size;
}

// libpng's two structures, freed on every way out.
class PngDecoder {
 public:
  explicit PngDecoder(ByteSpan file) {
    input_.file = file;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input_, on_error,
                                  on_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw Error(ErrorCode::kExhausted, "png", "no memory for libpng");
    }
    png_set_read_fn(png_, &input_, on_read);
    // The limits keep a small file from asking for much memory.
    png_set_user_limits(png_, kMostImageSide, kMostImageSide);
    png_set_chunk_malloc_max(png_, file.size() + 1024);
    // Damage is damage, also in a chunk that says nothing about the pixels.
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_info(png_, info_);
    return true;
  }

  ImageHeader header() const {
    const int kind = png_get_color_type(png_, info_);
    const bool is_palette = (kind & PNG_COLOR_MASK_PALETTE) != 0;
    return {
        .height = static_cast<std::int64_t>(png_get_image_height(png_, info_)),
        .width = static_cast<std::int64_t>(png_get_image_width(png_, info_)),
        .channels = (kind & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1,
        .has_alpha = (kind & PNG_COLOR_MASK_ALPHA) != 0,
        .depth = is_palette ? 8 : png_get_bit_depth(png_, info_)};
  }

  // After this a row has width × channels bytes.
  bool convert_to(bool to_colour) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const bool is_colour = header().channels == 3;
    // Palettes, small bit depths and transparency become plain bytes first, so
    // that all files look alike from here on.
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_strip_alpha(png_);
    if (to_colour && !is_colour) png_set_gray_to_rgb(png_);
    if (!to_colour && is_colour) {
      png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, -1, -1);
    }
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }

  bool read_rows(png_bytep* rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    // What follows the pixels is read too, since damage there is damage.
    png_read_end(png_, nullptr);
    return true;
  }

  const PngInput& input() const { return input_; }

 private:
  PngInput input_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

void require(bool success, const PngDecoder& decoder, std::string_view where) {
  if (success) return;
  throw Error(ErrorCode::kDataLoss, where, "byte {}: damaged PNG: {}",
              decoder.input().position, decoder.input().reason.data());
}

}  // namespace

ImageHeader decode_png(ByteSpan file, std::string_view where, int channels,
                       Image* image) {
  PngDecoder decoder(file);
  require(decoder.read_header(), decoder, where);
  const ImageHeader header = decoder.header();
  check_image_size(header, file.size(), where);
  if (image == nullptr) return header;

  image->height = header.height;
  image->width = header.width;
  image->channels = channels == 0 ? header.channels : channels;
  require(decoder.convert_to(image->channels == 3), decoder, where);
  const auto row_bytes =
      static_cast<std::size_t>(image->width * image->channels);
  // A row of another size would be written beyond the pixels.
  WEFT_CHECK(decoder.row_bytes() == row_bytes);
  const auto height = static_cast<std::size_t>(image->height);
  image->pixels.resize(height * row_bytes);
  // Interlaced files are decoded in passes over all rows, so libpng asks for
  // all of them at once.
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) {
    rows[y] = image->pixels.data() + y * row_bytes;
  }
  require(decoder.read_rows(rows.data()), decoder, where);
  return header;
}

}  // namespace weft::detail

namespace weft {

std::string encode_png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  // The first call says how many bytes there are.
  png_alloc_size_t size = 0;
  std::string file;
  if (png_image_write_to_memory(&header, nullptr, &size, 0, image.pixels.data(),
                                0, nullptr) != 0) {
    file.resize(size);
    if (png_image_write_to_memory(&header, file.data(), &size, 0,
                                  image.pixels.data(), 0, nullptr) != 0) {
      return file;
    }
  }
  throw Error(ErrorCode::kExhausted, "png", "{}", header.message);
}

}  // namespace weft
