// A shard: examples of a data set, encrypted, in a file that is called by the
// digest of its bytes.
//
//   "weft shard 1\n"                     13 bytes
//   header                               of libsodium's secretstream
//   chunks of 64 KiB and 17 bytes each   XChaCha20-Poly1305; the last is
//   shorter
//                                        and tagged as the end
// What is encrypted is the length of a description (8 bytes), the description
// (data/description_text.h, with the number of examples in front of it), and
// the examples, feature by feature.
//
// A changed, cut, swapped or added chunk is refused before any of it is used;
// what the whole file is called is known at its end.
//
// Threads: one thread uses an object.
// Errors:  Error(kDataLoss) naming the file.
// Cost:    about 1 ns a byte to decrypt, and as much to digest.
#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "weft/data/dataset.h"
#include "weft/market/keys.h"

namespace weft::market {

using ShardKey = std::array<std::uint8_t, 32>;

ShardKey draw_shard_key();

// Encrypts `rows` of the data. Returns what the shard is called. Throws
// Error(kUnsupported) for data whose examples differ in size, and as
// AtomicFile.
Digest write_shard(const std::filesystem::path& path, const ShardKey& key,
                   const Dataset& data, std::span<const std::int64_t> rows);

// Decrypts a shard from its beginning to its end.
class ShardReader {
 public:
  // Throws Error(kUnavailable) where there is no such file.
  ShardReader(const std::filesystem::path& path, const ShardKey& key);
  ~ShardReader();
  ShardReader(ShardReader&&) noexcept;

  const DataDescription& description() const { return *description_; }
  std::int64_t examples() const { return examples_; }
  std::int64_t example_bytes() const { return example_bytes_; }

  // Appends the next bytes of examples; false when there are no more. It then
  // has found all examples, and the file is called content().
  bool read(std::vector<std::byte>& into);
  const Digest& content() const { return content_; }

 private:
  struct Stream;
  // The next chunk, decrypted; false behind the last one.
  bool next_chunk(std::vector<std::byte>& chunk);
  void read_description();
  Error damaged(std::string_view what) const;

  std::filesystem::path path_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<const DataDescription> description_;
  std::int64_t examples_ = 0;
  std::int64_t example_bytes_ = 0;
  std::int64_t read_ = 0;        // bytes of examples
  std::vector<std::byte> rest_;  // of examples, decrypted with the description
  Digest content_{};
};

// Bytes of one example of these features.
std::int64_t bytes_of_example(const DataDescription& data);

// The digest of a file, in pieces.
Digest digest_of_file(const std::filesystem::path& path);

}  // namespace weft::market
