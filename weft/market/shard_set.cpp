#include "weft/market/shard_set.h"

#include <algorithm>
#include <cstring>
#include <sodium.h>

namespace weft::market {

struct ShardSet::Part {
  ShardReader reader;
  Digest due;
  std::string where;
  std::int64_t first = 0;  // row of the whole
  std::vector<std::byte> bytes = {};
  std::atomic<std::int64_t> ready = 0;  // bytes

  ~Part() { sodium_memzero(bytes.data(), bytes.size()); }
};

namespace {

bool are_alike(const DataDescription& a, const DataDescription& b) {
  if (a.features().size() != b.features().size()) return false;
  for (std::size_t i = 0; i < a.features().size(); ++i) {
    if (a.features()[i].type != b.features()[i].type) return false;
  }
  return a.classes() == b.classes() &&
         a.category_counts() == b.category_counts();
}

}  // namespace

ShardSet::ShardSet(const std::vector<NamedShard>& shards) {
  WEFT_CHECK(!shards.empty());
  for (const NamedShard& shard : shards) {
    parts_.push_back(std::unique_ptr<Part>(
        new Part{.reader = ShardReader(shard.path, shard.key),
                 .due = shard.content,
                 .where = shard.path.string(),
                 .first = size_}));
    const ShardReader& reader = parts_.back()->reader;
    if (!are_alike(parts_[0]->reader.description(), reader.description())) {
      throw Error(ErrorCode::kInvalidArgument, shard.path.string(),
                  "has examples of another kind than {}", parts_[0]->where);
    }
    size_ += reader.examples();
  }
  static_cast<DataDescription&>(*this) = parts_[0]->reader.description();
  for (const Feature& feature : features_) {
    feature_bytes_.push_back(
        static_cast<std::size_t>(product(feature.type.shape.dims())) *
        size_of(feature.type.dtype));
  }
  example_bytes_ = bytes_of_example(*this);
  for (const auto& part : parts_) {
    // Vectors must not move what is being read.
    part->bytes.reserve(
        static_cast<std::size_t>(part->reader.examples() * example_bytes_));
  }
  counts_ = std::make_unique<std::atomic<std::uint32_t>[]>(
      static_cast<std::size_t>(size_));
  thread_ = std::thread([this] { decrypt(is_cancelled_); });
}

ShardSet::~ShardSet() {
  is_cancelled_ = true;
  thread_.join();
}

void ShardSet::decrypt(const std::atomic<bool>& is_cancelled) {
  std::exception_ptr failure;
  try {
    for (const auto& part : parts_) {
      const auto due =
          static_cast<std::size_t>(part->reader.examples() * example_bytes_);
      std::vector<std::byte> chunk;
      while (!is_cancelled && part->reader.read(chunk)) {
        if (part->bytes.size() + chunk.size() > due) {
          throw Error(ErrorCode::kDataLoss, part->where,
                      "has more examples than it says");
        }
        part->bytes.insert(part->bytes.end(), chunk.begin(), chunk.end());
        sodium_memzero(chunk.data(), chunk.size());
        chunk.clear();
        part->ready.store(std::ssize(part->bytes), std::memory_order_release);
        changed_.notify_all();
      }
      if (!is_cancelled && part->reader.content() != part->due) {
        throw Error(ErrorCode::kDataLoss, part->where,
                    "is not the shard that was asked for: it is called {}",
                    to_hex(part->reader.content()));
      }
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  failure_ = failure;
  changed_.notify_all();
}

const std::byte* ShardSet::example(std::int64_t row) const {
  const auto part = std::prev(std::ranges::upper_bound(
      parts_, row, {}, [](const auto& one) { return one->first; }));
  const std::int64_t begin = (row - (*part)->first) * example_bytes_;
  const auto is_there = [&] {
    return (*part)->ready.load(std::memory_order_acquire) >=
           begin + example_bytes_;
  };
  if (!is_there()) {
    std::unique_lock lock(mutex_);
    // Chunks are told of without the lock: a moment at a time is waited.
    while (!is_there() && !is_over_) {
      changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    if (!is_there() && failure_ != nullptr) std::rethrow_exception(failure_);
    WEFT_CHECK(is_there(), "a shard ended before its examples");
  }
  return (*part)->bytes.data() + begin;
}

void ShardSet::read(std::span<const std::int64_t> rows,
                    std::span<const TensorView> batch) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::byte* from = example(rows[i]);
    for (std::size_t f = 0; f < batch.size(); ++f) {
      std::memcpy(
          static_cast<std::byte*>(batch[f].data) + i * feature_bytes_[f], from,
          feature_bytes_[f]);
      from += feature_bytes_[f];
    }
    counts_[static_cast<std::size_t>(rows[i])].fetch_add(
        1, std::memory_order_relaxed);
  }
}

std::vector<std::int64_t> ShardSet::sizes() const {
  std::vector<std::int64_t> sizes;
  for (const auto& part : parts_) sizes.push_back(part->reader.examples());
  return sizes;
}

std::vector<std::int64_t> ShardSet::reads(std::int64_t epochs) const {
  std::vector<std::int64_t> sums;
  for (const auto& part : parts_) {
    std::int64_t sum = 0;
    for (std::int64_t row = part->first;
         row < part->first + part->reader.examples(); ++row) {
      sum += std::min<std::int64_t>(counts_[static_cast<std::size_t>(row)],
                                    epochs);
    }
    sums.push_back(sum);
  }
  return sums;
}

void ShardSet::finish() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_over_; });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

}  // namespace weft::market
