#include "weft/train/sync/shared_message.h"

#include <cstring>

namespace weft {

void append_share(double share, Bytes& message) {
  const auto bytes = std::as_bytes(std::span(&share, 1));
  message.insert(message.end(), bytes.begin(), bytes.end());
}

double add_with_share(const Compressor& compressor, const Bucket& bucket,
                      std::span<const std::byte> message, const SyncStep& step,
                      int sender, std::span<float> sum) {
  if (message.size() < kShareBytes) {
    throw Error(ErrorCode::kDataLoss, bucket.text(), "rank {} sent {} bytes",
                sender, message.size());
  }
  const std::size_t size = message.size() - kShareBytes;
  double share = 0;
  std::memcpy(&share, message.data() + size, kShareBytes);
  compressor.add_decoded(bucket, message.first(size), step, sender, sum);
  return share;
}

}  // namespace weft
