// Episodes that the model itself plays: an example is an episode, with what was
// seen and done in it and how much better it went on than usual.
#include "weft/data/environment.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/base/philox.h"
#include "weft/base/refusal.h"
#include "weft/train/step/training_data.h"

namespace weft {
namespace {

constexpr std::uint32_t kActionStream = 0x61637431;  // "act1"
// Episodes of measuring begin where no training episode does.
constexpr std::uint64_t kMeasuredSeed = 0x6d65617375726564;

// The features of an episode, in order.
enum Part : std::size_t { kSeen, kDone, kAdvantage, kWeight, kReward };

class EnvironmentDescription final : public DataDescription {
 public:
  explicit EnvironmentDescription(const EnvironmentDef& def) {
    name_ = def.name;
    classes_ = def.actions;
    const Dim steps = def.most_steps;
    features_ = {
        {"observation", {DType::kF32, {steps, def.observation}}},
        {"action", {DType::kI32, {steps}}},
        // How much more reward followed than does on average.
        {"advantage", {DType::kF32, {steps}}},
        // 1 for steps of the episode, 0 behind its end.
        {"weight", {DType::kF32, {steps}}},
        {"reward", {DType::kF32, {}}},
    };
  }
};

struct PlayOptions {
  std::int64_t episodes = 0;  // of a batch, of all workers together
  std::int64_t batches = 0;   // of an epoch
  double discount = 0;
  std::uint64_t seed = 0;
  bool is_greedy = false;  // takes the best action, and the same episodes again
  Shard shard = {};
};

class EpisodeSource final : public BatchSource {
 public:
  EpisodeSource(const EnvironmentDef& def, const PlayOptions& options)
      : def_(def), options_(options) {
    const std::int64_t first =
        // Parts of the batch differ by one episode at most, and cover it.
        options.episodes * options.shard.rank / options.shard.ranks;
    const std::int64_t last =
        options.episodes * (options.shard.rank + 1) / options.shard.ranks;
    first_ = first;
    count_ = last - first;
    if (count_ < 1) {
      throw refused("train.batch", fmt::format("{}", options.episodes),
                    {fmt::format("{} workers", options.shard.ranks),
                     "each plays an episode at least", "raise train.batch"});
    }
    const EnvironmentDescription description(def);
    for (const Feature& feature : description.features()) {
      TensorType type{feature.type.dtype, {count_}};
      for (const Dim dim : feature.type.shape) type.shape.push_back(dim);
      batch_.tensors.push_back(Tensor::zeros(type));
      inputs_.push_back({feature.name, type});
      // The model acts step by step, and learns from whole episodes.
      if (type.shape.rank() < 2) continue;
      inputs_.back().varying = {1};
      inputs_.back().size_name = "steps";
    }
    for (std::int64_t i = 0; i < count_; ++i) worlds_.push_back(def.make());
    batch_.size = count_;
    batch_.whole_size = options.episodes;
  }

  const std::vector<BatchInput>& inputs() const override { return inputs_; }
  std::int64_t batches_per_epoch() const override { return options_.batches; }
  std::int64_t examples_per_epoch() const override {
    return options_.batches * options_.episodes;
  }
  BatchPosition position() const override { return next_; }

  void seek(BatchPosition position) override {
    if (position.epoch < 0 || position.batch < 0 ||
        position.batch > options_.batches) {
      throw Error(ErrorCode::kInvalidArgument, def_.name,
                  "there is no batch {} of {} in epoch {}", position.batch,
                  options_.batches, position.epoch);
    }
    next_ = position.batch == options_.batches
                ? BatchPosition{position.epoch + 1, 0}
                : position;
  }

  void answer_with(Answer answer) override { answer_ = std::move(answer); }

  const Batch& next() override {
    WEFT_CHECK(answer_ != nullptr, "nobody answers the environment");
    play();
    find_advantages();
    batch_.position = next_;
    seek({next_.epoch, next_.batch + 1});
    return batch_;
  }

