// A variational autoencoder of dense layers (Kingma and Welling, 2014, section
// 5): one hidden layer on each side of the code.
#include "weft/nn/autoencoder.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

class Vae final : public nn::Autoencoder {
 public:
  Vae(const Shape& example, std::int64_t hidden, std::int64_t code)
      : example_(example),
        code_(code),
        encoder_(child("encoder", nn::Linear{example.num_elements(), hidden})),
        mean_(child("mean", nn::Linear{hidden, code})),
        log_variance_(child("log_variance", nn::Linear{hidden, code})),
        decoder_(child("decoder", nn::Linear{code, hidden})),
        output_(child("output", nn::Linear{hidden, example.num_elements()})) {}

  Code encode(const Value& x) override {
    const Value flat = reshape(x, {x.shape()[0], example_.num_elements()});
    const Value hidden = relu(encoder_(flat));
    // The logarithm of the variance may be any number, so that no activation is
    // needed to keep it positive.
    return {mean_(hidden), log_variance_(hidden)};
  }

  Value decode(const Value& code) override {
    Shape shape{code.shape()[0]};
    for (const Dim dim : example_) shape.push_back(dim);
    // No sigmoid follows: losses take logits, which do not saturate.
    return reshape(output_(relu(decoder_(code))), shape);
  }

  std::int64_t code_size() const override { return code_; }

 private:
  Shape example_;
  std::int64_t code_;
  nn::Linear& encoder_;
  nn::Linear& mean_;
  nn::Linear& log_variance_;
  nn::Linear& decoder_;
  nn::Linear& output_;
};

std::unique_ptr<nn::Module> build_vae(const ModelInput& input,
                                      const Options& options) {
  return std::make_unique<Vae>(input.example,
                               option<std::int64_t>(options, "hidden"),
                               option<std::int64_t>(options, "code"));
}

}  // namespace

void register_model_vae(ModelRegistry& models) {
  models.add({.name = "vae",
              .summary = "variational autoencoder of dense layers",
              .task = "autoencoder",
              .options = {{"hidden",
                           std::int64_t{400},
                           "units between examples and code",
                           {.least = 1}},
                          {"code",
                           std::int64_t{20},
                           "numbers that an example becomes",
                           {.least = 1}}},
              .build = build_vae});
}

}  // namespace weft
