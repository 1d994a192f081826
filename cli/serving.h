// What the verbs that use a trained model ask about how it is served.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "weft/tensor/dtype.h"

namespace weft::cli {

struct ServingArguments {
  std::string recurrent_weights = "f32";

  DType weights() const;
};

void add_serving_options(CLI::App& verb, ServingArguments& arguments);

}  // namespace weft::cli
