// The codecs of DeepReduce: encoding and decoding 1 % of a model of four
// million parameters, and of one convolution of ResNet-20. The entries are
// picked before the clock starts; it runs over indices and values.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cmath>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "bench/micro/benches.h"

#include "weft/comm/codec/codec.h"

namespace weft::micro {
namespace {

constexpr MessageId kId{1, 2, 3, 0};
constexpr std::uint32_t kSizes[] = {4'000'000, 36'864};

struct Stage {
  std::string name;
  Options options = {};
};

template <class Codec>
std::unique_ptr<Codec> make(const Registry<CodecDef<Codec>>& registry,
                            const Stage& stage) {
  const auto& def = registry.get(stage.name);
  return def.make(complete(def.options, stage.options, stage.name));
}

// Normal values times their magnitude: heavy tails, as gradients have them.
std::vector<float> gradient_of(std::uint32_t size) {
  const RandomStream random{1, 0, 0};
  std::vector<float> values(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto words = random.block(i);
    const float z = normal_from(words[0], words[1])[0];
    values[i] = z * std::abs(z);
  }
  return values;
}

// The hundredth of largest magnitude, ascending.
std::vector<std::uint32_t> largest_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> order(values.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto end =
      order.begin() + static_cast<std::ptrdiff_t>(order.size() / 100);
  std::nth_element(order.begin(), end, order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return std::abs(values[a]) > std::abs(values[b]);
                   });
  order.erase(end, order.end());
  std::sort(order.begin(), order.end());
  return order;
}

// A message with the buffers that it needs.
class Exchange {
 public:
  Exchange(std::uint32_t size, const Stage& index, const Stage& value)
      : gradient_(gradient_of(size)),
        selected_(largest_of(gradient_)),
        index_(make(index_codec_registry(), index)),
        value_(make(value_codec_registry(), value)) {}

  void encode() {
    bytes_.clear();
    ByteWriter out(bytes_);
    index_->encode(selected_, size(), kId, sent_, out);
    values_.resize(sent_.size());
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      values_[i] = gradient_[sent_[i]];
    }
    value_->encode(values_, kId, {}, out);
  }

  void decode() {
    ByteReader in(bytes_, "message");
    index_->decode(in, size(), kId, decoded_indices_);
    decoded_.resize(decoded_indices_.size());
    value_->decode(in, kId, decoded_);
    in.expect_end();
  }

  // Whether decoding gives the indices that were sent and values near
  // theirs; else fails the benchmark.
  bool check(benchmark::State& state) {
    encode();
    decode();
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      difference += std::pow(static_cast<double>(values_[i] - decoded_[i]), 2);
      norm += std::pow(static_cast<double>(values_[i]), 2);
    }
    state.counters["error"] = std::sqrt(difference / norm);
    if (decoded_indices_ == sent_ && difference < 0.25 * norm) return true;
    state.SkipWithError("what is decoded is not what was sent");
    return false;
  }

  void count(benchmark::State& state) const {
    state.counters["bytes"] = static_cast<double>(bytes_.size());
    state.counters["of dense"] =
        static_cast<double>(bytes_.size()) / (4.0 * size());
  }

 private:
  std::uint32_t size() const {
    return static_cast<std::uint32_t>(gradient_.size());
  }

  std::vector<float> gradient_;
  std::vector<std::uint32_t> selected_;
  std::unique_ptr<IndexCodec> index_;
  std::unique_ptr<ValueCodec> value_;
  Bytes bytes_;
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> decoded_indices_;
  std::vector<float> values_;
  std::vector<float> decoded_;
};

void run(benchmark::State& state, std::uint32_t size, const Stage& index,
         const Stage& value, void (Exchange::*step)()) {
  Exchange exchange(size, index, value);
  if (!exchange.check(state)) return;
  for (auto _ : state) (exchange.*step)();
  exchange.count(state);
}

Stage bloom(const char* policy) {
  return {"bloom", {{"policy", std::string(policy)}}};
}
Stage delta(const char* packing) {
  return {"delta", {{"packing", std::string(packing)}}};
}

std::string text_of(const Stage& stage) {
  std::string text = stage.name;
  for (const auto& [name, value] : stage.options) {
    const auto* word = std::get_if<std::string>(&value);
    text += "-" + (word ? *word : to_string(value));
  }
  return text;
}

}  // namespace

void register_deepreduce() {
  struct Pair {
    Stage index;
    Stage value;
  };
  std::vector<Pair> pairs;
  // Each index codec with plain values, then each value codec with plain
  // indices, then what goes together.
  for (const Stage& index :
       {Stage{"raw"}, Stage{"bitmap"}, Stage{"rle"}, Stage{"huffman"},
        delta("varint"), delta("bits"), delta("huffman"), bloom("p0"),
        bloom("p1"), bloom("p2"), bloom("left")}) {
    pairs.push_back({index, {"none"}});
  }
  const Stage chord{"fit-poly", {{"knots", std::string("chord")}}};
  const Stage qsgd{"qsgd", {{"bits", std::int64_t{8}}}};
  for (const Stage& value : {qsgd, Stage{"deflate"}, Stage{"sketch"},
                             Stage{"fit-poly"}, chord, Stage{"fit-dexp"}}) {
    pairs.push_back({{"raw"}, value});
  }
  pairs.push_back({bloom("p0"), qsgd});
  pairs.push_back({bloom("p2"), qsgd});
  pairs.push_back({bloom("p0"), {"fit-poly"}});
  pairs.push_back({delta("huffman"), {"sketch"}});
  for (const std::uint32_t size : kSizes) {
    for (const auto& [index, value] : pairs) {
      for (const bool encodes : {true, false}) {
        const auto step = encodes ? &Exchange::encode : &Exchange::decode;
        benchmark::RegisterBenchmark(
            fmt::format("deepreduce/{}/{}/{}/{}", size, text_of(index),
                        text_of(value), encodes ? "encode" : "decode")
                .c_str(),
            [=](benchmark::State& state) {
              run(state, size, index, value, step);
            })
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

}  // namespace weft::micro
