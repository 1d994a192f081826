#include "weft/train/sync/stream_collective.h"

#include "weft/comm/codec/pipeline_text.h"

namespace weft {
namespace {

// The sample is of normal values, as sums of many values are.
double bytes_per_value(const ValueCodec& codec) {
  constexpr std::size_t kSample = 4096;
  // The seed is fixed, since all ranks choose by this number and must choose
  // alike.
  const RandomStream random{.seed = 1};
  std::vector<float> values(kSample);
  for (std::size_t i = 0; i < kSample; ++i) {
    values[i] = normal_from(random.word(2 * i), random.word(2 * i + 1))[0];
  }
  Bytes bytes;
  ByteWriter out(bytes);
  codec.encode(values, {}, {}, out);
  return static_cast<double>(bytes.size()) / kSample;
}

}  // namespace

StreamCollective parse_stream_collective(const std::string& text) {
  StreamCollective result;
  CallReader reader(text, "sync.collective");
  const std::string_view name = reader.take_name("a collective");
  if (name != "auto") {
    result.algorithm = &sparse_all_reduce_registry().get(name);
  }
  const std::size_t open = reader.place();
  if (!reader.take('(')) {
    reader.expect_end();
    return result;
  }
  if (result.algorithm != nullptr && !result.algorithm->can_quantize) {
    throw reader.fail(open, fmt::format("'{}' takes no codec", name))
        .hint("\"dsar(qsgd(4))\" does, and \"auto(qsgd(4))\" where it pays");
  }
  const PipelineText codec = take_pipeline(reader);
  if (!reader.take(')')) throw reader.fail(reader.place(), "a ')' is due here");
  reader.expect_end();
  if (!codec.value || codec.sparsifier || codec.index || codec.bytes) {
    throw Error(ErrorCode::kInvalidArgument, "sync.collective",
                "the codec of a dense phase is one of values, as in "
                "\"dsar(qsgd(4))\"");
  }
  result.quantizer = codec.value->def->make(codec.value->options);
  if (!result.quantizer->is_for_dense() || !result.quantizer->is_unbiased()) {
    throw Error(ErrorCode::kInvalidArgument, "sync.collective",
                "'{}' leaves out what nobody keeps: sums that a dense phase "
                "rounds must be right on average",
                to_string(codec))
        .hint("qsgd(4) rounds at random, and is");
  }
  result.quantized_value_bytes = bytes_per_value(*result.quantizer);
  return result;
}

}  // namespace weft
