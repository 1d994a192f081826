// Sparse streams in a sparse all-reduce: each bucket's picked entries are
// added on their way.
#include "weft/comm/codec/pipeline_text.h"
#include "weft/comm/sparse/chooser.h"
#include "weft/train/sync/exchange.h"

namespace weft {
namespace {

// "dsar", or "dsar(qsgd(4))" with a codec for its dense phase.
struct StreamCollective {
  const SparseAllReduceDef* algorithm = nullptr;  // null: choose
  std::unique_ptr<ValueCodec> quantizer;
};

StreamCollective parse_collective(const std::string& text) {
  StreamCollective result;
  if (text == "auto") return result;
  const std::size_t open = text.find('(');
  result.algorithm = &sparse_all_reduce_registry().get(text.substr(0, open));
  if (open == std::string::npos) return result;
  if (text.back() != ')' || !result.algorithm->can_quantize) {
    throw Error(ErrorCode::kInvalidArgument, "sync.collective",
                "'{}' takes no codec", result.algorithm->name);
  }
  const PipelineText codec =
      parse_pipeline(text.substr(open + 1, text.size() - open - 2));
  if (!codec.value || codec.sparsifier || codec.index || codec.bytes) {
    throw Error(ErrorCode::kInvalidArgument, "sync.collective",
                "the codec of a dense phase is one of values, as in "
                "\"dsar(qsgd(4))\"");
  }
  result.quantizer = codec.value->def->make(codec.value->options);
  return result;
}

class StreamExchange : public Exchange {
 public:
  StreamExchange(const SyncContext& context, const Topology& network)
      : communicator_(context.communicator),
        seed_(context.seed),
        compressor_(context.recipe, context.seed, context.buckets,
                    Compressor::Memory::kKept),
        collective_(parse_collective(context.recipe.collective)) {
    for (const Bucket& bucket : context.buckets) {
      choosers_.emplace_back(type_of(bucket), communicator_.size(),
                             network.levels.back());
    }
  }

  Task<> sum(Bucket& bucket, SyncStep step) override {
    const Channel channel =
        communicator_.open({"sparse_all_reduce", bucket.text()});
    SparseEntries entries;
    compressor_.sparsify(bucket, bucket.gradient(), step, channel.rank(),
                         entries);
    Stream stream = Stream::of<std::uint32_t, float>(
        entries.size, entries.indices, entries.values);
    const SparseOptions options{
        .quantizer = collective_.quantizer.get(),
        .message = {seed_, bucket.number(),
                    static_cast<std::uint32_t>(step.number), 0}};
    // The choice follows from this step's entries alone: a resumed run chooses
    // as the uninterrupted one would.
    if (collective_.algorithm != nullptr) {
      co_await collective_.algorithm->run(channel, stream, options);
    } else {
      co_await sparse_all_reduce(channel, stream, choosers_[bucket.number()],
                                 options);
    }
    stream.copy_to(bucket.gradient());
  }

  std::vector<NamedTensor> memory() const override {
    return compressor_.memory();
  }
  std::string text() const override {
    return fmt::format(
        "sparse_all_reduce({}) of {}",
        collective_.algorithm != nullptr ? collective_.algorithm->name : "auto",
        compressor_.last_pipeline().text());
  }

 private:
  static StreamType type_of(const Bucket& bucket) {
    return {DType::kF32, bucket.gradient().size()};
  }

  Communicator& communicator_;
  std::uint64_t seed_;
  Compressor compressor_;
  StreamCollective collective_;
  std::vector<SparseChooser> choosers_;  // by bucket
};

}  // namespace

std::unique_ptr<Exchange> make_stream_exchange(const SyncContext& context,
                                               const Topology& network) {
  return std::make_unique<StreamExchange>(context, network);
}

}  // namespace weft
