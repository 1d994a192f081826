#include "bench/worker/weight_reads.h"

#include "bench/rooflines/read.h"

#include "weft/base/parallel.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kGrain = 4096;

void read(const HugeVector<float>& weights) {
  parallel_for(
      std::ssize(weights), kGrain, [&](std::int64_t begin, std::int64_t end) {
        volatile float seen = read_sum(weights.data() + begin,
                                       static_cast<std::size_t>(end - begin));
        (void)seen;
      });
}

}  // namespace

WeightReads::WeightReads(std::int64_t of_step, std::int64_t of_sequence,
                         std::int64_t steps)
    : of_step_(static_cast<std::size_t>(of_step), 1.f),
      of_sequence_(static_cast<std::size_t>(of_sequence), 1.f),
      steps_(steps) {}

void WeightReads::run() const {
  read(of_sequence_);
  for (std::int64_t step = 0; step < steps_; ++step) read(of_step_);
}

}  // namespace weft::bench
