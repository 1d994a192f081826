// Sparse streams in a sparse all-reduce: each bucket's picked entries are
// added on their way.
#include <algorithm>
#include <map>

#include "weft/comm/codec/pipeline_text.h"
#include "weft/comm/sparse/chooser.h"
#include "weft/train/sync/exchange.h"
#include "weft/train/sync/gather.h"

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
    // Entered before anything waits: buckets are under way side by side.
    const Channel counting =
        communicator_.open({"sum", "entries of " + bucket.text()});
    const Channel summing =
        communicator_.open({"sparse_all_reduce", bucket.text()});
    SparseEntries entries;
    compressor_.sparsify(bucket, bucket.gradient(), step, summing.rank(),
                         entries);
    Stream stream = Stream::of<std::uint32_t, float>(
        entries.size, entries.indices, entries.values);
    // The choice, and the room for messages, must be the same on all ranks.
    std::vector<double> counts(static_cast<std::size_t>(summing.size()));
    counts[static_cast<std::size_t>(summing.rank())] =
        static_cast<double>(entries.indices.size());
    co_await sum_over_workers(counting, counts);
    const double most = *std::ranges::max_element(counts);
    // By the formula for how full sums get, not by what earlier sums were: a
    // resumed run must choose as the uninterrupted one would.
    const SparseAllReduceDef* algorithm = collective_.algorithm;
    if (algorithm == nullptr) {
      algorithm = choosers_[bucket.number()].choose(most).algorithm;
    }
    SparseOptions options;
    options.most_items = static_cast<std::uint64_t>(most);
    options.quantizer = collective_.quantizer.get();
    options.message = {seed_, bucket.number(),
                       static_cast<std::uint32_t>(step.number), 0};
    co_await algorithm->run(summing, stream, options);
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
