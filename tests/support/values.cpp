#include "tests/support/values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/philox.h"

namespace weft::test {

Tensor pattern(const Shape& shape, double low, double high,
               std::uint64_t seed) {
  Tensor tensor = Tensor::empty({DType::kF32, shape});
  const RandomStream random{seed, 77, 0};
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const float unit = uniform_from(random.word(static_cast<std::uint64_t>(i)));
    tensor.data<float>()[i] = static_cast<float>(low + (high - low) * unit);
  }
  return tensor;
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    result.push_back(tensor.item(i));
  }
  return result;
}

::testing::AssertionResult near(const Tensor& a, const Tensor& b,
                                double tolerance) {
  if (!(a.type() == b.type())) {
    return ::testing::AssertionFailure()
           << to_string(a.type()) << " against " << to_string(b.type());
  }
  double worst = 0;
  std::int64_t where = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.item(i);
    const double y = b.item(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    const double scale = std::max({1.0, std::fabs(x), std::fabs(y)});
    const double gap = std::fabs(x - y) / scale;
    const double difference =
        std::isnan(gap) ? std::numeric_limits<double>::infinity() : gap;
    if (difference > worst) {
      worst = difference;
      where = i;
    }
  }
  if (worst <= tolerance) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "element " << where << ": " << a.item(where) << " against "
         << b.item(where) << ", off by " << worst;
}

}  // namespace weft::test
