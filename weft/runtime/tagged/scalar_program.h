// A region of exact ops on single numbers, without a plan: each op's reference
// kernel on a handful of registers. A plan would spend more on addresses than
// the arithmetic takes. The results are those of a plan, bit for bit.
//
// Threads: one run at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

class ScalarProgram {
 public:
  // Nothing if the function holds anything else.
  static std::optional<ScalarProgram> of(const Function& function);
  ScalarProgram(ScalarProgram&&) = default;
  ScalarProgram& operator=(ScalarProgram&&) = default;

  // The registers of the parameters, to be filled before run().
  std::span<std::uint64_t> parameters() {
    return std::span(registers_).first(parameter_count_);
  }
  void run() noexcept;
  std::uint64_t result(std::size_t index) const {
    return registers_[results_[index]];
  }

 private:
  struct Step {
    const OpDef* op;
    Attributes attributes;
    std::vector<TensorType> input_types;
    std::vector<TensorType> output_types;
    std::vector<TensorView> inputs;
    std::vector<TensorView> outputs;
  };

  ScalarProgram() = default;
  static void run(const Step& step) noexcept;

  std::vector<std::uint64_t> registers_;  // by value; the address must stay
  std::size_t parameter_count_ = 0;
  std::vector<Step> steps_;
  std::vector<std::size_t> results_;
};

}  // namespace weft
