#include "weft/kernels/recurrent/search.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/base/cpu.h"
#include "weft/base/stopwatch.h"
#include "weft/graph/kernel_times.h"

namespace weft::recurrent {
namespace {

// Steps whose products with x are taken together.
constexpr std::size_t kSomeAhead = 8;
constexpr std::size_t kMostAhead = 32;

// --- The model ---------------------------------------------------------------
// Rough figures of a processor of the last ten years, per thread: they decide
// what is worth timing, and no more.
constexpr double kSecondLevelBytes = 512 << 10;
constexpr double kSecondLevelRate = 60e9;  // bytes a second
constexpr double kLastLevelRate = 30e9;
constexpr double kMemoryRate = 15e9;
constexpr double kClock = 3e9;
constexpr double kLatency = 4;  // cycles of a multiply-add
constexpr double kMeeting = 0.3e-6;

double read_rate(double bytes_of_thread, double bytes_of_all) {
  if (bytes_of_thread <= kSecondLevelBytes) return kSecondLevelRate;
  const auto cache = static_cast<double>(last_level_cache_bytes());
  return bytes_of_all <= cache ? kLastLevelRate : kMemoryRate;
}

std::size_t vectors_of(const SequenceShape& shape,
                       const LoopParameters& parameters) {
  return shape.weight_blocks() * parameters.units / machine_lanes();
}

// As the loop has it: sums take three quarters of the registers, and a batch
// of more rows than have room is cut.
constexpr std::size_t kMostRows = 4;
std::size_t rows_at_once(const SequenceShape& shape,
                         const LoopParameters& parameters) {
  const std::size_t room =
      machine_registers() * 3 / 4 / vectors_of(shape, parameters);
  return std::clamp<std::size_t>(room, 1, std::min(shape.batch, kMostRows));
}
bool fits_registers(const SequenceShape& shape,
                    const LoopParameters& parameters) {
  return rows_at_once(shape, parameters) * vectors_of(shape, parameters) *
             parameters.chains <=
         machine_registers() * 3 / 4;
}

// --- Timing ------------------------------------------------------------------
// A run is so long that products taken ahead pay if they ever do, unless the
// weights are large: then fewer steps show it.
constexpr std::size_t kMostSteps = kMostAhead;
constexpr std::size_t kLeastSteps = kSomeAhead;
constexpr double kBytesOfRun = 256 << 20;

std::size_t steps_of_run(const SequenceShape& shape) {
  const double bytes =
      static_cast<double>(state_layout(shape, machine_lanes()).bytes());
  const double steps = kBytesOfRun / bytes;
  return steps >= kMostSteps    ? kMostSteps
         : steps <= kLeastSteps ? kLeastSteps
                                : static_cast<std::size_t>(steps);
}

Tensor filled(std::size_t bytes) {
  Tensor tensor = Tensor::empty({DType::kU8, {static_cast<Dim>(bytes)}});
  // An ordinary number of every format, and of scales.
  std::memset(tensor.raw(), 0x3c, bytes);
  return tensor;
}

// Memory for runs with any of some parameters. Packed weights of one layout are
// as good as those of another: all that counts is how many bytes are read.
class Operands {
 public:
  Operands(const SequenceShape& shape,
           const std::vector<LoopParameters>& parameters)
      : shape_(shape) {
    std::size_t input_bytes = 0;
    std::size_t state_bytes = 0;
    std::size_t scratch = 0;
    for (const LoopParameters& each : parameters) {
      input_bytes =
          std::max(input_bytes, input_layout(shape, each.units).bytes());
      state_bytes =
          std::max(state_bytes, state_layout(shape, each.units).bytes());
      scratch =
          std::max(scratch, at(each.threads) * scratch_bytes(shape, each));
    }
    input_weights_ = filled(input_bytes);
    state_weights_ = filled(state_bytes);
    scratch_ = filled(scratch);
    const std::size_t rows = shape.steps * shape.batch;
    x_ = filled(rows * shape.inputs * sizeof(float));
    state_ = filled(shape.batch * shape.hidden * sizeof(float));
    bias_ = filled(4 * shape.hidden * sizeof(float));
    y_ = filled(rows * shape.hidden * sizeof(float));
    cells_ = filled(rows * shape.hidden * sizeof(float));
    gates_ = filled(rows * 4 * shape.hidden * sizeof(float));
    last_ = filled(2 * shape.batch * shape.hidden * sizeof(float));
  }

