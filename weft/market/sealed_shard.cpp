#include "weft/market/sealed_shard.h"

#include <algorithm>
#include <cstring>
#include <sodium.h>

#include "weft/base/file.h"
#include "weft/data/description_text.h"

namespace weft::market {
namespace {

constexpr std::string_view kShardMagic = "weft shard 1\n";
constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
constexpr std::size_t kTagBytes = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t kHeaderBytes =
    crypto_secretstream_xchacha20poly1305_HEADERBYTES;
constexpr std::size_t kMostDescriptionBytes = std::size_t{16} << 20;
// Rows that are read together when a shard is written.
constexpr std::size_t kRowsAtOnce = 256;

unsigned char* uchars(void* bytes) {
  return static_cast<unsigned char*>(bytes);
}
const unsigned char* uchars(const void* bytes) {
  return static_cast<const unsigned char*>(bytes);
}

// A digest of what passes by.
class PassingDigest {
 public:
  PassingDigest() {
    crypto_generichash_init(&state_, /*key=*/nullptr, 0, sizeof(Digest));
  }
  void add(const void* bytes, std::size_t count) {
    crypto_generichash_update(&state_, uchars(bytes), count);
  }
  Digest digest() {
    Digest digest;
    crypto_generichash_final(&state_, digest.data(), digest.size());
    return digest;
  }

 private:
  crypto_generichash_state state_;
};

// Encrypts what it is given, chunk by chunk, into a file.
class ShardWriter {
 public:
  ShardWriter(const std::filesystem::path& path, const ShardKey& key)
      : file_(path) {
    std::array<unsigned char, kHeaderBytes> header;
    crypto_secretstream_xchacha20poly1305_init_push(&stream_, header.data(),
                                                    key.data());
    put(kShardMagic.data(), kShardMagic.size());
    put(header.data(), header.size());
  }
  ~ShardWriter() { sodium_memzero(&stream_, sizeof stream_); }

  void add(const void* bytes, std::size_t count) {
    const auto* next = static_cast<const std::byte*>(bytes);
    while (count > 0) {
      // A full chunk waits, as only the last one is tagged as such.
      if (plain_.size() == kChunkBytes) push(/*is_last=*/false);
      const std::size_t some = std::min(count, kChunkBytes - plain_.size());
      plain_.insert(plain_.end(), next, next + some);
      next += some;
      count -= some;
    }
  }
  Digest finish() {
    push(/*is_last=*/true);
    file_.commit();
    return digest_.digest();
  }

 private:
  void put(const void* bytes, std::size_t count) {
    file_.write(bytes, count);
    digest_.add(bytes, count);
  }
  void push(bool is_last) {
    std::vector<unsigned char> sealed(plain_.size() + kTagBytes);
    crypto_secretstream_xchacha20poly1305_push(
        &stream_, sealed.data(), /*clen_p=*/nullptr, uchars(plain_.data()),
        plain_.size(), /*ad=*/nullptr, 0,
        is_last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL
                : crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
    put(sealed.data(), sealed.size());
    plain_.clear();
  }

  AtomicFile file_;
  crypto_secretstream_xchacha20poly1305_state stream_;
  PassingDigest digest_;
  std::vector<std::byte> plain_;
};

void write_rows(ShardWriter& writer, const Dataset& data,
                std::span<const std::int64_t> rows) {
  std::vector<Tensor> tensors;
  std::vector<TensorView> batch;
  for (const Feature& feature : data.features()) {
    std::vector<Dim> dims{static_cast<Dim>(rows.size())};
    for (const Dim dim : feature.type.shape.dims()) dims.push_back(dim);
    tensors.push_back(Tensor::zeros({feature.type.dtype, Shape(dims)}));
    batch.push_back(tensors.back().view());
  }
  data.read(rows, batch);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Tensor& tensor : tensors) {
      const std::size_t bytes = tensor.bytes() / rows.size();
      writer.add(static_cast<const std::byte*>(tensor.raw()) + i * bytes,
                 bytes);
    }
  }
}

}  // namespace

ShardKey draw_shard_key() {
  WEFT_CHECK(sodium_init() >= 0, "libsodium does not start");
  ShardKey key;
  crypto_secretstream_xchacha20poly1305_keygen(key.data());
  return key;
}

std::int64_t bytes_of_example(const DataDescription& data) {
  std::int64_t bytes = 0;
  for (const Feature& feature : data.features()) {
    bytes += static_cast<std::int64_t>(product(feature.type.shape.dims())) *
             static_cast<std::int64_t>(size_of(feature.type.dtype));
  }
  return bytes;
}

Digest digest_of_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  return digest_of_bytes({reinterpret_cast<const char*>(file.bytes().data()),
                          file.bytes().size()});
}

Digest write_shard(const std::filesystem::path& path, const ShardKey& key,
                   const Dataset& data, std::span<const std::int64_t> rows) {
  if (varying_axes(data.features()) > 0 || data.is_sequential()) {
    throw Error(ErrorCode::kUnsupported, data.name(),
                "examples of different sizes, and running text, make no shard")
        .hint("images and tables do");
  }
  ShardWriter writer(path, key);
  const std::string text = to_json(data);
  const std::uint64_t numbers[2] = {rows.size(), text.size()};
  writer.add(numbers, sizeof numbers);
  writer.add(text.data(), text.size());
  for (std::size_t begin = 0; begin < rows.size(); begin += kRowsAtOnce) {
    write_rows(writer, data,
               rows.subspan(begin, std::min(kRowsAtOnce, rows.size() - begin)));
  }
  return writer.finish();
}

