// All workers hold the same parameters, bit for bit, whatever carries their
// gradients; and those that travel as they are train what one worker would.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>

#include "tests/support/values.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/thread.h"
#include "weft/nn/nn.h"
#include "weft/train/sync/network.h"
#include "weft/train/sync/synced_worker.h"

namespace weft::copies_test {
namespace {

constexpr int kWorkers = 4;
constexpr int kSteps = 25;
constexpr std::int64_t kExamples = 6;  // of each worker

// A batch per rank and step that a straight line tells apart.
Batch batch_of(int rank, int step) {
  Batch batch;
  batch.size = kExamples;
  batch.whole_size = kExamples * kWorkers;
  const Tensor input = Tensor::empty({DType::kF32, {kExamples, 40}});
  const Tensor label = Tensor::empty({DType::kI32, {kExamples}});
  const RandomStream random{.seed = 7,
                            .stream = static_cast<std::uint32_t>(rank),
                            .step = static_cast<std::uint32_t>(step)};
  for (std::int64_t i = 0; i < kExamples; ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < 40; ++j) {
      const auto at = static_cast<std::uint64_t>(40 * i + j);
      const float value =
          normal_from(random.word(2 * at), random.word(2 * at + 1))[0];
      input.data<float>()[40 * i + j] = value;
      sum += j < 20 ? value : -value;
    }
    label.data<std::int32_t>()[i] = sum > 0 ? 1 : 0;
  }
  batch.tensors = {input, label};
  return batch;
}

// The step of a model of 40 numbers and two classes.
StepDescription described(nn::Module& model) {
  static const auto task = make_task("classification");
  return {model,
          *task,
          {{"input", {DType::kF32, {kExamples, 40}}},
           {"label", {DType::kI32, {kExamples}}}}};
}

SyncRecipe recipe_of(std::string_view policy, std::string_view sparsify,
                     std::string_view codec, std::string_view collective) {
  SyncRecipe recipe;
  recipe.policy = policy;
  recipe.sparsify = sparsify;
  recipe.codec = codec;
  recipe.collective = collective;
  recipe.topology = "2@1us,10GB/s x 2@20us,1GB/s";
  recipe.bucket_bytes = 2048;  // several buckets
  recipe.min_elements = 0;     // everything goes through the codec
  recipe.timeout = 20;
  return recipe;
}

struct Trained {
  std::vector<std::vector<Tensor>> parameters;  // by rank
  double loss = 0;                              // of the last step
};

// Ranks are dealt out to two hosts in turn. `change` is done to each batch.
Trained train(
    const SyncRecipe& recipe, void (*change)(Batch& batch) = [](Batch&) {}) {
  Trained result;
  result.parameters.resize(kWorkers);
  std::mutex mutex;
  ThreadWorld world(kWorkers, {.hosts = {"a", "b", "a", "b"}});
  world.run([&](Transport& transport) {
    set_thread_count(1);
    nn::Sequential model{nn::Linear{40, 24}, nn::relu, nn::Linear{24, 2}};
    model.initialize(3);
    const auto optimizer = make_optimizer("momentum", {});
    WorkerGroup group(transport, recipe.timeout);
    SyncedWorker worker(described(model), *optimizer, recipe, group);
    double loss = 0;
    for (int step = 0; step < kSteps; ++step) {
      Batch batch = batch_of(group.rank(), step);
      change(batch);
      loss = worker.run(batch, {.number = step, .epoch = 0, .lr = 0.05})
                 .sums.loss();
    }
    const std::lock_guard lock(mutex);
    for (const auto& named : model.parameters()) {
      result.parameters[static_cast<std::size_t>(group.rank())].push_back(
          named.parameter->variable.tensor().clone());
    }
    if (group.is_first()) result.loss = loss;
  });
  return result;
}

double largest_difference(const std::vector<Tensor>& a,
                          const std::vector<Tensor>& b) {
  double most = 0;
  for (std::size_t p = 0; p < a.size(); ++p) {
    for (std::int64_t i = 0; i < a[p].size(); ++i) {
      most = std::max(most, std::abs(a[p].item(i) - b[p].item(i)));
    }
  }
  return most;
}

std::vector<SyncRecipe> recipes() {
  std::vector<SyncRecipe> all;
  for (const char* collective :
       {"auto", "ring", "direct", "tree", "doubling", "rabenseifner",
        "leaders(2)", "blueconnect([2, 2])", "blueconnect([2, 2], chunks=2)"}) {
    all.push_back(recipe_of("allreduce", "none", "none", collective));
  }
  for (const char* policy : {"allreduce", "server"}) {
    for (const char* codec :
         {"none", "f16", "bf16", "int8", "qsgd(5)", "onebit", "3lc", "3lc(1.5)",
          "sketch", "deflate", "qsgd(8) | zstd"}) {
      all.push_back(recipe_of(policy, "none", codec, "auto"));
    }
    for (const char* codec :
         {"none", "f16", "index:delta value:qsgd(7)", "index:bloom(policy=p0)",
          "index:bloom(policy=p2)", "fit-poly", "fit-dexp"}) {
      all.push_back(recipe_of(policy, "topk(0.1)", codec, "auto"));
    }
    for (const char* sparsify :
         {"randomk(0.2)", "threshold(0.01)", "topk(0.1, method=bucket)",
          "topk(0.1, method=sampled)"}) {
      all.push_back(recipe_of(policy, sparsify, "none", "auto"));
    }
  }
  for (const char* codec : {"qsgd(2)", "terngrad"}) {
    all.push_back(recipe_of("allreduce", "none", codec, "auto"));
  }
  for (const char* collective :
       {"split_allgather", "recursive_double", "gather_pairs", "dsar",
        "dsar(qsgd(4))", "auto(qsgd(4))", "dense", "all_gather"}) {
    all.push_back(recipe_of("allreduce", "topk(0.1)", "none", collective));
  }
  return all;
}

std::string text_of(const SyncRecipe& recipe) {
  return fmt::format("{} {} {} {}", recipe.policy, recipe.sparsify,
                     recipe.codec, recipe.collective);
}

TEST(Copies, AreEqualBitForBitWhateverCarriesTheGradients) {
  for (const SyncRecipe& recipe : recipes()) {
    const Trained trained = train(recipe);
    for (int rank = 1; rank < kWorkers; ++rank) {
      const auto& own = trained.parameters[static_cast<std::size_t>(rank)];
      for (std::size_t p = 0; p < own.size(); ++p) {
        ASSERT_TRUE(identical(own[p], trained.parameters[0][p]))
            << text_of(recipe) << ", rank " << rank;
      }
    }
    // Equal copies of nothing would be equal too.
    EXPECT_LT(trained.loss, 0.69) << text_of(recipe);
  }
}

TEST(Copies, OfAServerAreThoseOfAnAllReduce) {
  const Trained all_reduce =
      train(recipe_of("allreduce", "none", "none", "direct"));
  const Trained server = train(recipe_of("server", "none", "none", "auto"));
  EXPECT_LT(largest_difference(all_reduce.parameters[0], server.parameters[0]),
            1e-6);
}

// With K = n nothing is kept back: where sums have the same order the bits are
// those of dense SGD.
TEST(Copies, OfTopKOfEverythingAreThoseOfDenseTraining) {
  const Trained gathered =
      train(recipe_of("allreduce", "none", "none", "all_gather"));
  for (const char* all : {"topk(1.0)", "topk(1.0, method=bucket)"}) {
    const Trained picked =
        train(recipe_of("allreduce", all, "none", "all_gather"));
    for (std::size_t p = 0; p < gathered.parameters[0].size(); ++p) {
      EXPECT_TRUE(identical(gathered.parameters[0][p], picked.parameters[0][p]))
          << all;
    }
  }
  const Trained dense = train(recipe_of("allreduce", "none", "none", "direct"));
  for (const char* collective : {"all_gather", "gather_pairs", "dense",
                                 "split_allgather", "recursive_double"}) {
    const Trained sparse =
        train(recipe_of("allreduce", "topk(1.0)", "none", collective));
    EXPECT_LT(largest_difference(dense.parameters[0], sparse.parameters[0]),
              1e-6)
        << collective;
  }
}

// Tensors below min_elements travel as they are beside those that do not, in
// 16-bit sums too. Doubling adds the same whatever stands beside a value.
TEST(Copies, SmallTensorsTravelAsTheyAreBesideHalves) {
  const Trained f32 = train(recipe_of("allreduce", "none", "none", "doubling"));
  SyncRecipe halves = recipe_of("allreduce", "none", "bf16", "doubling");
  halves.min_elements = 1000;  // none is larger
  const Trained all_small = train(halves);
  halves.min_elements = 100;  // both biases are smaller, and one weight
  const Trained mixed = train(halves);
  bool is_other = false;
  for (std::size_t p = 0; p < f32.parameters[0].size(); ++p) {
    EXPECT_TRUE(identical(f32.parameters[0][p], all_small.parameters[0][p]));
    is_other |= !identical(f32.parameters[0][p], mixed.parameters[0][p]);
  }
  EXPECT_TRUE(is_other);
  EXPECT_LT(largest_difference(f32.parameters[0], mixed.parameters[0]), 1e-2);
}

// A gradient that is no number is refused before it is sent, by the name of its
// tensor, whether messages are gathered or added on their way.
TEST(Copies, TensorsThatHoldNoNumbersAreNamed) {
  for (const char* codec : {"bf16", "f16", "3lc"}) {
    try {
      train(recipe_of("allreduce", "none", codec, "auto"), [](Batch& batch) {
        batch.tensors[0].data<float>()[7] =
            std::numeric_limits<float>::quiet_NaN();
      });
      ADD_FAILURE() << codec;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("is not finite"),
                std::string::npos)
          << codec << "\n"
          << error.what();
      EXPECT_NE(std::string(error.what()).find("tensor: "), std::string::npos)
          << codec << "\n"
          << error.what();
    }
  }
}

