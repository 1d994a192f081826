// Points of two spirals that are wound around each other (Lang and Witbrock,
// "Learning to tell two spirals apart", 1988), made as they are asked for.
#include <cmath>

#include "weft/base/philox.h"
#include "weft/data/numbered_source.h"
#include "weft/train/step/training_data.h"

namespace weft {
namespace {

constexpr std::uint32_t kPointStream = 0x73706931;  // "spi1"
// Points of measuring are others than those of training.
constexpr std::uint64_t kMeasuredSeed = 0x6d65617375726564;

class SpiralDescription final : public DataDescription {
 public:
  SpiralDescription() {
    name_ = "spirals";
    features_ = {{"point", {DType::kF32, {2}}}, {"label", {DType::kI32, {}}}};
    classes_ = {"one", "other"};
  }
};

class SpiralSource final : public NumberedSource {
 public:
  SpiralSource(const DataDescription& data, std::int64_t points, double turns,
               std::uint64_t seed, const NumberedOptions& options)
      : NumberedSource(data, points, options), turns_(turns), seed_(seed) {}

 protected:
  // A function of seed, epoch and number alone.
  void fill(std::int64_t epoch, std::int64_t number) override {
    const RandomStream random{seed_, kPointStream,
                              static_cast<std::uint32_t>(epoch)};
    const PhiloxBlock words = random.block(static_cast<std::uint64_t>(number));
    const auto label = static_cast<std::int32_t>(words[0] & 1);
    const double along = std::sqrt(uniform_from(words[1]));
    const double angle = M_PI * (2 * turns_ * along + label);
    row<float>(0)[0] = static_cast<float>(along * std::cos(angle));
    row<float>(0)[1] = static_cast<float>(along * std::sin(angle));
    row<std::int32_t>(1)[0] = label;
  }

 private:
  double turns_;
  std::uint64_t seed_;
};

class SpiralData final : public TrainingData {
 public:
  explicit SpiralData(const DataOptions& options) : options_(options) {
    if (options.augment.empty() && options.folder.empty()) return;
    throw Error(ErrorCode::kInvalidArgument, "data",
                "spirals are made: they have no folder and no images");
  }

  const DataDescription& description() const override { return description_; }
  bool has(DataPart part) const override { return part != DataPart::kValid; }

  std::unique_ptr<BatchSource> train(const Shard& shard) const override {
    return make(options_.seed, {.batch = options_.batch,
                                .drop_last = options_.drop_last,
                                .shard = shard});
  }
  // Each pass of measuring begins at epoch 0, and so has the same points.
  std::unique_ptr<BatchSource> measure(DataPart,
                                       const Shard& shard) const override {
    return make(options_.seed ^ kMeasuredSeed,
                {.batch = options_.batch, .shard = shard});
  }

  std::vector<std::pair<std::string, std::string>> fingerprint()
      const override {
    return {
        {"turns", fmt::format("{}", option<double>(options_.own, "turns"))}};
  }

 private:
  std::unique_ptr<BatchSource> make(std::uint64_t seed,
                                    const NumberedOptions& options) const {
    return std::make_unique<SpiralSource>(
        description_, option<std::int64_t>(options_.own, "points"),
        option<double>(options_.own, "turns"), seed, options);
  }

  DataOptions options_;
  SpiralDescription description_;
};

}  // namespace

void register_batch_source_spirals(BatchSourceRegistry& sources) {
  sources.add(
      {.name = "spirals",
       .summary = "points of two spirals, new ones in each epoch",
       .options = [](const std::string& name) -> std::vector<OptionSpec> {
         if (name != "spirals") {
           throw Error(ErrorCode::kInvalidArgument, "spirals",
                       "no data '{}' (did you mean 'spirals'?)", name);
         }
         return {{"points", std::int64_t{2000}, "of an epoch", {.least = 1}},
                 {"turns", 1.0, "of each spiral", {.least = 0}}};
       },
       .names = [] { return std::vector<std::string>{"spirals"}; },
       .open = [](const DataOptions& options) -> std::unique_ptr<TrainingData> {
         return std::make_unique<SpiralData>(options);
       }});
}

}  // namespace weft
