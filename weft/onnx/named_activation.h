// Activations by the names that attributes of recurrent layers have.
//
// Threads: as Context.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/onnx/node.h"

namespace weft::onnx {

using Activation = std::function<Value(const Value&)>;

// The alphas and betas of a node's activations, which are listed for those
// that have some, in the order of the activations.
class ActivationNumbers {
 public:
  explicit ActivationNumbers(const OnnxNode& node);

  // The next ones; ONNX's defaults where the list has ended.
  double alpha(double otherwise) { return next(alphas_, alpha_, otherwise); }
  double beta(double otherwise) { return next(betas_, beta_, otherwise); }

 private:
  static double next(const std::vector<float>& list, std::size_t& place,
                     double otherwise);

  std::vector<float> alphas_;
  std::vector<float> betas_;
  std::size_t alpha_ = 0;
  std::size_t beta_ = 0;
};

// Takes from `numbers` what the activation has. Throws Error(kUnsupported) for
// another name, naming the node.
Activation activation_named(const OnnxNode& node, std::string name,
                            ActivationNumbers& numbers);

}  // namespace weft::onnx
