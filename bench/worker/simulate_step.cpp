// weft-bench simulate-step MODEL: what a training step of several workers
// takes on a simulated network.
//
// One worker's backward pass is timed for real, so that it is known when each
// bucket of gradients is there; its times are stretched to what computing
// takes where the prediction is for (`--compute`, seconds of a step without
// communication). The all-reduces of the buckets then run on the simulated
// network.
#include <algorithm>
#include <chrono>
#include <fmt/core.h>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/training.h"

#include "weft/base/philox.h"
#include "weft/comm/transport/sim.h"
#include "weft/train/sync/backward_step.h"
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

// Of several runs: the shortest, since other programs may have disturbed some,
// and medians of the shares.
Backward time_backward(const RacedModel& raced, std::int64_t batch_size,
                       std::int64_t bucket_bytes, const std::string& weights) {
  const std::vector<Tensor> batch = any_batch(raced, batch_size);
  const std::vector<TensorType> types{batch[0].type(), batch[1].type()};
  const auto model = make_raced_model(raced, types, weights);
  BackwardStep backward(*model, model_registry().get(raced.name).task, types,
                        {});
  std::vector<Tensor> gradients;
  for (const NamedTensor& named : backward.trainable()) {
    gradients.push_back(Tensor::zeros(named.tensor.type()));
  }
  const std::size_t count = gradients.size();
  backward.set_gradients(std::move(gradients));

  std::vector<std::vector<double>> shares(count);
  std::vector<double> wholes;
  for (int i = 0; i < kTimings; ++i) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto since = [&] {
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    std::vector<double> ready(count);
    backward.run(batch, 1, i, [&](std::size_t p) { ready[p] = since(); });
    const double whole = since();
    wholes.push_back(whole);
    for (std::size_t p = 0; p < count; ++p) {
      shares[p].push_back(ready[p] / whole);
    }
  }
  Backward result{.seconds = *std::ranges::min_element(wholes),
                  .exchanges = {}};
  for (const Bucket& bucket :
       make_buckets(backward.trainable(), bucket_bytes)) {
    Exchange exchange{.bytes = bucket.bytes()};
    for (const BucketMember& member : bucket.members()) {
      exchange.ready =
          std::max(exchange.ready, median(shares[member.parameter]));
    }
    result.exchanges.push_back(exchange);
  }
  return result;
}

Task<> exchange_when_ready(Communicator& all, DenseCollective& collective,
                           Exchange exchange, double compute_seconds) {
  co_await Pause(all.transport(), exchange.ready * compute_seconds);
  const DenseBuffer buffer{DType::kF32, nullptr,
                           exchange.bytes / sizeof(float)};
  co_await collective.sum(all, buffer, "bucket");
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
  DenseCollective collective(options.text("collective"), topology);
  SimWorld world(topology, {.carries_payload = false});
  const auto run_rank = [&](Transport& transport) -> Task<> {
    Communicator all(transport);
    std::vector<Task<>> tasks;
    for (const Exchange& exchange : backward.exchanges) {
      tasks.push_back(
          exchange_when_ready(all, collective, exchange, compute_seconds));
    }
    co_await all_of(std::move(tasks));
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
