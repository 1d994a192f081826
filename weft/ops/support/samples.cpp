#include "weft/ops/support/samples.h"

namespace weft {

// Odd sizes such as 1037 leave a remainder for vectors of every width; 0 and 1
// are where loops end before they begin.
std::vector<OpSample> drawn_samples() {
  const auto draw = [](const Shape& shape, DType dtype = DType::kF32,
                       const InputSample& keys = random_key()) {
    return OpSample{
        {keys},
        {{"shape", shape}, {"stream", std::int64_t{3}}, {"dtype", dtype}}};
  };
  return {draw({3, 5}),
          draw({}),
          draw({0, 2}),
          draw({1}),
          draw({5003}),
          draw({7, 11}, DType::kF64),
          draw({67}, DType::kBF16),
          draw({35}, DType::kF16),
          draw({37}, DType::kF32, random_keys({3})),
          draw({3}, DType::kF64, random_keys({2, 5})),
          draw({3}, DType::kF32, random_keys({0}))};
}

// Sizes lie below, around and far above that of a vector.
std::vector<OpSample> unary_samples(double low, double high) {
  return {{{floats({3, 5}, low, high)}, {}},
          {{floats({}, low, high)}, {}},
          {{floats({0, 4}, low, high)}, {}},
          {{floats({1}, low, high)}, {}},
          {{floats({2, 3, 1, 5}, low, high, DType::kF64)}, {}},
          {{floats({1037}, low, high)}, {}},
          {{floats({67}, low, high, DType::kBF16)}, {}},
          {{floats({35}, low, high, DType::kF16)}, {}}};
}

// Rows, columns, scalars and nothing broadcast, from either side.
std::vector<OpSample> binary_samples(double low, double high, double second_low,
                                     double second_high) {
  const auto pair = [&](const Shape& a, const Shape& b,
                        DType dtype = DType::kF32) {
    return OpSample{{floats(a, low, high, dtype),
                     floats(b, second_low, second_high, dtype)},
                    {}};
  };
  return {pair({3, 5}, {3, 5}),
          pair({4, 1, 3}, {2, 1}),
          pair({}, {2, 3}),
          pair({2, 3}, {1}),
          pair({2, 3, 4}, {4}),
          pair({2, 1, 4}, {3, 1}),
          pair({0, 3}, {1, 3}),
          pair({1}, {0}),
          pair({1}, {1}),
          pair({2, 2}, {2, 2}, DType::kF64),
          pair({41, 33}, {33}),
          pair({67}, {67}, DType::kBF16),
          pair({35}, {1}, DType::kF16)};
}

// Integers of one, four and eight bytes are computed in different ways.
std::vector<OpSample> integer_samples(std::int64_t low, std::int64_t high) {
  std::vector<OpSample> samples;
  for (const DType dtype : {DType::kI8, DType::kI32, DType::kI64}) {
    samples.push_back(
        {{integers({4, 7}, low, high, dtype), integers({7}, low, high, dtype)},
         {}});
  }
  return samples;
}

std::vector<OpSample> with_integers(std::vector<OpSample> samples) {
  for (auto& sample : integer_samples(-5, 5)) {
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<OpSample> with_integer_vectors(std::vector<OpSample> samples) {
  for (const DType dtype : {DType::kI8, DType::kI32, DType::kI64}) {
    samples.push_back({{integers({41}, -9, 9, dtype)}, {}});
  }
  return samples;
}

}  // namespace weft
