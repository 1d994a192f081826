// Activations by the names that attributes of recurrent layers have.
//
// Threads: as Context.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "weft/onnx/node.h"

namespace weft::onnx {

using Activation = std::function<Value(const Value&)>;

// With alpha and beta, where it has them; left out, they are ONNX's defaults.
// Throws Error(kUnsupported) for another name, naming the node.
Activation activation_named(const OnnxNode& node, std::string name,
                            std::optional<double> alpha,
                            std::optional<double> beta);

}  // namespace weft::onnx
