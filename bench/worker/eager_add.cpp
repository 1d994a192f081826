// weft-bench eager-add: c = a + b, one op at a time.
#include "bench/worker/options.h"
#include "bench/worker/serve.h"

#include "weft/ops/arithmetic.h"

namespace weft::bench {

// Tapes record only while one lives, so ours is the same with --no-tape.
void race_eager_add(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const std::int64_t size = options.integer("size");
  const std::int64_t steps = options.integer("steps");
  const Tensor counted = Tensor::empty({DType::kF32, {size}});
  for (std::int64_t i = 0; i < size; ++i) {
    counted.data<float>()[i] = static_cast<float>(i) / 8;
  }
  const Value a = counted;
  const Value b = full({DType::kF32, {size}}, 1);
  Value c;
  const auto check = [&] {
    c = a + b;
    Json values = Json::array();
    for (std::int64_t i = 0; i < std::min<std::int64_t>(5, size); ++i) {
      values.push_back(c.tensor().item(i));
    }
    return Json{{"values", values}};
  };
  const auto block = [&] {
    for (std::int64_t i = 0; i < steps; ++i) c = a + b;
    return steps;
  };
  serve({{"check", check}, {"run", [&] { return timed(block); }}}, baseline);
}

}  // namespace weft::bench
