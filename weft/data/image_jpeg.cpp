#include <cstddef>
#include <cstdio>
// libjpeg's header needs the two above.
#include <algorithm>
#include <array>
#include <csetjmp>
#include <jerror.h>
#include <jpeglib.h>

#include "weft/data/image.h"

namespace weft::detail {
namespace {

// A progressive file may repeat scans without end at next to no bytes.
constexpr int kMostScans = 200;

// libjpeg's error handler with the way back. As with libpng, errors leave by
// longjmp over frames that own nothing.
struct JpegErrors {
  jpeg_error_mgr base{};
  std::jmp_buf back{};
  std::array<char, JMSG_LENGTH_MAX> reason{};
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->reason.data());
  std::longjmp(errors->back, 1);
}

// libjpeg only warns about damaged data and guesses the pixels. Guessed
// pixels are wrong pixels; stray bytes between markers do no harm.
void on_message(j_common_ptr info, int level) {
  const bool is_harmless = info->err->msg_code == JWRN_EXTRANEOUS_DATA;
  if (level < 0 && !is_harmless) on_error(info);
}

void on_progress(j_common_ptr info) {
  auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number > kMostScans) {
    info->err->msg_code = JERR_BAD_PROGRESSION;
    on_error(info);
  }
}

class JpegDecoder {
 public:
  explicit JpegDecoder(ByteSpan file) : file_(file) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = on_error;
    errors_.base.emit_message = on_message;
    progress_.progress_monitor = on_progress;
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  // Before it was created, the structure is all zeros, and nothing is freed.
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }

  // Each function that calls libjpeg has a setjmp of its own: the frame that an
  // error returns to must be alive.
  bool read_header() {
    if (setjmp(errors_.back) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, file_.data(), file_.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  ImageHeader header() const {
    return {.height = static_cast<std::int64_t>(info_.image_height),
            .width = static_cast<std::int64_t>(info_.image_width),
            .channels = info_.num_components == 1 ? 1 : 3,
            .depth = info_.data_precision};
  }

  bool start(bool to_colour) {
    if (setjmp(errors_.back) != 0) return false;
    // libjpeg converts between grey and colour as it decodes.
    info_.out_color_space = to_colour ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_start_decompress(&info_);
    return true;
  }

  bool read_rows(std::uint8_t* pixels, std::size_t row_bytes) {
    if (setjmp(errors_.back) != 0) return false;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels + info_.output_scanline * row_bytes;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  std::size_t position() const {
    // What libjpeg has not read yet tells how far it came.
    return info_.src == nullptr ? 0 : file_.size() - info_.src->bytes_in_buffer;
  }
  const char* reason() const { return errors_.reason.data(); }

 private:
  ByteSpan file_;
  JpegErrors errors_;
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
};

void require(bool success, const JpegDecoder& decoder, ByteSpan file,
             std::string_view where) {
  if (success) return;
  // Behind the end libjpeg reads a marker of its own making.
  throw Error(ErrorCode::kDataLoss, where, "byte {}: damaged JPEG: {}",
              std::min(decoder.position(), file.size()), decoder.reason());
}

}  // namespace

ImageHeader decode_jpeg(ByteSpan file, std::string_view where, int channels,
                        Image* image) {
  JpegDecoder decoder(file);
  require(decoder.read_header(), decoder, file, where);
  const ImageHeader header = decoder.header();
  check_image_size(header, file.size(), where);
  if (image == nullptr) return header;

  image->height = header.height;
  image->width = header.width;
  image->channels = channels == 0 ? header.channels : channels;
  require(decoder.start(image->channels == 3), decoder, file, where);
  const auto row_bytes =
      static_cast<std::size_t>(image->width * image->channels);
  image->pixels.resize(static_cast<std::size_t>(image->height) * row_bytes);
  require(decoder.read_rows(image->pixels.data(), row_bytes), decoder, file,
          where);
  return header;
}

}  // namespace weft::detail
