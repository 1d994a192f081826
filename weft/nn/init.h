// How parameters start. Numbers come from Philox, keyed by the run's seed and
// the parameter's full name: the same model starts the same whatever else is
// built beside it, in any order and on any machine.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/tensor/tensor.h"

namespace weft::nn {

struct Init {
  enum class Kind {
    kConstant,
    kUniform,
    kNormal,
    kGiven,  // the parameter came with a value, which it keeps
  };

  Kind kind = Kind::kConstant;
  double scale = 0;  // the constant, the bound, or the standard deviation

  static Init constant(double value) { return {Kind::kConstant, value}; }
  // Uniform in [-bound, bound).
  static Init uniform(double bound) { return {Kind::kUniform, bound}; }
  static Init normal(double deviation) { return {Kind::kNormal, deviation}; }
  static Init given() { return {Kind::kGiven, 0}; }
  // Uniform with bound 1/sqrt(fan_in): what PyTorch does for dense and
  // convolutional layers (He et al., "Delving deep into rectifiers", 2015,
  // with negative slope sqrt(5)), so that curves can be compared.
  static Init fan_in(std::int64_t inputs);
  // Uniform with bound sqrt(6/fan_in): keeps the variance through ReLUs
  // (He et al., 2015, eq. 10).
  static Init he_uniform(std::int64_t inputs);
  // Normal with deviation sqrt(2/fan): keeps the variance through ReLUs, of
  // what goes forward with the inputs of one output, and of gradients with the
  // outputs of one input (He et al., 2015, eq. 10 and 14).
  static Init he_normal(std::int64_t fan);
};

// A tensor filled as `init` says, which is not kGiven.
Tensor initial_value(const TensorType& type, const Init& init,
                     std::uint64_t seed, std::string_view name);

// FNV-1a, 32 bits: the random stream that belongs to a name.
constexpr std::uint32_t stream_of(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return hash;
}

}  // namespace weft::nn
