#include "tests/support/sample_files.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <jpeglib.h>
#include <png.h>

namespace weft::test {

Bytes idx_file(const std::vector<std::uint32_t>& dims, const Bytes& data) {
  Bytes file{0, 0, 0x08, static_cast<std::uint8_t>(dims.size())};
  for (const std::uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      file.push_back(static_cast<std::uint8_t>(dim >> shift));
    }
  }
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

Bytes cifar_file(const std::vector<std::uint8_t>& labels) {
  Bytes file;
  for (std::size_t record = 0; record < labels.size(); ++record) {
    file.push_back(labels[record]);
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
        file.push_back(static_cast<std::uint8_t>(record + 3 * pixel + channel));
      }
    }
  }
  return file;
}

Bytes png_file(std::uint32_t height, std::uint32_t width,
               std::uint32_t channels, const Bytes& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0,
                            nullptr);
  Bytes file(size);
  png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0,
                            nullptr);
  file.resize(size);
  return file;
}

Bytes jpeg_file(std::uint32_t height, std::uint32_t width,
                std::uint32_t channels, const Bytes& pixels) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = static_cast<int>(channels);
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < height) {
    auto* row = const_cast<JSAMPLE*>(pixels.data()) +
                std::size_t{info.next_scanline} * width * channels;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes file(buffer, buffer + size);
  std::free(buffer);
  return file;
}

Bytes safetensors_file(const std::string& header, const Bytes& data) {
  Bytes file;
  for (int i = 0; i < 8; ++i) {
    file.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  }
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

}  // namespace weft::test
