// Examples to short codes and back: what is maximised is a bound of the
// probability of the examples (Kingma and Welling, "Auto-Encoding Variational
// Bayes", ICLR 2014, eq. 3), with the weight beta on the divergence of codes
// from the prior (Higgins et al., "beta-VAE", ICLR 2017).
#include "weft/nn/autoencoder.h"

#include <cmath>

#include "weft/graph/surroundings.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/exponential.h"
#include "weft/ops/random.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"
#include "weft/train/step/image_input.h"
#include "weft/train/step/training_task.h"

namespace weft {
namespace {

// -log p(x | logits) of Bernoulli numbers, in a form that overflows nowhere:
// max(l, 0) - l x + log(1 + exp(-|l|)).
Value bernoulli_loss(const Value& logits, const Value& x) {
  return relu(logits) - logits * x + log1p(exp(-abs(logits)));
}

// Shows what the mean code of a picture is decoded to, beside the picture.
class Reconstruction final : public Predictor {
 public:
  explicit Reconstruction(const PredictorContext& context)
      : data_(context.data), predict_(context.functions(kPredictFunction)) {}

  Prediction predict(const PredictorInput& given) override {
    const Image image = fitted_image(given, data_);
    const Tensor input = image_input(image, data_);
    const std::vector<Tensor> results = predict_(std::vector{input});
    double error = 0;
    Image made = image;
    for (std::int64_t i = 0; i < input.size(); ++i) {
      const double pixel = results[0].item(i);
      error += std::abs(pixel - input.item(i));
      made.pixels[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(std::lround(255 * pixel));
    }
    error /= static_cast<double>(input.size());
    Prediction prediction;
    prediction.picture = beside(image, made);
    prediction.lines = {
        fmt::format("left the image, right what its code of {} numbers is "
                    "decoded to   mean difference {:.4f}",
                    results[1].size(), error)};
    std::vector<double> code;
    for (std::int64_t i = 0; i < results[1].size(); ++i) {
      code.push_back(results[1].item(i));
    }
    prediction.json = {
        {"image", given.text}, {"code", code}, {"mean_difference", error}};
    return prediction;
  }

 private:
  // Both have one size.
  static Image beside(const Image& left, const Image& right) {
    Image both{left.height, 2 * left.width, left.channels, {}};
    const auto row = static_cast<std::size_t>(left.width * left.channels);
    for (std::size_t y = 0; y < static_cast<std::size_t>(left.height); ++y) {
      for (const Image* image : {&left, &right}) {
        const auto begin =
            image->pixels.begin() + static_cast<std::ptrdiff_t>(y * row);
        both.pixels.insert(both.pixels.end(), begin,
                           begin + static_cast<std::ptrdiff_t>(row));
      }
    }
    return both;
  }

  const DataDescription& data_;
  ModelFunction predict_;
};

class AutoencoderTask final : public TrainingTask {
 public:
  explicit AutoencoderTask(double beta) : beta_(beta) {}

  std::vector<MetricDef> metrics() const override {
    return {{.name = "loss", .digits = 2},
            {.name = "bound", .measure = 1, .digits = 2},
            {.name = "reconstruction", .measure = 2, .digits = 2},
            {.name = "divergence", .measure = 3, .digits = 2}};
  }
  std::string_view deciding_metric() const override { return "bound"; }
  std::string unit(const DataDescription&) const override { return "img"; }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    const PixelScale& scale = data.pixel_scale();
    if (data.features()[0].type.shape.rank() != 3 || scale.mean.empty()) {
      return Refusal{in_quotes(data.name()), "it has no images", ""};
    }
    for (std::size_t c = 0; c < scale.mean.size(); ++c) {
      // This scale makes numbers in [0, 1] of pixels, which the loss takes for
      // probabilities.
      if (scale.mean[c] == 0 && scale.std[c] == 255) continue;
      return Refusal{in_quotes(data.name()),
                     "pixels are taken for probabilities, and these are scaled "
                     "to mean 0 and deviation 1",
                     "data.name = \"idx\" or \"image_folder\" scales the same "
                     "files to [0, 1]"};
    }
    return std::nullopt;
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = data.features()[0].type.shape};
  }

  // Codes are drawn in evaluation too: the bound is a mean over codes.
  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    nn::Autoencoder& network = network_of(model);
    const Value x = nn::to_f32(batch[0]);
    const auto [mean_code, log_variance] = network.encode(batch[0]);
    const Value mu = nn::to_f32(mean_code);
    const Value log_sigma2 = nn::to_f32(log_variance);
    // The reparametrisation of section 2.4: z = mu + sigma epsilon.
    const Value epsilon =
        normal(RandomKeyScope::current(), mu.shape(), nn::random_stream());
    const Value z = mu + exp(0.5 * log_sigma2) * epsilon;
    const Value logits = nn::to_f32(network.decode(z));
    const Value reconstruction = sum(bernoulli_loss(logits, x));
    // The divergence from the prior in closed form (appendix B).
    const Value divergence =
        -0.5 * sum(1.0 + log_sigma2 - square(mu) - exp(log_sigma2));
    const Value count = element_count({x.shape()[0]}, DType::kF32);
    const Value whole = reconstruction + beta_ * divergence;
    // The bound is measured without beta, so that runs with other weights can
    // be compared.
    return {whole / count,
            {{whole, count},
             {reconstruction + divergence, count},
             {reconstruction, count},
             {divergence, count}}};
  }

  // What the mean codes are decoded to, in [0, 1], and these codes.
  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    nn::Autoencoder& network = network_of(model);
    // The mean code is the likeliest one, and the same each time.
    const Value code = network.encode(known[0]).mean;
    return {sigmoid(nn::to_f32(network.decode(code))), nn::to_f32(code)};
  }

  std::unique_ptr<Predictor> predictor(
      const PredictorContext& context) const override {
    return std::make_unique<Reconstruction>(context);
  }

 private:
  static nn::Autoencoder& network_of(nn::Module& model) {
    return model_as<nn::Autoencoder>(model, "autoencoder", "an autoencoder");
  }

  double beta_;
};

}  // namespace

void register_training_task_autoencoder(TrainingTaskRegistry& tasks) {
  tasks.add(
      {.name = "autoencoder",
       .summary = "images to short codes and back (VAE)",
       .options = {{"beta",
                    1.0,
                    "weight of the divergence of codes from the prior",
                    {.least = 0}}},
       .make = [](const Options& options) -> std::unique_ptr<TrainingTask> {
         return std::make_unique<AutoencoderTask>(
             option<double>(options, "beta"));
       }});
}

}  // namespace weft
