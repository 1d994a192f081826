#include "cli/serving.h"

#include "weft/base/error.h"

namespace weft::cli {

DType ServingArguments::weights() const {
  const auto dtype = dtype_from_string(recurrent_weights);
  WEFT_CHECK(dtype.has_value(), "the option lets none else through");
  return *dtype;
}

void add_serving_options(CLI::App& verb, ServingArguments& arguments) {
  verb.add_option("--recurrent-weights", arguments.recurrent_weights,
                  "what recurrent layers multiply by: f32, or bf16 or i8, "
                  "which are read faster and round")
      ->check(CLI::IsMember({"f32", "bf16", "i8"}))
      ->capture_default_str();
}

}  // namespace weft::cli