  Sequence sequence(const LoopParameters& parameters) {
    const bool is_lstm = shape_.cell == Cell::kLstm;
    auto* last = floats(last_);
    return {.shape = shape_,
            .parameters = parameters,
            .input_weights =
                Panels(input_layout(shape_, parameters.units),
                       static_cast<const std::byte*>(input_weights_.raw())),
            .state_weights =
                Panels(state_layout(shape_, parameters.units),
                       static_cast<const std::byte*>(state_weights_.raw())),
            .x = floats(x_),
            .h = floats(state_),
            .c = is_lstm ? floats(state_) : nullptr,
            .input_bias = floats(bias_),
            .state_bias = floats(bias_),
            .y = floats(y_),
            .h_last = last,
            .c_last = is_lstm ? last + shape_.batch * shape_.hidden : nullptr,
            .gates = floats(gates_),
            .cells = is_lstm ? floats(cells_) : nullptr,
            .scratch = static_cast<std::byte*>(scratch_.raw())};
  }

 private:
  static std::size_t at(int count) { return static_cast<std::size_t>(count); }
  static float* floats(const Tensor& tensor) {
    return static_cast<float*>(tensor.raw());
  }

  SequenceShape shape_;
  Tensor input_weights_, state_weights_, scratch_, x_, state_, bias_, y_,
      cells_, gates_, last_;
};

double shortest_run(const Sequence& sequence, SequenceFunction function) {
  const Stopwatch all;
  double shortest = std::numeric_limits<double>::max();
  // The first run meets code and memory for the first time.
  for (int i = 0; i < 2 || all.seconds() < kSecondsEach; ++i) {
    const Stopwatch watch;
    run_sequence(sequence, function);
    if (i > 0) shortest = std::min(shortest, watch.seconds());
  }
  return shortest;
}

std::string description(const SequenceShape& shape, int threads) {
  return fmt::format(
      "{} threads, recurrent loop: {}, {} inputs, {} hidden, {} batch, {}",
      threads, shape.cell == Cell::kLstm ? "lstm" : "gru", shape.inputs,
      shape.hidden, shape.batch, to_string(shape.weights));
}

// Layers of fewer weights are over before a choice could matter.
constexpr std::size_t kLeastWeights = 1 << 14;

}  // namespace

LoopParameters default_parameters(const SequenceShape& shape, int threads) {
  LoopParameters parameters{machine_lanes(), 2, kMostAhead, threads};
  if (!fits_registers(shape, parameters)) parameters.chains = 1;
  return parameters;
}

LoopParameters paper_parameters(const SequenceShape& shape, int threads) {
  LoopParameters parameters = default_parameters(shape, threads);
  parameters.ahead = 1;
  return parameters;
}

double predicted_seconds(const SequenceShape& shape,
                         const LoopParameters& parameters) {
  const auto rows = static_cast<double>(shape.batch);
  const double threads = parameters.threads;
  const PanelLayout state = state_layout(shape, parameters.units);
  const PanelLayout input = input_layout(shape, parameters.units);
  // The thread with the most panels is waited for.
  const auto panels = static_cast<double>(state.panels());
  const double share = std::ceil(panels / threads) / panels;
  const auto vectors = static_cast<double>(vectors_of(shape, parameters));
  const double sums = static_cast<double>(rows_at_once(shape, parameters)) *
                      vectors * static_cast<double>(parameters.chains);
  // Two sums can begin in a cycle, unless they wait for those before them.
  const double adds_per_cycle = std::min(2.0, sums / kLatency);
  const auto arithmetic = [&](const PanelLayout& layout) {
    return static_cast<double>(layout.groups() * layout.panels()) * vectors *
           rows * share / adds_per_cycle / kClock;
  };
  const auto ahead = static_cast<double>(parameters.ahead);
  const auto state_bytes = static_cast<double>(state.bytes());
  const auto input_bytes = static_cast<double>(input.bytes());
  // What is taken ahead passes once for many steps, and leaves the caches to
  // the weights of the state.
  const double kept =
      parameters.ahead == 1 ? state_bytes + input_bytes : state_bytes;
  const double rate = read_rate(kept * share, kept);
  const double state_time =
      std::max(state_bytes * share / rate, arithmetic(state));
  const double input_time =
      std::max(input_bytes * share / rate / ahead, arithmetic(input));
  return state_time + input_time + (threads > 1 ? kMeeting : 0);
}

std::vector<LoopParameters> candidates(const SequenceShape& shape,
                                       int threads) {
  std::vector<LoopParameters> all;
  for (const std::size_t wide : {1u, 2u}) {
    for (const std::size_t chains : {1u, 2u, 4u}) {
      for (const std::size_t ahead : {std::size_t{1}, kSomeAhead, kMostAhead}) {
        for (const int team : {1, threads}) {
          const LoopParameters one{wide * machine_lanes(), chains, ahead, team};
          if (!fits_registers(shape, one)) continue;
          if (std::ranges::find(all, one) == all.end()) all.push_back(one);
        }
      }
    }
  }
  std::ranges::stable_sort(all, {}, [&](const LoopParameters& one) {
    return predicted_seconds(shape, one);
  });
  return all;
}

std::vector<double> time_candidates(
    SequenceShape shape, const std::vector<LoopParameters>& parameters) {
  shape.steps = steps_of_run(shape);
  Operands operands(shape, parameters);
  std::vector<double> seconds;
  for (const LoopParameters& each : parameters) {
    seconds.push_back(
        shortest_run(operands.sequence(each), find_sequence(shape, each)));
  }
  return seconds;
}

std::vector<LoopParameters> timed_parameters(const SequenceShape& shape,
                                             int threads) {
  std::vector<LoopParameters> timed = {default_parameters(shape, threads)};
  for (const LoopParameters& each : candidates(shape, threads)) {
    if (timed.size() > kTimedCandidates) break;
    if (each != timed[0]) timed.push_back(each);
  }
  return timed;
}

double seconds_of_step(const SequenceShape& shape,
                       const LoopParameters& parameters) {
  return time_candidates(shape, {parameters})[0] /
         static_cast<double>(steps_of_run(shape));
}

LoopParameters fastest_parameters(const SequenceShape& shape, int threads) {
  const std::size_t weights =
      shape.weight_blocks() * shape.hidden * (shape.inputs + shape.hidden);
  if (weights < kLeastWeights) return default_parameters(shape, threads);
  const auto timed = timed_parameters(shape, threads);
  if (timed.size() < 2) return timed[0];
  std::vector<std::string> names;
  for (const LoopParameters& each : timed) names.push_back(to_string(each));
  const auto times = times_of_ways(description(shape, threads), names, [&] {
    const std::vector<double> seconds = time_candidates(shape, timed);
    std::vector<KernelTime> measured;
    for (std::size_t i = 0; i < names.size(); ++i) {
      measured.push_back({names[i], seconds[i]});
    }
    return measured;
  });
  if (times.empty()) return timed[0];
  const auto found = std::ranges::find(names, fastest(times).name);
  return timed[static_cast<std::size_t>(found - names.begin())];
}

}  // namespace weft::recurrent
