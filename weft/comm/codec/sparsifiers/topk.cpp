// The entries of largest magnitude (Alistarh et al., "The convergence of
// sparsified gradient methods", NeurIPS 2018; Aji and Heafield, EMNLP 2017).
#include <algorithm>
#include <bit>
#include <cmath>

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/topk_select.h"

namespace weft {
namespace {

enum class Method { kExact, kBucket, kSampled };

struct Settings {
  double ratio = 0.01;
  std::int64_t count = 0;  // instead of the ratio, if not 0
  Method method = Method::kExact;
  std::size_t bucket = 512;
};

// K of n: at least one.
std::uint32_t picked_of(const Settings& settings, std::size_t n) {
  const double wanted =
      settings.count > 0 ? static_cast<double>(settings.count)
                         : std::floor(settings.ratio * static_cast<double>(n));
  // A tensor that sent nothing would wait for ever in the memory.
  return static_cast<std::uint32_t>(std::clamp(
      wanted, std::min(1.0, static_cast<double>(n)), static_cast<double>(n)));
}

class TopK final : public Sparsifier {
 public:
  explicit TopK(const Settings& settings) : settings_(settings) {}

  void select(std::span<const float> values, const MessageId& id,
              std::vector<std::uint32_t>& indices) const override {
    if (values.empty()) return;
    switch (settings_.method) {
      case Method::kExact:
        return select_largest(values, picked_of(settings_, values.size()),
                              indices);
      case Method::kBucket:
        return select_by_bucket(values, indices);
      case Method::kSampled:
        return select_by_sample(values, id, indices);
    }
  }

  std::optional<std::uint32_t> count(std::uint32_t size) const override {
    if (size == 0) return 0;
    switch (settings_.method) {
      case Method::kExact:
        return picked_of(settings_, size);
      case Method::kBucket: {
        std::uint32_t all = 0;
        for (std::size_t begin = 0; begin < size; begin += settings_.bucket) {
          all +=
              picked_of_bucket(size, std::min(settings_.bucket, size - begin));
        }
        return all;
      }
      case Method::kSampled:
        // Only the values tell how many reach the threshold.
        break;
    }
    return std::nullopt;
  }

 private:
  // A bucket gives the same share as the whole tensor.
  std::uint32_t picked_of_bucket(std::size_t size, std::size_t bucket) const {
    const double ratio =
        settings_.count > 0
            ? static_cast<double>(settings_.count) / static_cast<double>(size)
            : settings_.ratio;
    // A count above the number of values would make a ratio above 1.
    return picked_of({.ratio = std::min(ratio, 1.0)}, bucket);
  }

  // The same share of each bucket, so that what is picked is near its
  // neighbours.
  void select_by_bucket(std::span<const float> values,
                        std::vector<std::uint32_t>& indices) const {
    std::vector<std::uint64_t> order;
    for (std::size_t begin = 0; begin < values.size();
         begin += settings_.bucket) {
      const auto bucket = values.subspan(
          begin, std::min(settings_.bucket, values.size() - begin));
      const std::uint32_t kept = picked_of_bucket(values.size(), bucket.size());
      // Larger magnitudes first, then lower indices: no two are equal.
      order.resize(bucket.size());
      for (std::size_t i = 0; i < bucket.size(); ++i) {
        const auto key = ~std::bit_cast<std::uint32_t>(std::fabs(bucket[i]));
        order[i] = (std::uint64_t{key} << 32) | i;
      }
      // At least one is kept (picked_of), so that `end - 1` is an element.
      const auto end = order.begin() + kept;
      std::nth_element(order.begin(), end - 1, order.end());
      const std::size_t first = indices.size();
      for (auto each = order.begin(); each != end; ++each) {
        indices.push_back(
            static_cast<std::uint32_t>(begin + (*each & 0xFFFFFFFFu)));
      }
      // Selecting does not sort, and indices must ascend.
      std::sort(indices.begin() + static_cast<std::ptrdiff_t>(first),
                indices.end());
    }
  }

