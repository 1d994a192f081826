// Messages of gradients with what stands behind them: the share of the batch
// that they are of, as their sender says.
//
// Threads: pure functions.
#pragma once

#include <span>

#include "weft/comm/codec/bytes.h"
#include "weft/train/sync/bucket.h"
#include "weft/train/sync/compressor.h"

namespace weft {

inline constexpr std::size_t kShareBytes = sizeof(double);

void append_share(double share, Bytes& message);

// Adds what such a message of `sender` says to `sum`, and returns its share.
// Throws Error(kDataLoss) for one that is damaged.
double add_with_share(const Compressor& compressor, const Bucket& bucket,
                      std::span<const std::byte> message, const SyncStep& step,
                      int sender, std::span<float> sum);

}  // namespace weft
