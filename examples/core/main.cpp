// What a program does that links weft_core alone, as one in a browser would: it
// fits a line by gradients, writes the fitted function to a file, and serves it
// from there.
#include <filesystem>
#include <fmt/core.h>
#include <vector>

#include "weft/autodiff/gradient.h"
#include "weft/base/error.h"
#include "weft/files/exported.h"
#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/jit/jit.h"

namespace {

using weft::DType;
using weft::Tensor;
using weft::Value;

constexpr int kSteps = 200;

void fit_and_export(const std::filesystem::path& file) {
  const weft::Variable slope(Tensor::of<float>({1, 1}, {0}), {.name = "slope"});
  const weft::Variable shift(Tensor::of<float>({1}, {0}), {.name = "shift"});
  const auto predict = weft::jit(
      [&](const Value& x) {
        return weft::matmul(x, slope.read()) + shift.read();
      },
      {.name = "predict",
       .signature = {{{DType::kF32, {weft::symbol("N"), 1}}}}});
  const auto train = weft::jit([&](const Value& x, const Value& y) {
    weft::Tape tape;
    Value loss = weft::mean_squared_error(predict(x), y);
    const auto gradients =
        tape.gradient(loss, std::vector{slope.read(), shift.read()});
    slope.assign_subtract(gradients[0] * 0.2);
    shift.assign_subtract(gradients[1] * 0.2);
    return loss;
  });
  const Value x = Tensor::of<float>({4, 1}, {-1, 0, 1, 2});
  const Value y = Tensor::of<float>({4, 1}, {-1, 1, 3, 5});
  Value loss;
  for (int step = 0; step < kSteps; ++step) loss = train(x, y);
  fmt::print("fitted y = {:.4f} x + {:.4f}, loss {:.6f}\n",
             slope.tensor().item(), shift.tensor().item(),
             loss.tensor().item());
  weft::export_function(file, *predict.graph(x));
}

void serve(const std::filesystem::path& file) {
  weft::ExportedFunction predict(file);
  const Tensor x = Tensor::of<float>({3, 1}, {10, 20, 30});
  const Tensor y = predict.run({x})[0];
  for (std::int64_t row = 0; row < y.size(); ++row) {
    fmt::print("{} -> {:.3f}\n", x.data<float>()[row], y.data<float>()[row]);
  }
}

}  // namespace

// Its argument: where the function is to be written.
int main(int count, char** arguments) try {
  const std::filesystem::path file = count > 1 ? arguments[1] : "line.weft";
  fit_and_export(file);
  serve(file);
} catch (const weft::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
