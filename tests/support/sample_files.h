// Small well-formed files of the formats that Weft reads, for tests to break.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::test {

using Bytes = std::vector<std::uint8_t>;

// IDX of u8 with the given dims and data.
Bytes idx_file(const std::vector<std::uint32_t>& dims, const Bytes& data);
// CIFAR-10 records with these labels; pixel p of channel c of record r is
// (r + 3 p + c) % 256.
Bytes cifar_file(const std::vector<std::uint8_t>& labels);
// 8 bits, grey (1 channel) or coloured (3).
Bytes png_file(std::uint32_t height, std::uint32_t width,
               std::uint32_t channels, const Bytes& pixels);
Bytes jpeg_file(std::uint32_t height, std::uint32_t width,
                std::uint32_t channels, const Bytes& pixels);
// 8 bytes of length, the header, the data.
Bytes safetensors_file(const std::string& header, const Bytes& data);

}  // namespace weft::test
