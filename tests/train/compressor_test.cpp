// What sparsified SGD with error feedback promises (Alistarh et al., "The
// Convergence of Sparsified Gradient Methods", NeurIPS 2018), on recorded
// steps of four workers.
#include "weft/train/sync/compressor.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>

namespace weft::compressor_test {
namespace {

constexpr std::int64_t kSize = 4096;
constexpr int kRanks = 4;
constexpr int kSteps = 60;
constexpr double kRatio = 0.02;

std::vector<Bucket> one_bucket() {
  const std::vector<NamedTensor> trainable = {
      {"w", Tensor::zeros({DType::kF32, {kSize}})}};
  return make_buckets(trainable, std::int64_t{1} << 20);
}

SyncRecipe recipe(std::string sparsify) {
  SyncRecipe recipe;
  recipe.sparsify = std::move(sparsify);
  return recipe;
}

// A direction that all workers share and that turns slowly, and noise of each.
std::vector<float> gradient(int rank, int step) {
  std::vector<float> values(kSize);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const RandomStream shared{.seed = 1, .stream = 0};
    const RandomStream own{.seed = 2,
                           .stream = static_cast<std::uint32_t>(rank),
                           .step = static_cast<std::uint32_t>(step)};
    const auto common = normal_from(shared.word(2 * i), shared.word(2 * i + 1));
    const auto noise = normal_from(own.word(2 * i), own.word(2 * i + 1));
    const double angle = 0.05 * step;
    values[i] =
        static_cast<float>((std::cos(angle) * common[0] +
                            std::sin(angle) * common[1] + 0.7 * noise[0]) /
                           kRanks);
  }
  return values;
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

std::vector<double> topk(const std::vector<double>& values) {
  const auto count = static_cast<std::size_t>(kRatio * kSize);
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::abs(values[a]) > std::abs(values[b]);
  });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < count; ++i) result[order[i]] = values[order[i]];
  return result;
}

// Everything that is sent is applied, and the rest is in the memories; and the
// distance to what dense SGD would have applied stays within the drift lemma,
//
//   |e'| <= gamma |e| + (gamma + xi) |g|,   gamma = sqrt((n - K) / n),
//
// with xi as measured: how far the top K of the sum is from the sum of the top
// Ks.
TEST(Compressor, KeepsTheBooksAndTheDriftLemma) {
  const auto buckets = one_bucket();
  std::vector<std::unique_ptr<Compressor>> workers;
  for (int rank = 0; rank < kRanks; ++rank) {
    workers.push_back(std::make_unique<Compressor>(
        recipe("topk(0.02)"), 1, buckets, Compressor::Memory::kKept));
  }
  const double gamma = std::sqrt(1 - std::floor(kRatio * kSize) / kSize);
  std::vector<double> outstanding(kSize);  // dense SGD's sum less ours
  double bound = 0;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> dense(kSize);
    std::vector<double> accumulated = outstanding;
    std::vector<float> applied(kSize);
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto values = gradient(rank, step);
      for (std::size_t i = 0; i < values.size(); ++i) dense[i] += values[i];
      Bytes message;
      Compressor& worker = *workers[static_cast<std::size_t>(rank)];
      worker.encode(buckets[0], values, {.number = step}, rank, message);
      worker.add_decoded(buckets[0], message, {.number = step}, rank, applied);
    }
    std::vector<double> missed(kSize);  // of the top K of the sum
    for (std::size_t i = 0; i < kSize; ++i) accumulated[i] += dense[i];
    const std::vector<double> best = topk(accumulated);
    for (std::size_t i = 0; i < kSize; ++i) {
      missed[i] = best[i] - static_cast<double>(applied[i]);
      outstanding[i] = accumulated[i] - static_cast<double>(applied[i]);
    }
    const double xi = norm(missed) / norm(dense);
    bound = gamma * bound + (gamma + xi) * norm(dense);
    EXPECT_LE(norm(outstanding), bound * (1 + 1e-5)) << step;

    std::vector<double> kept(kSize);
    for (const auto& worker : workers) {
      for (const NamedTensor& memory : worker->memory()) {
        for (std::int64_t i = 0; i < kSize; ++i) {
          kept[static_cast<std::size_t>(i)] += memory.tensor.item(i);
        }
      }
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      ASSERT_NEAR(kept[i], outstanding[i], 1e-4) << step;
    }
  }
}

