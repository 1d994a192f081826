// DSAR_Split_allgather: as split_allgather, for sums that become dense: each
// rank sums its partition in a dense stream, and values without indices are
// gathered. That alone is at most twice as fast as a dense all-reduce.
//
// With a quantizer, each rank quantizes its sum once, and all ranks, it
// itself too, decode the same bytes (Alistarh, Grubic, Li, Tomioka,
// Vojnovic, "QSGD", 2017): the results are the same everywhere.
#include <algorithm>
#include <cmath>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/sparse/exchange.h"
#include "weft/comm/sparse/quantizer.h"
#include "weft/comm/sparse/timeline.h"

namespace weft {
namespace {

// Codecs write no more than this for a value, and this for each message.
constexpr std::size_t kMostCodedValueBytes = 8;
constexpr std::size_t kMostCodecHeaderBytes = 1024;

std::optional<Refusal> declines(const StreamType& type,
                                const ValueCodec& quantizer) {
  if (type.dtype != DType::kF32) {
    return Refusal{fmt::format("a quantizer of {}", to_string(type.dtype)),
                   "codecs are for f32",
                   "sum f32 streams, or leave the quantizer out"};
  }
  if (!quantizer.is_for_dense()) {
    return Refusal{"this quantizer", "it is made for few values",
                   "qsgd(4) is for whole tensors"};
  }
  return std::nullopt;
}

void check_finite(std::span<const float> values) {
  if (!std::all_of(values.begin(), values.end(),
                   [](float value) { return std::isfinite(value); })) {
    throw Error(ErrorCode::kNumeric, "dsar",
                "a sum that is not finite cannot be quantized");
  }
}

// The id under which rank `sender` encodes its partition.
MessageId id_of(const SparseOptions& options, int sender) {
  // Random numbers of the codec are functions of the id, so each part must have
  // one of its own.
  MessageId id = options.message;
  id.sender = static_cast<std::uint32_t>(sender);
  return id;
}

Task<Stream> gather_quantized(Channel channel, StreamType type,
                              Partitions partitions, Stream mine,
                              SparseOptions options) {
  const ValueCodec& quantizer = *options.quantizer;
  const int ranks = channel.size();
  const auto values = mine.values<float>();
  // Codecs take finite values alone, and the sum of finite ones may overflow.
  check_finite(values);
  Bytes coded;
  ByteWriter out(coded);
  quantizer.encode(values, id_of(options, channel.rank()), {}, out);
  co_await channel.pause(static_cast<double>(values.size()) *
                         options.rates.quantize);
  co_await wait_for_all(channel);
  const GatheredMessages messages = co_await gather_messages(
      channel, coded,
      partitions.largest() * kMostCodedValueBytes + kMostCodecHeaderBytes);

  // Every rank decodes its own message too, rather than keep its exact sum: all
  // hold the same bits.
  Stream result = Stream::dense_zeros(type);
  const auto all = result.mutable_values<float>();
  for (int i = 0; i < ranks; ++i) {
    const std::string where = name_of(channel, i);
    ByteReader in(messages.of[static_cast<std::size_t>(i)], where);
    quantizer.decode(in, id_of(options, i),
                     all.subspan(partitions.begin(i), partitions.size(i)));
    in.expect_end();
  }
  co_await channel.pause(static_cast<double>(type.size) *
                         options.rates.dequantize);
  co_return result;
}

Task<> dsar(Channel channel, Stream& stream, SparseOptions options) {
  const StreamType type = stream.type();
  if (options.quantizer != nullptr) {
    const auto refusal = declines(type, *options.quantizer);
    if (refusal) throw refused("sparse_all_reduce", "'dsar'", *refusal);
  }
  const Partitions partitions = partitions_of(options, type, channel.size());
  Stream mine =
      co_await sum_partition(channel, std::move(stream), options, true);
  if (options.quantizer != nullptr) {
    stream = co_await gather_quantized(channel, type, partitions,
                                       std::move(mine), options);
  } else {
    stream =
        co_await gather_partitions(channel, type, partitions, std::move(mine));
  }
}

// (P - 1) / P k to k, and (P - 1) / P N values.
SparseCost dsar_cost(const SparseWorkload& workload, const Level& network) {
  const Timeline timeline(workload, network);
  const int ranks = workload.ranks;
  const SumRates& rates = workload.rates;
  const double others = (ranks - 1.) / ranks;
  const double pairs = workload.support.items() *
                       static_cast<double>(workload.type.pair_bytes());
  const double size = workload.support.size();
  const double dense = others * size * workload.dense_value_bytes;
  std::vector<double> sums;
  for (int i = 0; i < ranks; ++i) {
    sums.push_back(static_cast<double>(workload.partitions.size(i)) *
                       workload.dense_value_bytes +
                   Stream::kHeaderBytes);
  }
  const double quantize =
      workload.is_quantized()
          ? static_cast<double>(workload.partitions.largest()) *
                    rates.quantize +
                size * rates.dequantize
          : 0;
  return {.seconds = timeline.sum_partition_seconds(true) + network.latency +
                     gather_seconds(sums, network) + quantize,
          .bytes = timeline.received_bytes() + dense,
          .least_bytes = others * pairs + dense,
          .most_bytes = pairs + dense};
}

}  // namespace

void register_sparse_all_reduce_dsar(SparseAllReduceRegistry& registry) {
  registry.add(
      {.name = "dsar",
       .summary = "each rank sums one partition, gathered without indices",
       .options = {quantizer_option()},
       .is_result_dense = true,
       .is_partitioned = true,
       .cost = dsar_cost,
       .run = dsar});
}

}  // namespace weft
