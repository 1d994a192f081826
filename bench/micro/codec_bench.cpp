// Codecs on 4 Mi values on one core: bytes/s of f32 input, beside a copy of
// the same memory; and what zero runs gain over a byte codec.
#include <benchmark/benchmark.h>
#include <cstring>

#include "bench/micro/benches.h"

#include "weft/comm/codec/measure.h"
#include "weft/comm/codec/pipeline.h"
#include "weft/comm/codec/ternary.h"

namespace weft::micro {
namespace {

constexpr std::size_t kSize = std::size_t{4} << 20;
constexpr std::size_t kBytes = kSize * sizeof(float);
constexpr MessageId kId{.seed = 1};

std::vector<float> gradient() { return synthetic_gradient(kSize); }

void count(benchmark::State& state, std::size_t message_bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(kBytes) *
                          state.iterations());
  state.counters["bits/value"] =
      8.0 * static_cast<double>(message_bytes) / static_cast<double>(kSize);
}

void copy(benchmark::State& state) {
  const auto from = gradient();
  std::vector<float> to(kSize);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), kBytes);
    benchmark::ClobberMemory();
  }
  count(state, kBytes);
}

void encode(benchmark::State& state, const std::string& text, bool has_memory) {
  const Pipeline pipeline(text);
  const auto values = gradient();
  std::vector<float> memory(has_memory ? kSize : 0, 0.0f);
  Message message;
  pipeline.encode(values, memory, kId, message);
  for (auto _ : state) pipeline.encode(values, memory, kId, message);
  count(state, message.bytes.size());
}

void decode(benchmark::State& state, const std::string& text) {
  const Pipeline pipeline(text);
  Message message;
  pipeline.encode(gradient(), {}, kId, message);
  std::vector<float> values(kSize, 0.0f);
  for (auto _ : state) pipeline.decode(message.bytes, kId, values);
  count(state, message.bytes.size());
}

void select(benchmark::State& state, const std::string& text) {
  const Pipeline pipeline(text);
  const auto values = gradient();
  std::vector<std::uint32_t> indices;
  for (auto _ : state) {
    indices.clear();
    pipeline.sparsifier()->select(values, kId, indices);
  }
  count(state, indices.size() * 8);
}

// Five values a byte as they leave the quantizer of 3lc.
Bytes packed_ternary() {
  Message message;
  Pipeline("3lc(zero_run=false)").encode(gradient(), {}, kId, message);
  const auto packed =
      message.bytes.end() - static_cast<std::ptrdiff_t>(ternary_bytes(kSize));
  return {packed, message.bytes.end()};
}

void zero_runs(benchmark::State& state) {
  const Bytes packed = packed_ternary();
  Bytes bytes;
  std::size_t size = 0;
  for (auto _ : state) {
    bytes = packed;
    size = shorten_zero_runs(bytes);
  }
  count(state, size);
}

void zstd_on_ternary(benchmark::State& state) {
  const Bytes packed = packed_ternary();
  const CodecDef<ByteCodec>& def = byte_codec_registry().get("zstd");
  const auto codec = def.make(complete(def.options, {}, def.name));
  Bytes bytes;
  for (auto _ : state) {
    bytes.clear();
    ByteWriter out(bytes);
    codec->encode(packed, out);
  }
  count(state, bytes.size());
}

template <class Run>
void add(const std::string& name, Run&& run) {
  benchmark::RegisterBenchmark(("codec/" + name).c_str(),
                               std::forward<Run>(run))
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

void register_codecs() {
  add("memcpy", copy);
  std::vector<std::string> texts;
  for (const auto& def : value_codec_registry().all()) {
    const auto codec = def.make(complete(def.options, {}, def.name));
    if (codec->is_for_dense()) texts.push_back(def.name);
  }
  texts.insert(texts.end(), {"3lc(1.75)", "qsgd(4)", "qsgd(4, coding=elias)"});
  for (const std::string& text : texts) {
    add("encode/" + text,
        [text](benchmark::State& state) { encode(state, text, false); });
    add("encode_with_memory/" + text,
        [text](benchmark::State& state) { encode(state, text, true); });
    add("decode/" + text,
        [text](benchmark::State& state) { decode(state, text); });
  }
  for (const char* text :
       {"topk(0.01)", "topk(0.1)", "topk(0.01, method=bucket)",
        "topk(0.01, method=sampled)", "threshold(0.01)", "randomk(0.01)"}) {
    add(std::string("select/") + text,
        [text](benchmark::State& state) { select(state, text); });
  }
  add("ternary/zero_runs", zero_runs);
  add("ternary/zstd", zstd_on_ternary);
}

}  // namespace weft::micro