 private:
  // The number of an episode, which seeds it: the same in each pass of
  // measuring, another one in each batch of training.
  std::uint64_t number_of(std::int64_t episode) const {
    const std::int64_t epoch = options_.is_greedy ? 0 : next_.epoch;
    return static_cast<std::uint64_t>((epoch * options_.batches + next_.batch) *
                                          options_.episodes +
                                      first_ + episode);
  }

  float* row(Part part, std::int64_t episode) const {
    const Tensor& tensor = batch_.tensors[part];
    return tensor.data<float>() + episode * (tensor.size() / count_);
  }

  // All episodes at once, so that the model is asked once a step.
  void play() {
    for (const Tensor& tensor : batch_.tensors) {
      // Steps behind an episode's end keep a weight of 0, by which losses leave
      // them out.
      std::memset(tensor.raw(), 0, tensor.bytes());
    }
    const auto width = static_cast<std::size_t>(def_.observation);
    // The model is asked about one step of all episodes, whereas it learns from
    // all their steps.
    const Tensor seen =
        Tensor::zeros({DType::kF32, {count_, 1, def_.observation}});
    std::vector<bool> is_over(static_cast<std::size_t>(count_));
    for (std::int64_t e = 0; e < count_; ++e) {
      worlds_[static_cast<std::size_t>(e)]->reset(options_.seed ^
                                                  (number_of(e) << 1));
    }
    lengths_.assign(static_cast<std::size_t>(count_), 0);
    for (std::int64_t t = 0; t < def_.most_steps; ++t) {
      if (std::ranges::find(is_over, false) == is_over.end()) break;
      for (std::int64_t e = 0; e < count_; ++e) {
        const auto now = worlds_[static_cast<std::size_t>(e)]->observation();
        std::copy(now.begin(), now.end(),
                  seen.data<float>() + e * def_.observation);
      }
      const Tensor probabilities = answer_(std::vector{seen}).at(0);
      for (std::int64_t e = 0; e < count_; ++e) {
        const auto episode = static_cast<std::size_t>(e);
        // Episodes that are over wait for the others.
        if (is_over[episode]) continue;
        const std::int64_t action = choose(probabilities, e, t);
        std::copy_n(seen.data<float>() + e * def_.observation, width,
                    row(kSeen, e) + t * def_.observation);
        batch_.tensors[kDone].data<std::int32_t>()[e * def_.most_steps + t] =
            static_cast<std::int32_t>(action);
        row(kWeight, e)[t] = 1;
        const Environment::Outcome outcome = worlds_[episode]->act(action);
        // Rewards stand where advantages will, until all of them are there.
        row(kAdvantage, e)[t] = outcome.reward;
        *row(kReward, e) += outcome.reward;
        is_over[episode] = outcome.is_over;
        lengths_[episode] = t + 1;
      }
    }
  }

  std::int64_t choose(const Tensor& probabilities, std::int64_t episode,
                      std::int64_t t) const {
    const auto actions = static_cast<std::int64_t>(def_.actions.size());
    const float* p = probabilities.data<float>() + episode * actions;
    if (options_.is_greedy) return std::max_element(p, p + actions) - p;
    const RandomStream random{
        .seed = options_.seed,
        .stream = kActionStream,
        .step = static_cast<std::uint32_t>(number_of(episode))};
    // The action is the one in whose share of [0, 1) the number falls. Rounding
    // may leave a rest, which is the last one's.
    float left = uniform_from(random.word(static_cast<std::uint64_t>(t)));
    for (std::int64_t action = 0; action + 1 < actions; ++action) {
      left -= p[action];
      if (left < 0) return action;
    }
    return actions - 1;
  }

