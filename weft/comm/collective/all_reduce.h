// All-reduce: every rank ends with the sum of all ranks' vectors.
//
//   const AllReduce sum("blueconnect([4, 64], chunks=2)");
//   engine.run(sum.run(communicator, dense(std::span(values)), "'conv1'"));
//
//   const PreparedAllReduce each_step =
//       sum.prepare(communicator, DType::kF32, values.size(), "'conv1'");
//   engine.run(each_step.run(dense(std::span(values)).data));
//
// Algorithms are entries of a registry, one file each in all_reduce/. The sum
// is computed in an order that depends on the algorithm, its options and the
// number of ranks alone, and all ranks get the same bits. Another algorithm
// or factorization rounds differently. NaN and infinity pass through.
//
// All ranks name the same algorithm and options, and buffers of the same
// dtype and count; ranks that do not are told (engine.h).
//
// Threads: AllReduce and PreparedAllReduce are immutable; run() as
// Communicator.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/base/option_schema.h"
#include "weft/base/refusal.h"
#include "weft/base/registry.h"
#include "weft/comm/collective/dense.h"
#include "weft/comm/transport/topology.h"

namespace weft {

struct AllReduceDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // Why it cannot run on such a network; null: it always can. Only the sizes
  // of the levels count.
  std::optional<Refusal> (*declines)(const Options& options,
                                     const Topology& topology) = nullptr;
  // What a chooser should consider.
  std::vector<Options> (*variants)(const Topology& topology);
  // Predicted seconds; it does not decline.
  double (*seconds)(const Options& options, const Topology& topology,
                    double bytes);
  // How many operations it enters, each with a channel.
  int (*operations)(const Options& options) = [](const Options&) { return 1; };
  // Runs among at least two ranks.
  Task<> (*run)(std::vector<Channel> channels, DenseBuffer buffer,
                Options options);
};

using AllReduceRegistry = Registry<AllReduceDef>;

// It is filled from the files of weft/comm/collective/all_reduce.
const AllReduceRegistry& all_reduce_registry();

// One all-reduce of a communicator, checked and put into words, to be run
// many times.
class PreparedAllReduce {
 public:
  // Enters the operation now; the sum is there when the task is over, which
  // this need not outlive. `priority` is that of its messages.
  Task<> run(std::byte* data, int priority = 0) const;

 private:
  friend class AllReduce;
  PreparedAllReduce(const AllReduceDef* def, Options options,
                    Communicator& communicator, DenseBuffer shape,
                    const OperationInfo& info);

  const AllReduceDef* def_;
  Options options_;
  Communicator* communicator_;
  DenseBuffer shape_;  // without data
  NamedOperation operation_;
};

// An algorithm with its options.
class AllReduce {
 public:
  // "ring", "rabenseifner(order=near)", "blueconnect([4, 8], chunks=2)"
  // (base/call_reader.h).
  // Throws Error(kInvalidArgument) for what is not known, with the nearest
  // name, and for what an option may not be.
  explicit AllReduce(std::string_view text);
  AllReduce(const AllReduceDef& def, const Options& given);

  const std::string& name() const { return def_->name; }
  // Names the options that are not the default.
  const std::string& text() const { return text_; }

  // Why it cannot run on such a network; nothing if it can.
  std::optional<Refusal> declines(const Topology& topology) const {
    if (def_->declines == nullptr) return std::nullopt;
    return def_->declines(options_, topology);
  }
  double seconds(const Topology& topology, double bytes) const {
    return def_->seconds(options_, topology, bytes);
  }

  // Adds up `count` elements; `name` is for messages. The communicator must
  // outlive what is returned. Throws Error(kUnsupported) when the algorithm
  // cannot run with this number of ranks, or for a dtype without sums.
  PreparedAllReduce prepare(Communicator& communicator, DType dtype,
                            std::size_t count,
                            std::string_view name = "") const;
  // The same once: enters the operation now.
  Task<> run(Communicator& communicator, DenseBuffer buffer,
             std::string_view name = "", int priority = 0) const {
    return prepare(communicator, buffer.dtype, buffer.count, name)
        .run(buffer.data, priority);
  }

 private:
  explicit AllReduce(const Call<AllReduceDef>& call);

  const AllReduceDef* def_;
  Options options_;
  std::string text_;
};

std::vector<Options> only_defaults(const Topology& topology);

}  // namespace weft