// The inner factor of a hierarchy lies inside of hosts, however the launcher
// dealt the ranks out to them.
TEST(Copies, RanksOfAHostAreNeighbours) {
  for (const char* topology :
       {"auto", "2@1us,10GB/s x 3@20us,1GB/s", "6@20us,1GB/s"}) {
    ThreadWorld world(6, {.hosts = {"a", "b", "c", "a", "b", "c"}});
    world.run([&](Transport& transport) {
      WorkerGroup group(transport, 20);
      const Network network =
          network_of(group.communicator(), group.network(), topology);
      const bool is_ordered = std::string(topology) != "6@20us,1GB/s";
      EXPECT_EQ(network.communicator.members().list(),
                is_ordered ? (std::vector<int>{0, 3, 1, 4, 2, 5})
                           : (std::vector<int>{0, 1, 2, 3, 4, 5}))
          << topology;
      EXPECT_EQ(network.topology.ranks(), 6);
      EXPECT_EQ(network.note, "");
    });
  }
}

TEST(Copies, UnequalHostsAreOneLevelAndSaidToBe) {
  ThreadWorld world(3, {.hosts = {"a", "b", "a"}});
  world.run([&](Transport& transport) {
    WorkerGroup group(transport, 20);
    const Network network =
        network_of(group.communicator(), group.network(), "auto");
    EXPECT_EQ(network.topology.levels.size(), 1u);
    EXPECT_NE(network.note.find("host a has 2 ranks and host b has 1"),
              std::string::npos)
        << network.note;
  });
}