  // The discounted rewards to go, less their mean over the episodes that lasted
  // as long, in units of their deviation: a baseline that depends on the time
  // alone leaves the gradient's mean as it is (Williams, "Simple statistical
  // gradient-following algorithms", 1992, section 4).
  void find_advantages() {
    double squares = 0;
    double steps = 0;
    for (std::int64_t e = 0; e < count_; ++e) {
      float* rewards = row(kAdvantage, e);
      // Nothing follows the last step, whose reward stays as it is.
      for (std::int64_t t = lengths_[static_cast<std::size_t>(e)] - 2; t >= 0;
           --t) {
        rewards[t] += static_cast<float>(options_.discount * rewards[t + 1]);
      }
    }
    for (std::int64_t t = 0; t < def_.most_steps; ++t) {
      double sum = 0;
      double alive = 0;
      for (std::int64_t e = 0; e < count_; ++e) {
        sum += row(kAdvantage, e)[t];
        alive += row(kWeight, e)[t];
      }
      // No episode has lasted so long, and so none lasts longer.
      if (alive == 0) break;
      for (std::int64_t e = 0; e < count_; ++e) {
        if (row(kWeight, e)[t] == 0) continue;
        float& advantage = row(kAdvantage, e)[t];
        advantage -= static_cast<float>(sum / alive);
        squares += static_cast<double>(advantage) * advantage;
      }
      steps += alive;
    }
    // Where all episodes went alike there is nothing to learn, nor to scale.
    const double deviation = std::sqrt(squares / steps);
    if (deviation == 0) return;
    for (float& advantage : batch_.tensors[kAdvantage].span<float>()) {
      advantage = static_cast<float>(advantage / deviation);
    }
  }

  const EnvironmentDef& def_;
  PlayOptions options_;
  std::int64_t first_ = 0;  // episode of this worker's part
  std::int64_t count_ = 0;
  std::vector<BatchInput> inputs_;
  std::vector<std::unique_ptr<Environment>> worlds_;
  std::vector<std::int64_t> lengths_;
  Batch batch_;
  BatchPosition next_;
  Answer answer_;
};

std::vector<OptionSpec> play_options() {
  return {{"batches", std::int64_t{10}, "of an epoch", {.least = 1}},
          {"discount",
           0.99,
           "of rewards, by each step that they are away",
           {.least = 0, .most = 1}},
          {"measured",
           std::int64_t{100},
           "episodes of each measurement, by the best actions",
           {.least = 1}}};
}

class PlayedData final : public TrainingData {
 public:
  explicit PlayedData(const DataOptions& options)
      : options_(options),
        def_(environment_registry().get(options.name)),
        description_(def_) {
    if (!options.augment.empty() || !options.folder.empty()) {
      throw refused(
          "data", in_quotes(def_.name),
          {options.folder.empty() ? "data.augment" : "data.folder",
           "it is played, and has no files and no images", "leave that out"});
    }
  }

  const DataDescription& description() const override { return description_; }
  bool has(DataPart part) const override { return part != DataPart::kValid; }

  std::unique_ptr<BatchSource> train(const Shard& shard) const override {
    return std::make_unique<EpisodeSource>(
        def_,
        PlayOptions{.episodes = options_.batch,
                    .batches = option<std::int64_t>(options_.own, "batches"),
                    .discount = option<double>(options_.own, "discount"),
                    .seed = options_.seed,
                    .shard = shard});
  }

  std::unique_ptr<BatchSource> measure(DataPart,
                                       const Shard& shard) const override {
    return std::make_unique<EpisodeSource>(
        def_,
        PlayOptions{.episodes = option<std::int64_t>(options_.own, "measured"),
                    .batches = 1,
                    .discount = option<double>(options_.own, "discount"),
                    .seed = options_.seed ^ kMeasuredSeed,
                    .is_greedy = true,
                    .shard = shard});
  }

  std::vector<std::pair<std::string, std::string>> fingerprint()
      const override {
    return {{"environment", def_.name}};
  }

 private:
  DataOptions options_;
  const EnvironmentDef& def_;
  EnvironmentDescription description_;
};

}  // namespace

void register_batch_source_environment(BatchSourceRegistry& sources) {
  sources.add(
      {.name = "environment",
       .summary = "episodes that the model plays; train.batch counts episodes",
       .options =
           [](const std::string& name) {
             environment_registry().get(name);
             return play_options();
           },
       .names = [] { return names_of(environment_registry()); },
       .open = [](const DataOptions& options) -> std::unique_ptr<TrainingData> {
         return std::make_unique<PlayedData>(options);
       }});
}

}  // namespace weft