// Without memory what was not sent is lost: a persistent small gradient never
// arrives. With it, it does, after about 1 / delta steps.
TEST(Compressor, SendsWhatPersists) {
  const auto buckets = one_bucket();
  Compressor worker(recipe("topk(0.1)"), 1, buckets, Compressor::Memory::kKept);
  constexpr std::size_t kQuiet = 77;
  double arrived = 0;
  for (int step = 0; step < 200; ++step) {
    auto values = gradient(0, step);
    values[kQuiet] = 0.05F;
    Bytes message;
    std::vector<float> decoded(kSize);
    worker.encode(buckets[0], values, {.number = step}, 0, message);
    worker.add_decoded(buckets[0], message, {.number = step}, 0, decoded);
    arrived += decoded[kQuiet];
  }
  EXPECT_GT(arrived, 0.5 * 200 * 0.05);

  // Without, by either way of saying so, it never does.
  SyncRecipe forgetful = recipe("topk(0.1)");
  forgetful.memory = "none";
  Compressor by_key(forgetful, 1, buckets, Compressor::Memory::kKept);
  Compressor by_caller(recipe("topk(0.1)"), 1, buckets,
                       Compressor::Memory::kNone);
  for (Compressor* without : {&by_key, &by_caller}) {
    EXPECT_TRUE(without->memory().empty());
    double sent = 0;
    for (int step = 0; step < 200; ++step) {
      auto values = gradient(0, step);
      values[kQuiet] = 0.05F;
      Bytes message;
      std::vector<float> decoded(kSize);
      without->encode(buckets[0], values, {.number = step}, 0, message);
      without->add_decoded(buckets[0], message, {.number = step}, 0, decoded);
      sent += decoded[kQuiet];
    }
    EXPECT_EQ(sent, 0);
  }
}

// With a rate that falls, the model of dense SGD less that of sparsified SGD is
// what the memories hold, if they hold updates; memories of gradients hold
// something else, as what is sent late is applied at a smaller rate.
TEST(Compressor, MemoriesOfUpdatesAreTheDistanceToDenseTraining) {
  const auto buckets = one_bucket();
  const auto distance_from_memory = [&](const char* memory) {
    SyncRecipe kept = recipe("topk(0.02)");
    kept.memory = memory;
    Compressor worker(kept, 1, buckets, Compressor::Memory::kKept);
    std::vector<double> dense(kSize);
    std::vector<double> sparse(kSize);
    for (int step = 0; step < 40; ++step) {
      const double lr = step == 17 ? 0 : 0.5 / (1 + step);
      const SyncStep at{.number = step, .epoch = 0, .lr = lr};
      const auto values = gradient(0, step);
      Bytes message;
      std::vector<float> decoded(kSize);
      worker.encode(buckets[0], values, at, 0, message);
      worker.add_decoded(buckets[0], message, at, 0, decoded);
      for (std::size_t i = 0; i < kSize; ++i) {
        dense[i] += lr * static_cast<double>(values[i]);
        sparse[i] += lr * static_cast<double>(decoded[i]);
      }
    }
    const Tensor held = worker.memory()[0].tensor;
    double most = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      most = std::max(most, std::abs(dense[i] - sparse[i] -
                                     held.item(static_cast<std::int64_t>(i))));
    }
    return most;
  };
  EXPECT_LT(distance_from_memory("updates"), 1e-5);
  EXPECT_GT(distance_from_memory("gradients"), 0.1);
}

// Numbers that are added on their way carry what messages of the same codec do,
// and leave the same behind, in either unit of the memory.
TEST(Compressor, NumbersAreTheMessagesWithoutTheirHeaders) {
  const auto buckets = one_bucket();
  for (const char* memory : {"gradients", "updates", "none"}) {
    SyncRecipe halves;
    halves.codec = "bf16";
    halves.memory = memory;
    Compressor messages(halves, 1, buckets, Compressor::Memory::kKept);
    Compressor numbers(halves, 1, buckets, Compressor::Memory::kKept);
    for (int step = 0; step < 5; ++step) {
      const SyncStep at{.number = step, .epoch = 0, .lr = 0.5 / (1 + step)};
      const auto values = gradient(0, step);
      Bytes message;
      std::vector<float> sum(kSize);
      messages.encode(buckets[0], values, at, 0, message);
      messages.add_decoded(buckets[0], message, at, 0, sum);
      Bytes bytes;
      numbers.encode_numbers(buckets[0], values, at, 0, bytes);
      ASSERT_EQ(bytes.size(), 2U * kSize);
      ByteReader in(bytes, "numbers");
      std::vector<float> decoded(kSize);
      numbers.last_pipeline().value_codec().decode(in, MessageId{}, decoded);
      ASSERT_EQ(decoded, sum) << memory << ", " << step;
    }
    ASSERT_EQ(messages.memory().size(), numbers.memory().size());
    for (std::size_t i = 0; i < numbers.memory().size(); ++i) {
      EXPECT_EQ(messages.memory()[i].name, numbers.memory()[i].name);
      EXPECT_TRUE(
          identical(messages.memory()[i].tensor, numbers.memory()[i].tensor));
    }
  }
}

