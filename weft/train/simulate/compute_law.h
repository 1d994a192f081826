// Laws of time: how long a step computes on a worker of a simulated cluster.
//
// [simulate] compute = "normal(20ms, 5%)" names one with its options. A new law
// is one file in simulate/laws.
//
// Threads: immutable; the registry is safe anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/base/philox.h"

namespace weft {

// One step of one worker.
struct LawStep {
  int rank = 0;
  std::int64_t number = 0;  // of the step, from 0
  // What it takes on this machine, in seconds; 0 under laws that do not ask.
  double measured = 0;
};

class ComputeLaw {
 public:
  virtual ~ComputeLaw() = default;

  // Whether seconds() looks at LawStep::measured. If it does not, the law
  // speaks of all that a worker computes in a step: codecs and the optimizer
  // take no time beside it.
  virtual bool is_measured() const = 0;
  // The same for the same step, and above 0.
  virtual double seconds(const LawStep& step) const = 0;
};

struct ComputeLawDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // `options` are complete; `seed` is of what it draws.
  std::unique_ptr<ComputeLaw> (*make)(const Options& options,
                                      std::uint64_t seed) = nullptr;
};

using ComputeLawRegistry = Registry<ComputeLawDef>;

// It is filled from the files of weft/train/simulate/laws.
const ComputeLawRegistry& compute_law_registry();

// The law of a text such as "constant(20ms)". Throws Error(kInvalidArgument)
// with the nearest name, or what is wrong with an option.
std::unique_ptr<ComputeLaw> make_compute_law(const std::string& text,
                                             std::uint64_t seed);

// Random words of a step: those of `draw` 0, 1, … are independent.
PhiloxBlock law_words(std::uint64_t seed, const LawStep& step,
                      std::uint64_t draw);
// A word as a number inside of (0, 1): logarithms and powers of it are finite.
double inner_share(std::uint32_t word);

}  // namespace weft
