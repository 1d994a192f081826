#include "weft/train/sync/exchange.h"

#include <algorithm>

#include "weft/comm/collective/all_reduce.h"
#include "weft/comm/sparse/quantizer.h"
#include "weft/train/sync/aggregation_rule.h"
#include "weft/train/sync/dense_collective.h"

namespace weft {
namespace {

constexpr const char* kAuto = "auto";
constexpr const char* kKind = "collective";

std::vector<const ExchangeDef*> exchanges_in_order() {
  std::vector<const ExchangeDef*> ordered;
  for (const ExchangeDef& def : exchange_registry().all()) {
    ordered.push_back(&def);
  }
  std::ranges::stable_sort(ordered, {}, &ExchangeDef::order);
  return ordered;
}

bool sums_by(const ExchangeDef& def, const Call<CollectiveDef>& collective) {
  if (collective.def->name == kAuto) {
    // "auto" with options is for exchanges that have a use for them.
    return def.can_quantize || is_auto(collective);
  }
  const auto names = def.collectives();
  return std::ranges::find(names, collective.def->name, &EntryOptions::entry) !=
         names.end();
}

std::optional<Refusal> rule_refusal(const ExchangeDef& def,
                                    const SyncRecipe& recipe) {
  if (def.takes_rules || is_mean(recipe)) return std::nullopt;
  return Refusal{"rule " + in_quotes(recipe.rule),
                 "it adds contributions on their way, and a rule looks at each "
                 "by itself",
                 "collective = \"all_gather\", or policy = \"server\""};
}

struct Choice {
  const ExchangeDef* exchange = nullptr;  // null: all decline
  std::optional<Refusal> refusal;         // why the first one does
};

Choice choose(const SyncRecipe& recipe) {
  const Call<CollectiveDef> collective = collective_of(recipe);
  // What "auto" will stand for goes with all that "none" goes with.
  const Pipeline codec(recipe.codec == kAuto ? "none" : pipeline_text(recipe));
  Choice choice;
  for (const ExchangeDef* def : exchanges_in_order()) {
    if (!sums_by(*def, collective)) continue;
    auto refusal = rule_refusal(*def, recipe);
    if (!refusal && def->declines != nullptr) {
      refusal = def->declines(codec, collective.options);
    }
    if (!refusal) return {def, std::nullopt};
    if (!choice.refusal) choice.refusal = std::move(refusal);
  }
  return choice;
}

}  // namespace

std::vector<EntryOptions> collective_entries() {
  std::vector<EntryOptions> entries{
      {kAuto,
       "for each size what is fastest on this network",
       {quantizer_option()},
       kKind}};
  for (const ExchangeDef* exchange : exchanges_in_order()) {
    for (EntryOptions& entry : exchange->collectives()) {
      // Several exchanges may sum by the same.
      if (std::ranges::find(entries, entry.entry, &EntryOptions::entry) ==
          entries.end()) {
        entries.push_back(std::move(entry));
      }
    }
  }
  return entries;
}

const CollectiveRegistry& collective_registry() {
  // In a registry they are called like all else, with complete options and the
  // nearest name for a mistake.
  static const CollectiveRegistry filled = [] {
    CollectiveRegistry registry(kKind);
    for (EntryOptions& entry : collective_entries()) {
      registry.add({std::move(entry.entry), std::move(entry.summary),
                    std::move(entry.options)});
    }
    registry.freeze();
    return registry;
  }();
  return filled;
}

Call<CollectiveDef> collective_of(const SyncRecipe& recipe) {
  return parse_call(recipe.collective, collective_registry(),
                    "sync.collective");
}

bool is_auto(const Call<CollectiveDef>& collective) {
  // complete() gives the defaults, so that writing them out changes nothing.
  return collective.def->name == kAuto &&
         collective.options == complete(collective.def->options, {}, kAuto);
}

std::optional<Refusal> collective_declines(const SyncRecipe& recipe) {
  return choose(recipe).refusal;
}

const ExchangeDef& exchange_of(const SyncRecipe& recipe) {
  const Choice choice = choose(recipe);
  // check_sync() has refused recipes at which all decline.
  WEFT_CHECK(choice.exchange != nullptr, "{} declines", recipe.collective);
  return *choice.exchange;
}

std::unique_ptr<Exchange> make_exchange(const SyncContext& context,
                                        std::string& said) {
  const ExchangeDef& def = exchange_of(context.recipe);
  if (!def.uses_network) return def.make(context, std::nullopt);
  Network network = network_of(context.communicator, context.network,
                               context.recipe.topology);
  said = ", network " + to_string(network.topology);
  if (!network.note.empty()) said += " (" + network.note + ")";
  return def.make(context, std::move(network));
}

void check_ranks(const SyncRecipe& recipe, int ranks) {
  // Whether a collective can run depends on numbers of ranks alone.
  Topology network{{{ranks, 0, 0}}};
  if (recipe.topology != kAuto) {
    network = parse_topology(recipe.topology);
    if (network.ranks() != ranks) {
      throw refused("sync.topology", in_quotes(recipe.topology),
                    {fmt::format("{} workers", ranks),
                     fmt::format("it has {} ranks", network.ranks()),
                     "topology = \"auto\" measures the network"});
    }
  }
  if (recipe.servers >= ranks) {
    throw refused("sync.servers", fmt::format("{}", recipe.servers),
                  {fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"),
                   "nobody would be left who computes",
                   ranks > 1 ? fmt::format("servers = {}", ranks / 2)
                             : "more ranks: --workers 4"});
  }
  const int workers = Roles(ranks, recipe.servers).workers();
  const auto policy = policy_of(recipe);
  if (policy.def->declines_workers != nullptr) {
    if (const auto refusal =
            policy.def->declines_workers(policy.options, workers)) {
      throw refused("sync.policy", in_quotes(recipe.policy), *refusal);
    }
  }
  const auto rule = rule_of(recipe);
  if (rule.def->declines_workers != nullptr) {
    const int fewest =
        policy.def->fewest_contributions == nullptr
            ? workers
            : policy.def->fewest_contributions(policy.options, workers);
    if (const auto refusal = rule.def->declines_workers(rule.options, fewest)) {
      throw refused("sync.rule", in_quotes(recipe.rule), *refusal);
    }
  }
  // Its constructor refuses; all else runs with any number of ranks.
  DenseCollective(collective_of(recipe), network);
}

Refusal cannot_be_added(const Pipeline& codec) {
  return {in_quotes(codec.text()),
          "messages of this codec cannot be added on their way",
          "collective = \"all_gather\", policy = \"server\", or a codec that "
          "can: none, f16, bf16"};
}

}  // namespace weft