struct ShardReader::Stream {
  std::ifstream file;
  crypto_secretstream_xchacha20poly1305_state state;
  PassingDigest digest;
  std::vector<char> sealed;
  bool is_over = false;

  ~Stream() { sodium_memzero(&state, sizeof state); }
  std::size_t read(char* into, std::size_t count) {
    file.read(into, static_cast<std::streamsize>(count));
    const auto found = static_cast<std::size_t>(file.gcount());
    digest.add(into, found);
    return found;
  }
};

ShardReader::ShardReader(const std::filesystem::path& path, const ShardKey& key)
    : path_(path), stream_(std::make_unique<Stream>()) {
  stream_->file.open(path, std::ios::binary);
  if (!stream_->file) {
    throw Error(ErrorCode::kUnavailable, path.string(), "cannot be opened");
  }
  std::array<char, kShardMagic.size() + kHeaderBytes> beginning;
  if (stream_->read(beginning.data(), beginning.size()) != beginning.size() ||
      std::string_view(beginning.data(), kShardMagic.size()) != kShardMagic) {
    throw damaged("is no shard");
  }
  if (crypto_secretstream_xchacha20poly1305_init_pull(
          &stream_->state, uchars(beginning.data() + kShardMagic.size()),
          key.data()) != 0) {
    throw damaged("begins with no header");
  }
  read_description();
}

ShardReader::~ShardReader() = default;
ShardReader::ShardReader(ShardReader&&) noexcept = default;

Error ShardReader::damaged(std::string_view what) const {
  return Error(ErrorCode::kDataLoss, path_.string(), "{}", what);
}

bool ShardReader::next_chunk(std::vector<std::byte>& chunk) {
  Stream& stream = *stream_;
  if (stream.is_over) return false;
  // All chunks but the last are full, so that no length has to be believed.
  stream.sealed.resize(kChunkBytes + kTagBytes);
  const std::size_t found =
      stream.read(stream.sealed.data(), stream.sealed.size());
  const std::size_t before = chunk.size();
  if (found < kTagBytes) throw damaged("ends in the middle");
  chunk.resize(before + found - kTagBytes);
  unsigned char tag = 0;
  if (crypto_secretstream_xchacha20poly1305_pull(
          &stream.state, uchars(chunk.data() + before), /*mlen_p=*/nullptr,
          &tag, uchars(stream.sealed.data()), found, /*ad=*/nullptr, 0) != 0) {
    chunk.resize(before);
    throw damaged("is not what was sealed with this key");
  }
  if (tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL) {
    stream.is_over = true;
    // Bytes behind it would make another digest of the same rows, which could
    // then be sold again.
    char more;
    if (stream.read(&more, 1) != 0) throw damaged("goes on behind its end");
    content_ = stream.digest.digest();
  }
  return true;
}

void ShardReader::read_description() {
  std::vector<std::byte> bytes;
  std::uint64_t numbers[2] = {};
  constexpr std::size_t kLeast = sizeof numbers;
  while (bytes.size() < kLeast && next_chunk(bytes)) {
  }
  if (bytes.size() < kLeast) throw damaged("describes nothing");
  std::memcpy(numbers, bytes.data(), sizeof numbers);
  // An owner can seal anything, and what is asked for here is memory.
  if (numbers[1] > kMostDescriptionBytes || numbers[0] > (1ull << 40)) {
    throw damaged("describes itself at too great length");
  }
  const std::size_t begin = sizeof numbers + numbers[1];
  while (bytes.size() < begin && next_chunk(bytes)) {
  }
  if (bytes.size() < begin) throw damaged("ends within its description");
  description_ = parse_description(
      {reinterpret_cast<const char*>(bytes.data()) + sizeof numbers,
       static_cast<std::size_t>(numbers[1])},
      path_.string());
  examples_ = static_cast<std::int64_t>(numbers[0]);
  example_bytes_ = bytes_of_example(*description_);
  if (varying_axes(description_->features()) > 0) {
    throw damaged("has examples of different sizes");
  }
  if (examples_ < 1 || example_bytes_ < 1 ||
      examples_ > static_cast<std::int64_t>(std::filesystem::file_size(path_)) /
                      example_bytes_) {
    throw damaged("has not as many examples as it says");
  }
  rest_.assign(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end());
}

bool ShardReader::read(std::vector<std::byte>& into) {
  const std::size_t before = into.size();
  if (!rest_.empty()) {
    into.insert(into.end(), rest_.begin(), rest_.end());
    rest_.clear();
  } else if (!next_chunk(into)) {
    if (read_ != examples_ * example_bytes_) {
      throw damaged("has not as many examples as it says");
    }
    return false;
  }
  read_ += static_cast<std::int64_t>(into.size() - before);
  return true;
}

}  // namespace weft::market
