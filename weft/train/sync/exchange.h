// How the gradients of a bucket become their sum over all workers: what
// policies that use [sync] collective choose from.
//
//   dense           the values, or a 16-bit form of them, in a dense all-reduce
//   shared_indices  the values that all workers pick at the same places, in a
//                   dense all-reduce
//   stream          sparse streams, in a sparse all-reduce
//   gather          messages of any codec to everyone, who decodes and adds
//
// All leave the same bits on every worker. A new one is one file in
// sync/exchanges.
//
// Threads: tasks of the network's thread; the rest is pure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/comm/codec/pipeline.h"
#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/compressor.h"
#include "weft/train/sync/network.h"
#include "weft/train/sync/policy.h"

namespace weft {

class Exchange {
 public:
  virtual ~Exchange() = default;
  // Makes the bucket's gradient the sum of all workers', who all call this in
  // the same order.
  virtual Task<> sum(Bucket& bucket, SyncStep step) = 0;
  // What this worker keeps of its own.
  virtual std::vector<NamedTensor> memory() const { return {}; }
  // What else is kept, as SyncPolicy has it.
  virtual std::vector<OwnedTensor> state() const { return {}; }
  virtual std::string restore(
      const std::function<Tensor(const std::string&)>& /*read*/) {
    return "";
  }
  virtual Figures figures() const { return {}; }
  // It is for people: "all_reduce(ring) of f32".
  virtual std::string text() const = 0;
};

// What [sync] collective may name: an algorithm that an exchange sums by, or
// "auto", the fastest.
struct CollectiveDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
};
using CollectiveRegistry = Registry<CollectiveDef>;

struct ExchangeDef {
  std::string name;
  std::string summary;
  // Where several could sum, that with the least number does.
  int order = 0;
  // What it sums by, beside "auto": entries_of(all_reduce_registry()).
  std::vector<EntryOptions> (*collectives)() = nullptr;
  // Whether it has each contribution by itself, and makes of them what [sync]
  // rule says.
  bool takes_rules = false;
  // Whether it has dense phases that a quantizer could be for: what
  // "auto(qsgd(4))" chooses among.
  bool can_quantize = false;
  // Why it cannot sum what `codec` makes; nothing if it can, null: it always
  // can. `options` are those of the collective.
  std::optional<Refusal> (*declines)(const Pipeline& codec,
                                     const Options& options) = nullptr;
  // Whether it asks what the network is like; it is null otherwise.
  bool uses_network = true;
  std::unique_ptr<Exchange> (*make)(const SyncContext& context,
                                    std::optional<Network> network) = nullptr;
};
using ExchangeRegistry = Registry<ExchangeDef>;

// It is filled from the files of weft/train/sync/exchanges.
const ExchangeRegistry& exchange_registry();
// What all of these sum by, each once, and "auto"; for OptionSpec::calls.
const CollectiveRegistry& collective_registry();
std::vector<EntryOptions> collective_entries();

// The one that a recipe names. Throws Error(kInvalidArgument) with the nearest
// name, or what is wrong with an option.
Call<CollectiveDef> collective_of(const SyncRecipe& recipe);
// Whether it is "auto" with all options as they are by default.
bool is_auto(const Call<CollectiveDef>& collective);

// Why no exchange sums by the recipe's collective what its codec makes; nothing
// if one does. Codec "auto" goes with any.
std::optional<Refusal> collective_declines(const SyncRecipe& recipe);
// The exchange that does. collective_declines() must have found one.
const ExchangeDef& exchange_of(const SyncRecipe& recipe);

// That exchange, on the network of the recipe, which it may measure. `said`
// gets what there is to say of the network, where it was looked at. Collective.
std::unique_ptr<Exchange> make_exchange(const SyncContext& context,
                                        std::string& said);

// Throws Error(kInvalidArgument) when so many workers cannot train by it: its
// topology is of another number, or its collective does not divide into them.
void check_ranks(const SyncRecipe& recipe, int ranks);

// Why a codec's messages cannot be summed as numbers.
Refusal cannot_be_added(const Pipeline& codec);

}  // namespace weft
