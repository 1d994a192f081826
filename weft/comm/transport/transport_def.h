// The transports that ranks can train over, by name: a new one is one file of
// comm/transport/transports.
//
// `weft train RECIPE --transport "tcp(10.0.0.1:7070, rank=2, ranks=4)"` names
// one with its options; `weft train --help transport` lists them.
//
// Threads: the registry is immutable.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/base/refusal.h"
#include "weft/comm/transport/local_ranks.h"

namespace weft {

// Tells people what goes on while ranks meet.
using Say = std::function<void(const std::string&)>;

struct TransportDef {
  std::string name;
  std::string summary;
  // Whom it trusts and who can read what travels, in whole sentences.
  std::string trust;
  std::vector<OptionSpec> options = {};
  // All ranks are of this process.
  bool is_one_process = false;
  // Whether a launcher has started this process as a rank, so that nobody need
  // name the transport; null: there are no launchers of it.
  bool (*is_launched)() = nullptr;
  // Why it cannot work with these options, which are complete, or in this
  // process; null: it always can.
  std::optional<Refusal> (*declines)(const Options& options) = nullptr;
  // The ranks that this process is, when all have met.
  std::unique_ptr<LocalRanks> (*open)(const Options& options,
                                      const Say& say) = nullptr;
  // So many ranks of this process on a network of their own, for tests, which
  // hold every transport that has any to what transport.h promises; null: it
  // cannot be had in one process.
  std::unique_ptr<LocalRanks> (*sample)(int ranks) = nullptr;
};

using TransportRegistry = Registry<TransportDef>;

// It is filled from the files of weft/comm/transport/transports.
const TransportRegistry& transport_registry();

// The transport as which a launcher has started this process; null if none did.
const TransportDef* launched_transport();

// Opens what was named, with these options. Throws Error(kInvalidArgument) with
// the reason if the transport declines, and what its opening throws.
std::unique_ptr<LocalRanks> open_transport(const Call<TransportDef>& call,
                                           const Say& say);

}  // namespace weft
