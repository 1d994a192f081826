// Quantile buckets: each value becomes the mean of its bucket (SketchML:
// Jiang, Fu, Yang, Cui, "SketchML: accelerating distributed machine learning
// with data sketches", SIGMOD 2018), the numbers of the buckets Huffman coded.
// Sorting all values takes the place of the sketch, which approximates it.
//
// No bucket holds values of both signs, so that no value changes its sign.
//
// Layout: varint number of buckets, their means as f32, the bucket of each
// value (write_huffman() in huffman.h).
#include <algorithm>

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/f32_bytes.h"
#include "weft/comm/codec/huffman.h"
#include "weft/comm/codec/sorted_values.h"

namespace weft {
namespace {

constexpr std::size_t kMostBuckets = HuffmanCode::kSymbols;

class SketchValueCodec final : public ValueCodec {
 public:
  explicit SketchValueCodec(std::size_t buckets) : buckets_(buckets) {}

  void encode(std::span<const float> values, const MessageId&,
              std::span<float> residual, ByteWriter& out) const override {
    const SortedBySign sorted = sort_by_sign(values);
    const std::span<const std::uint32_t> order(sorted.order);
    const std::size_t shares = shares_of_positives(sorted);
    std::vector<float> means;
    std::vector<std::uint8_t> numbers(values.size());
    fill_buckets(values, order.first(sorted.positives), shares, means, numbers);
    fill_buckets(values, order.subspan(sorted.positives), buckets_ - shares,
                 means, numbers);
    out.write_varint(means.size());
    out.write_all(std::span<const float>(means));
    write_huffman(numbers, out);
    for (std::size_t i = 0; i < residual.size(); ++i) {
      residual[i] = values[i] - means[numbers[i]];
    }
  }

  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    const std::uint64_t buckets = in.read_varint("number of buckets");
    if (buckets > buckets_) {
      throw in.damaged("number of buckets", "is more than the codec's");
    }
    std::vector<float> means(static_cast<std::size_t>(buckets));
    read_floats(in, means);
    std::vector<std::uint8_t> numbers(values.size());
    read_huffman(in, "buckets", numbers);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (numbers[i] >= means.size()) {
        throw in.damaged("buckets", "hold a number without a mean");
      }
      values[i] = means[numbers[i]];
    }
  }

 private:
  // Buckets for values without a minus sign, by their share of all.
  std::size_t shares_of_positives(const SortedBySign& sorted) const {
    const std::size_t size = sorted.order.size();
    if (sorted.positives == 0) return 0;
    if (sorted.positives == size) return buckets_;
    // Where there are values of both signs, each has a bucket at least.
    return std::clamp<std::size_t>(buckets_ * sorted.positives / size, 1,
                                   buckets_ - 1);
  }

  // Cuts `order` into `count` buckets of the same size, or as many as there
  // are values.
  static void fill_buckets(std::span<const float> values,
                           std::span<const std::uint32_t> order,
                           std::size_t count, std::vector<float>& means,
                           std::vector<std::uint8_t>& numbers) {
    count = std::min(count, order.size());
    for (std::size_t bucket = 0; bucket < count; ++bucket) {
      const std::size_t begin = bucket * order.size() / count;
      const std::size_t end = (bucket + 1) * order.size() / count;
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) {
        numbers[order[i]] = static_cast<std::uint8_t>(means.size());
        sum += static_cast<double>(values[order[i]]);
      }
      means.push_back(
          static_cast<float>(sum / static_cast<double>(end - begin)));
    }
  }

  std::size_t buckets_;
};

std::unique_ptr<ValueCodec> make_sketch(const Options& options) {
  return std::make_unique<SketchValueCodec>(
      static_cast<std::size_t>(option<std::int64_t>(options, "buckets")));
}

}  // namespace

void register_value_codec_sketch(ValueCodecRegistry& codecs) {
  codecs.add({.name = "sketch",
              .summary = "means of quantile buckets",
              .options = {{"buckets",
                           std::int64_t{64},
                           "of both signs together",
                           {.least = 2, .most = kMostBuckets}}},
              .make = make_sketch});
}

}  // namespace weft
