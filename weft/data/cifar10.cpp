#include "weft/data/cifar10.h"

namespace weft {

std::int64_t check_cifar(ByteSpan bytes, std::string_view where) {
  const std::size_t records = bytes.size() / kCifarRecord;
  const std::size_t rest = bytes.size() % kCifarRecord;
  // The format has no header: only its size tells a file that is cut short.
  if (rest != 0 || records == 0) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte {}: {} of a record's {} bytes; the file is cut short",
                records * kCifarRecord, rest, kCifarRecord);
  }
  for (std::size_t record = 0; record < records; ++record) {
    // Labels are checked when they are read, because kernels cannot throw.
    const std::uint8_t label = bytes[record * kCifarRecord];
    if (label >= kCifarClasses) {
      throw Error(ErrorCode::kDataLoss, where,
                  "byte {}: label {} of record {} is not in 0 … 9",
                  record * kCifarRecord, label, record);
    }
  }
  return static_cast<std::int64_t>(records);
}

void copy_cifar_image(const std::uint8_t* record, std::uint8_t* image) {
  const std::uint8_t* planes = record + 1;
  for (std::size_t pixel = 0; pixel < kCifarPlane; ++pixel) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      // The file has a plane per channel; kernels take channels last.
      image[3 * pixel + channel] = planes[channel * kCifarPlane + pixel];
    }
  }
}

}  // namespace weft
