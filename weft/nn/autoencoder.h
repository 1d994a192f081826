// Networks that squeeze an example into a few numbers, a code, and make the
// example of it again.
//
// Source: Kingma and Welling, "Auto-Encoding Variational Bayes", ICLR 2014.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// A code is normally distributed, with a mean and a variance for each of its
// numbers. As a layer it gives what the mean code is decoded to.
//
// Threads: as Module.
class Autoencoder : public Layer {
 public:
  // Both [N, code]; of q(z | x), whose covariance is diagonal.
  struct Code {
    Value mean;
    Value log_variance;
  };

  // Encodes examples [N, …].
  virtual Code encode(const Value& x) = 0;
  // From [N, code] to the logits of Bernoulli numbers, [N, …] as examples are.
  virtual Value decode(const Value& code) = 0;
  // How many numbers a code has.
  virtual std::int64_t code_size() const = 0;

 protected:
  Value forward(const Value& x) override;
};

}  // namespace weft::nn