  // A threshold from one percent of the entries, corrected while it picks far
  // too many or too few (Lin et al., "Deep gradient compression", ICLR 2018).
  void select_by_sample(std::span<const float> values, const MessageId& id,
                        std::vector<std::uint32_t>& indices) const {
    constexpr std::size_t kStride = 100;
    constexpr int kCorrections = 10;
    const std::uint32_t picked = picked_of(settings_, values.size());
    const double wanted = picked;
    // One of each hundred is drawn at random.
    const RandomStream random = id.private_random();
    std::vector<float> sample;
    sample.reserve(values.size() / kStride + 1);
    PhiloxBlock block{};
    // One block of the generator is four numbers.
    for (std::size_t i = 0; i * kStride < values.size(); ++i) {
      if (i % 4 == 0) block = random.block(i / 4);
      const std::size_t begin = i * kStride;
      const std::size_t width = std::min(kStride, values.size() - begin);
      sample.push_back(std::fabs(values[begin + block[i % 4] % width]));
    }
    // There are values, so the sample has one at least, and the rank is 1 at
    // least.
    const auto rank = static_cast<std::ptrdiff_t>(
        std::max(1.0, wanted / static_cast<double>(values.size()) *
                          static_cast<double>(sample.size())));
    const auto quantile = sample.begin() + (rank - 1);
    std::nth_element(sample.begin(), quantile, sample.end(),
                     std::greater<float>());
    // Zeros are never worth sending.
    constexpr float kLeast = std::numeric_limits<float>::denorm_min();
    float threshold = std::max(*quantile, kLeast);
    bool has_found_too_many = false;
    for (int i = 0; i < kCorrections; ++i) {
      const double found = count_from(values, threshold);
      // Within 30 % is near enough for a method that promises about as many.
      if (found > 1.3 * wanted) {
        threshold *= 1.3f;
        has_found_too_many = true;
      } else if (found < 0.7 * wanted && threshold > kLeast) {
        threshold = std::max(threshold * 0.7f, kLeast);
      } else {
        return select_from(values, threshold, indices);
      }
    }
    // Where many are equal, a threshold picks all of them or none, and a tensor
    // that sent nothing would wait for ever in the memory.
    if (has_found_too_many) return select_largest(values, picked, indices);
    select_from(values, threshold, indices);
  }

  Settings settings_;
};

Method method_of(const std::string& name) {
  if (name == "exact") return Method::kExact;
  return name == "bucket" ? Method::kBucket : Method::kSampled;
}

std::unique_ptr<Sparsifier> make_topk(const Options& options) {
  Settings settings;
  settings.ratio = option<double>(options, "ratio");
  settings.count = option<std::int64_t>(options, "count");
  settings.method = method_of(option<std::string>(options, "method"));
  settings.bucket =
      static_cast<std::size_t>(option<std::int64_t>(options, "bucket"));
  return std::make_unique<TopK>(settings);
}

}  // namespace

void register_sparsifier_topk(SparsifierRegistry& sparsifiers) {
  sparsifiers.add(
      {.name = "topk",
       .summary = "the entries of largest magnitude",
       .options = {{"ratio",
                    0.01,
                    "share of the entries that is sent",
                    {.least = 0, .most = 1, .is_open_below = true}},
                   {"count",
                    std::int64_t{0},
                    "how many are sent instead; 0: by the ratio",
                    {.least = 0},
                    {},
                    "entries"},
                   {"method",
                    std::string("exact"),
                    "of all, of each bucket, or about as many, by a sample",
                    {},
                    {"exact", "bucket", "sampled"}},
                   {"bucket",
                    std::int64_t{512},
                    "how many a bucket has, for method bucket",
                    {.least = 1, .most = 1 << 30},
                    {},
                    "entries"}},
       .make = make_topk});
}

}  // namespace weft
