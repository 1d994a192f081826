#include "weft/comm/collective/all_reduce.h"

#include "weft/base/call_reader.h"

namespace weft {

AllReduce::AllReduce(const AllReduceDef& def, const Options& given)
    : def_(&def),
      options_(complete(def.options, given, def.name)),
      // Ranks compare this text, so options that are spelled differently and
      // mean the same must give the same.
      text_(brief_call_text(def.name, def.options, options_)) {}

AllReduce::AllReduce(const Call<AllReduceDef>& call)
    : AllReduce(*call.def, call.options) {}

AllReduce::AllReduce(std::string_view text)
    : AllReduce(parse_call(text, all_reduce_registry(), "all_reduce")) {}

PreparedAllReduce AllReduce::prepare(Communicator& communicator, DType dtype,
                                     std::size_t count,
                                     std::string_view name) const {
  // Refusals look at the sizes of levels alone: here it is their number of
  // ranks that is asked about.
  const Topology flat{{{communicator.size(), 0, 0}}};
  std::optional<Refusal> refusal = declines(flat);
  if (!is_summable(dtype)) {
    refusal = {std::string(to_string(dtype)), "it has no sums", {}};
  }
  if (refusal) {
    throw refused("all_reduce", in_quotes(text_), *refusal,
                  ErrorCode::kUnsupported);
  }
  // Ranks compare this text, so those that disagree about the dtype, the count
  // or the algorithm are told, and never add each other's bytes.
  const OperationInfo info{fmt::format("all_reduce({})", text_),
                           fmt::format("{}[{}]{}{}", to_string(dtype), count,
                                       name.empty() ? "" : " ", name)};
  return {def_, options_, communicator, {dtype, nullptr, count}, info};
}

PreparedAllReduce::PreparedAllReduce(const AllReduceDef* def, Options options,
                                     Communicator& communicator,
                                     DenseBuffer shape,
                                     const OperationInfo& info)
    : def_(def),
      options_(std::move(options)),
      communicator_(&communicator),
      shape_(shape),
      operation_(info) {}

Task<> PreparedAllReduce::run(std::byte* data, int priority) const {
  std::vector<Channel> channels;
  for (int i = 0; i < def_->operations(options_); ++i) {
    // This is no coroutine, so that operations are entered when run() is
    // called, in the same order on all ranks, whenever the task is started.
    channels.push_back(communicator_->open(operation_, priority));
  }
  // Alone there is nothing to exchange; the operations above were counted all
  // the same, as on any other number of ranks.
  if (communicator_->size() == 1) return all_of({});
  return def_->run(std::move(channels), {shape_.dtype, data, shape_.count},
                   options_);
}

std::vector<Options> only_defaults(const Topology&) { return {{}}; }

}  // namespace weft