// Momentum correction: velocities are cleared where they were sent, and only
// there, so that with K = n it is plain momentum with nothing left over.
TEST(Compressor, MomentumIsClearedWhereItWasSent) {
  const auto buckets = one_bucket();
  SyncRecipe all = recipe("topk(0.25)");
  all.momentum_correction = 0.9;
  Compressor worker(all, 1, buckets, Compressor::Memory::kKept);
  Bytes message;
  std::vector<float> decoded(kSize);
  worker.encode(buckets[0], gradient(0, 0), {.number = 0}, 0, message);
  worker.add_decoded(buckets[0], message, {.number = 0}, 0, decoded);
  Tensor velocity;
  Tensor residual;
  for (const NamedTensor& memory : worker.memory()) {
    (memory.name == "velocity.w" ? velocity : residual) = memory.tensor;
  }
  int sent = 0;
  for (std::int64_t i = 0; i < kSize; ++i) {
    const bool is_sent = decoded[static_cast<std::size_t>(i)] != 0;
    sent += is_sent ? 1 : 0;
    EXPECT_EQ(velocity.item(i) == 0, is_sent);
    EXPECT_EQ(residual.item(i) == 0, is_sent);
  }
  EXPECT_EQ(sent, kSize / 4);
}

TEST(Compressor, WarmsUpByQuarters) {
  SyncRecipe slow = recipe("topk(0.01)");
  slow.warmup_epochs = 5;
  const Compressor worker(slow, 1, one_bucket(), Compressor::Memory::kKept);
  const std::vector<std::string> ratios = {"0.25", "0.0625", "0.015625",
                                           "0.01", "0.01",   "0.01"};
  for (std::size_t epoch = 0; epoch < ratios.size(); ++epoch) {
    EXPECT_NE(worker.pipeline(static_cast<std::int64_t>(epoch))
                  .text()
                  .find("ratio=" + ratios[epoch]),
              std::string::npos)
        << worker.pipeline(static_cast<std::int64_t>(epoch)).text();
  }
}

// Ranks need not ask each other what they know.
TEST(Compressor, KnowsHowManyEntriesItSends) {
  const auto buckets = one_bucket();
  for (const char* text :
       {"topk(0.02)", "topk(count=77)", "topk(0.02, method=bucket)",
        "topk(count=77, method=bucket)", "randomk(0.3)"}) {
    Compressor worker(recipe(text), 1, buckets, Compressor::Memory::kKept);
    for (int step = 0; step < 3; ++step) {
      SparseEntries entries;
      worker.sparsify(buckets[0], gradient(0, step), {.number = step}, 0,
                      entries);
      EXPECT_EQ(worker.entry_count(buckets[0], 0), entries.indices.size())
          << text;
    }
  }
  for (const char* text : {"topk(0.02, method=sampled)", "threshold(0.1)"}) {
    const Compressor worker(recipe(text), 1, buckets,
                            Compressor::Memory::kKept);
    EXPECT_EQ(worker.entry_count(buckets[0], 0), std::nullopt) << text;
  }
}

TEST(Compressor, RefusesNaNNamingTheTensor) {
  const auto buckets = one_bucket();
  Compressor worker(recipe("topk(0.01)"), 1, buckets,
                    Compressor::Memory::kKept);
  auto values = gradient(0, 0);
  values[5] = std::numeric_limits<float>::quiet_NaN();
  Bytes message;
  try {
    worker.encode(buckets[0], values, {}, 0, message);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric);
    EXPECT_NE(std::string(error.what()).find("tensor: w"), std::string::npos);
  }
  for (const NamedTensor& memory : worker.memory()) {
    for (std::int64_t i = 0; i < kSize; ++i)
      EXPECT_EQ(memory.tensor.item(i), 0);
  }
}

TEST(Compressor, RefusesDamagedMessages) {
  const auto buckets = one_bucket();
  Compressor worker(recipe("topk(0.01)"), 1, buckets,
                    Compressor::Memory::kKept);
  Bytes message;
  worker.encode(buckets[0], gradient(0, 0), {}, 0, message);
  std::vector<float> sum(kSize);
  for (std::size_t length = 0; length < message.size(); length += 7) {
    const auto cut = std::span<const std::byte>(message).first(length);
    EXPECT_THROW(worker.add_decoded(buckets[0], cut, {}, 0, sum), Error);
  }
  message.push_back(std::byte{0});
  EXPECT_THROW(worker.add_decoded(buckets[0], message, {}, 0, sum), Error);
}

}  // namespace
}  // namespace weft::compressor_test