// Weights that a machine computes otherwise are replaced by the first one's.
TEST(Copies, BeginAsTheFirstWorkers) {
  std::mutex mutex;
  std::vector<Tensor> weights;
  std::string said;
  ThreadWorld world(3);
  world.run([&](Transport& transport) {
    set_thread_count(1);
    nn::Sequential model{nn::Linear{40, 2}};
    model.initialize(transport.rank() == 1 ? 4 : 3);
    const auto optimizer = make_optimizer("momentum", {});
    WorkerGroup group(transport, 20);
    const SyncedWorker worker(described(model), *optimizer,
                              recipe_of("server", "none", "none", "auto"),
                              group);
    const std::lock_guard lock(mutex);
    weights.push_back(
        model.parameters()[0].parameter->variable.tensor().clone());
    if (group.is_first()) said = worker.text();
  });
  EXPECT_TRUE(identical(weights[0], weights[1]));
  EXPECT_TRUE(identical(weights[0], weights[2]));
  EXPECT_NE(said.find("initial weights of rank 0, as rank 1 had others"),
            std::string::npos)
      << said;
}

// A sum of two NaN has the bits of either, which are not everywhere the same
// one's. Which parameter holds one is told by whoever would save it.
TEST(Copies, HaveNotComeApartByTheBitsOfNaN) {
  ThreadWorld world(2);
  world.run([&](Transport& transport) {
    set_thread_count(1);
    nn::Sequential model{nn::Linear{40, 2}};
    model.initialize(3);
    const auto optimizer = make_optimizer("momentum", {});
    WorkerGroup group(transport, 20);
    SyncRecipe recipe = recipe_of("allreduce", "none", "none", "ring");
    recipe.topology = "2@1us,1GB/s";
    SyncedWorker worker(described(model), *optimizer, recipe, group);
    worker.run(batch_of(group.rank(), 0), {.number = 0, .epoch = 0, .lr = 0.1});
    const Tensor bias = model.parameters().back().parameter->variable.tensor();
    bias.data<float>()[0] = std::bit_cast<float>(
        group.rank() == 0 ? std::uint32_t{0x7FC00000} : 0xFFC00001);
    EXPECT_NO_THROW(worker.checkpoint());
    if (group.rank() == 0) bias.data<float>()[0] = 0;
    EXPECT_ANY_THROW(worker.checkpoint());
  });
}

// Copies that come apart are found at the next checkpoint.
TEST(Copies, ThatComeApartAreNamed) {
  ThreadWorld world(3);
  int refused = 0;
  std::mutex mutex;
  world.run([&](Transport& transport) {
    set_thread_count(1);
    nn::Sequential model{nn::Linear{40, 2}};
    model.initialize(3);
    const auto optimizer = make_optimizer("momentum", {});
    WorkerGroup group(transport, 20);
    SyncRecipe recipe = recipe_of("allreduce", "none", "none", "ring");
    recipe.topology = "3@1us,1GB/s";
    SyncedWorker worker(described(model), *optimizer, recipe, group);
    worker.run(batch_of(group.rank(), 0), {.number = 0, .epoch = 0, .lr = 0.1});
    worker.checkpoint();
    if (group.rank() == 2) {
      const auto bias = model.parameters().back();
      bias.parameter->variable.tensor().data<float>()[0] += 1e-6F;
    }
    try {
      worker.checkpoint();
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("after step 1: rank 2 and rank 0"), std::string::npos)
          << text;
      EXPECT_NE(text.find("bias: rank 0 has"), std::string::npos) << text;
      EXPECT_EQ(text.find("weight: rank 0 has"), std::string::npos) << text;
      const std::lock_guard lock(mutex);
      ++refused;
    }
  });
  EXPECT_EQ(refused, 3);
}

}  // namespace
}  // namespace weft::copies_test
