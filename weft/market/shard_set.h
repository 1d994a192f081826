// Encrypted shards as one data set, in the order in which they are named.
//
// A thread decrypts them into memory while the model is built and first batches
// are made; who reads an example that is not there yet waits for it. Nothing
// that was decrypted is written anywhere.
//
// Threads: as Dataset.
// Errors:  reading throws what decrypting has: Error(kDataLoss) for a shard
//          that was changed, or is not the one that was asked for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "weft/market/sealed_shard.h"

namespace weft::market {

struct NamedShard {
  std::filesystem::path path;
  Digest content{};  // that it must be
  ShardKey key{};
};

class ShardSet final : public Dataset {
 public:
  // Opens all of them. Throws Error(kInvalidArgument) where they are not of one
  // kind, and as ShardReader.
  explicit ShardSet(const std::vector<NamedShard>& shards);
  ~ShardSet() override;

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override;

  // How many examples each shard has.
  std::vector<std::int64_t> sizes() const;
  // How often examples of each shard were read, each counted at most `epochs`
  // times: loaders read ahead of what is used.
  std::vector<std::int64_t> reads(std::int64_t epochs) const;
  // Waits until all is decrypted and found to be what was asked for.
  void finish() const;

 private:
  struct Part;
  void decrypt(const std::atomic<bool>& is_cancelled);
  const std::byte* example(std::int64_t row) const;

  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::size_t> feature_bytes_;  // of an example
  std::int64_t example_bytes_ = 0;
  std::unique_ptr<std::atomic<std::uint32_t>[]> counts_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool is_over_ = false;  // guarded, as all below
  std::exception_ptr failure_;
  std::atomic<bool> is_cancelled_ = false;
  std::thread thread_;
};

}  // namespace weft::market
