// The support as a Bloom filter (see bloom_policy.h).
//
// Layout: varint r, the number of entries selected; if it is not 0: u8
// hashes, varint bytes of the filter, the filter.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/comm/codec/bloom_policy.h"
#include "weft/comm/codec/codec.h"

namespace weft {
namespace {

constexpr double kLowestRate = 1e-9;
constexpr double kHighestRate = 0.5;

// The rate where none is given. Under P0 each false positive costs a value of b
// bits: the rate for which filter and values together are smallest is r / ((ln
// 2)^2 b (d - r)). The others choose r of about r + rate (d - r) positives: a
// tenth of r of them are false.
double automatic_rate(BloomPolicy policy, double selected, double size,
                      double value_bits) {
  const double others = std::max(1.0, size - selected);
  const double rate = policy == BloomPolicy::kP0
                          ? selected / (std::numbers::ln2 * std::numbers::ln2 *
                                        value_bits * others)
                          : 0.1 * selected / size;
  return std::clamp(rate, kLowestRate, kHighestRate);
}

class BloomIndexCodec final : public IndexCodec {
 public:
  BloomIndexCodec(double rate, BloomPolicy policy, double value_bits)
      : rate_(rate), policy_(policy), value_bits_(value_bits) {}

  void encode(std::span<const std::uint32_t> selected, std::uint32_t size,
              const MessageId& id, std::vector<std::uint32_t>& sent,
              ByteWriter& out) const override {
    out.write_varint(selected.size());
    sent.clear();
    if (selected.empty()) return;
    const auto count = static_cast<std::uint32_t>(selected.size());
    const double rate =
        rate_ > 0 ? rate_ : automatic_rate(policy_, count, size, value_bits_);
    BloomGeometry geometry = bloom_geometry(count, rate);
    // Beyond 2^32 bits, which takes 10^8 entries, the rate is higher.
    geometry.bytes = std::min(geometry.bytes, BloomFilter::kMaxBytes);
    BloomFilter filter(geometry);
    for (const std::uint32_t index : selected) filter.insert(index);
    out.write(static_cast<std::uint8_t>(filter.hashes()));
    out.write_varint(filter.bytes().size());
    out.write_all(filter.bytes());

    filter.scan(size, positives_needed(policy_, count), sent);
    apply_bloom_policy(policy_, filter, count, id.shared_random(), sent);
  }

  void decode(ByteReader& in, std::uint32_t size, const MessageId& id,
              std::vector<std::uint32_t>& sent) const override {
    sent.clear();
    const std::uint64_t selected = in.read_varint("count");
    if (selected > size) throw in.damaged("count", "is more than the tensor");
    if (selected == 0) return;
    const auto count = static_cast<std::uint32_t>(selected);
    const BloomFilter filter = read_filter(in, count);
    filter.scan(size, positives_needed(policy_, count), sent);
    if (sent.size() < count) {
      throw in.damaged("count", "is more than the filter holds");
    }
    apply_bloom_policy(policy_, filter, count, id.shared_random(), sent);
  }

  bool is_lossless() const override { return false; }
  std::unique_ptr<IndexCodec> for_values(double bits) const override {
    return std::make_unique<BloomIndexCodec>(rate_, policy_, bits);
  }
  bool sends_selected_values() const override {
    return policy_ == BloomPolicy::kNaive;
  }
  std::optional<Refusal> declines_feedback() const override {
    if (policy_ != BloomPolicy::kNaive) return std::nullopt;
    return Refusal{"error feedback",
                   "policy naive puts values where others stand",
                   "bloom(policy=p0) sends those of their places"};
  }

 private:
  // The work of a scan and of P2 is bounded by the tensor's size if a filter
  // has no more hashes, no fewer bits and no more bits set than `count` keys
  // can account for.
  static BloomFilter read_filter(ByteReader& in, std::uint32_t count) {
    const int hashes = in.read<std::uint8_t>("hashes");
    if (hashes == 0 || hashes > BloomFilter::kMaxHashes) {
      throw in.damaged("hashes", "is not 1 … 32");
    }
    const std::uint64_t bytes = in.read_varint("filter bytes");
    if (bytes > BloomFilter::kMaxBytes || bytes * 8 < count) {
      throw in.damaged("filter bytes", "does not go with the count");
    }
    BloomFilter filter(in.take(static_cast<std::size_t>(bytes), "filter"),
                       hashes);
    if (filter.set_bits() >
        std::uint64_t{count} * static_cast<std::uint64_t>(filter.hashes())) {
      throw in.damaged("filter", "has more bits set than its keys can set");
    }
    return filter;
  }

  double rate_;  // 0: automatic
  BloomPolicy policy_;
  double value_bits_;
};

std::unique_ptr<IndexCodec> make_bloom(const Options& options) {
  return std::make_unique<BloomIndexCodec>(
      option<double>(options, "eps"),
      bloom_policy(option<std::string>(options, "policy")), 32);
}

}  // namespace

void register_index_codec_bloom(IndexCodecRegistry& codecs) {
  codecs.add({.name = "bloom",
              .summary = "a Bloom filter; false positives by a policy",
              .options = {{"eps",
                           0.0,
                           "rate of false positives; 0 chooses by the share "
                           "of entries",
                           {.least = kLowestRate,
                            .most = kHighestRate,
                            .has_zero = true}},
                          {"policy",
                           std::string("p0"),
                           "which of the positives are sent",
                           {},
                           bloom_policy_names()}},
              .make = make_bloom});
}

}  // namespace weft
