// What a computation on people's data gives away, from how it draws its noise.
//
//   gaussian(noise=1.1)
//   subsampled_gaussian(noise=1.1, rate=0.01, steps=1000) + laplace(noise=20)
//
// `noise` is that of one step over the sensitivity: how far one person can move
// the result. A step is one release; `steps`, which all mechanisms have, run
// one after the other, each with noise of its own. Neighbours differ by a
// person who is added or removed.
//
// A new mechanism is one file in weft/privacy/mechanisms.
//
// Threads: value types; immutable registry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/privacy/renyi_curve.h"

namespace weft::privacy {

// Who is compared: the data with a person against those without, or the other
// way round.
enum class Neighbour : std::uint8_t { kRemoved, kAdded };

struct MechanismDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};  // beside `steps`
  // The Rényi divergence of one step, the larger one of both directions; it may
  // be an upper bound, and is infinite for no noise.
  double (*renyi)(const Options& options, double order) = nullptr;
  // sup P(S) - e^epsilon Q(S) of one step, exact, for any epsilon; P is the
  // result with the person for kRemoved. Null: privacy_loss.h cannot count it.
  double (*hockey_stick)(const Options& options, Neighbour neighbour,
                         double epsilon) = nullptr;
};

using MechanismRegistry = Registry<MechanismDef>;

struct Mechanism {
  const MechanismDef* def = nullptr;
  Options options;  // complete

  std::int64_t steps() const;
};

// One after the other.
using Mechanisms = std::vector<Mechanism>;

// Throws Error(kInvalidArgument) with a caret under the place.
Mechanisms parse_mechanisms(std::string_view text);
// Canonical.
std::string to_string(const Mechanisms& mechanisms);

RenyiCurve renyi_curve(const Mechanisms& mechanisms, const RenyiOrders& orders);

// `noise`, which most of them have; 0 is no noise, and no privacy.
OptionSpec noise_option();
// `rate`, with which each person takes part in a step, on their own.
OptionSpec rate_option();

}  // namespace weft::privacy

namespace weft {

// It is filled from the files of weft/privacy/mechanisms.
const privacy::MechanismRegistry& mechanism_registry();

}  // namespace weft
