// weft-bench simulate-step MODEL: what a training step of several workers
// takes on a simulated network.
//
// One worker's backward pass is timed for real, so that it is known when each
// bucket of gradients is there; its times are stretched to what computing
// takes where the prediction is for (`--compute`, seconds of a step without
// communication). The all-reduces of the buckets then run on the simulated
// network.
#include <algorithm>
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"

#include "weft/base/philox.h"
#include "weft/base/stopwatch.h"
#include "weft/comm/transport/sim.h"
#include "weft/train/sync/bucket.h"
#include "weft/train/sync/dense_collective.h"

namespace weft::bench {
namespace {

constexpr int kTimings = 9;

// When a bucket's last gradient is there, as a share of the backward pass.
struct Exchange {
  double ready = 0;
  std::size_t bytes = 0;
};

std::vector<Tensor> any_batch(const RacedModel& raced, std::int64_t size) {
  Shape shape{size};
  for (const Dim dim : raced.image) shape.push_back(dim);
  const Tensor images = Tensor::empty({DType::kF32, shape});
  const RandomStream pixels{1, 100, 0};
  for (std::uint64_t i = 0; auto& pixel : images.span<float>()) {
    pixel = uniform_from(pixels.word(i++));
  }
  return {images, Tensor::zeros({DType::kI32, {size}})};
}

struct Backward {
  double seconds = 0;
  std::vector<Exchange> exchanges;
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Returns the shortest of several runs, since other programs may have disturbed
// some, and the medians of the shares.
Backward time_backward(const RacedModel& raced, std::int64_t batch_size,
                       std::int64_t bucket_bytes, const std::string& weights) {
  const std::vector<Tensor> batch = any_batch(raced, batch_size);
  const std::vector<TensorType> types{batch[0].type(), batch[1].type()};
  const auto model = make_raced_model(raced, types, weights);
  const auto optimizer = make_raced_optimizer(raced);
  const StepDescription description = describe_step(
      *model, model_registry().get(raced.name).task, *optimizer, types);
  const auto trainable = description.tensors(EntryRole::kParameter);
  const std::size_t count = trainable.size();
  Step backward(description, StepCut::kGradients);

  std::vector<std::vector<double>> shares(count);
  std::vector<double> wholes;
  for (int i = 0; i < kTimings; ++i) {
    const Stopwatch watch;
    std::vector<double> ready(count);
    backward.run(batch, {.number = i},
                 [&](std::size_t p) { ready[p] = watch.seconds(); });
    const double whole = watch.seconds();
    wholes.push_back(whole);
    for (std::size_t p = 0; p < count; ++p) {
      shares[p].push_back(ready[p] / whole);
    }
  }
  Backward result{.seconds = *std::ranges::min_element(wholes),
                  .exchanges = {}};
  for (const Bucket& bucket : make_buckets(trainable, bucket_bytes)) {
    Exchange exchange{.bytes = bucket.bytes()};
    for (const BucketMember& member : bucket.members()) {
      exchange.ready =
          std::max(exchange.ready, median(shares[member.parameter]));
    }
    result.exchanges.push_back(exchange);
  }
  std::ranges::sort(result.exchanges, {}, &Exchange::ready);
  return result;
}

Task<> exchange(Communicator& all, DenseCollective& collective,
                std::size_t bytes) {
  const DenseBuffer buffer{DType::kF32, nullptr, bytes / sizeof(float)};
  co_await collective.sum(all, buffer, "bucket");
}

// Backward in slices, between which the sums of earlier buckets get the
// processor, as they do where an operating system shares it.
Task<> compute(Transport& transport, double seconds) {
  constexpr double kSlice = 1e-3;
  for (; seconds > 0; seconds -= kSlice) {
    co_await Pause(transport, std::min(seconds, kSlice));
  }
}

// Computes on until the first of `exchanges` is ready, at `now` as a share of
// the backward pass, and sends it while the rest is computed.
Task<> step_from(Communicator& all, DenseCollective& collective,
                 std::span<const Exchange> exchanges, double now,
                 double compute_seconds) {
  const Exchange& first = exchanges.front();
  co_await compute(all.transport(), (first.ready - now) * compute_seconds);
  std::vector<Task<>> tasks;
  tasks.push_back(exchange(all, collective, first.bytes));
  if (exchanges.size() > 1) {
    tasks.push_back(step_from(all, collective, exchanges.subspan(1),
                              first.ready, compute_seconds));
  }
  co_await all_of(std::move(tasks));
}

}  // namespace

void simulate_step(const WorkerOptions& options) {
  const RacedModel& raced = raced_model(options.model);
  const double compute_seconds = std::stod(options.text("compute"));
  const bool overlaps = options.text("overlap") == "true";
  const Topology topology = parse_topology(options.text("topology"));
  Backward backward =
      time_backward(raced, options.integer("batch"),
                    options.integer("bucket-bytes"), options.text("weights"));
  if (!overlaps) {
    for (Exchange& exchange : backward.exchanges) exchange.ready = 1;
  }
  DenseCollective collective(parse_call(options.text("collective"),
                                        collective_registry(), "collective"),
                             topology);
  SimWorld world(topology, {.carries_payload = false});
  const auto run_rank = [&](Transport& transport) -> Task<> {
    Communicator all(transport);
    co_await step_from(all, collective, backward.exchanges, 0, compute_seconds);
  };
  const double communicated = world.run(run_rank);
  Json buckets = Json::array();
  for (const Exchange& exchange : backward.exchanges) {
    buckets.push_back({{"ready", exchange.ready}, {"bytes", exchange.bytes}});
  }
  fmt::print("{}\n", Json{{"seconds", std::max(communicated, compute_seconds)},
                          {"backward", backward.seconds},
                          {"collective", collective.text()},
                          {"buckets", buckets}}
                         .dump());
}

}  // namespace weft::bench
