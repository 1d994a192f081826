// Exported functions that the tests of serving serve.
#pragma once

#include <string>

#include "tests/support/temporary_folder.h"

#include "weft/files/exported.h"
#include "weft/graph/variable.h"
#include "weft/ops/ops.h"
#include "weft/runtime/jit/jit.h"

namespace weft::test {

inline Value row_of_two(float a, float b) {
  return Tensor::of<float>({2}, {a, b});
}

// (x: f32[N, 2]) -> x * [10, 100].
inline std::filesystem::path export_scale(const TemporaryFolder& folder,
                                          const std::string& name,
                                          float first = 10) {
  const Value factor = row_of_two(first, 100);
  const auto scale =
      jit([&](const Value& x) { return x * factor; },
          {.name = "scale", .signature = {{{DType::kF32, {symbol("N"), 2}}}}});
  const Value one = Tensor::zeros({DType::kF32, {1, 2}});
  export_function(folder / name, *scale.graph(one));
  return folder / name;
}

// (i: i64[N]) -> rows of a table of three.
inline std::filesystem::path export_lookup(const TemporaryFolder& folder,
                                           const std::string& name) {
  const Value table = Tensor::of<float>({3, 2}, {0, 1, 10, 11, 20, 21});
  const auto lookup =
      jit([&](const Value& i) { return gather(table, i, 0); },
          {.name = "lookup", .signature = {{{DType::kI64, {symbol("N")}}}}});
  const Value one = Tensor::zeros({DType::kI64, {1}});
  export_function(folder / name, *lookup.graph(one));
  return folder / name;
}

// (x: f32[]) -> the sum of all x so far.
inline std::filesystem::path export_total(const TemporaryFolder& folder,
                                          const std::string& name) {
  const Variable total(Tensor::scalar(0.0f), {.name = "total"});
  const auto add = jit([&](const Value& x) {
    total.assign_add(x);
    return total.read() + 0;
  });
  const Value one = Tensor::scalar(1.0f);
  add(one);
  total.assign(Value(Tensor::scalar(0.0f)));
  export_function(folder / name, *add.graph(one));
  return folder / name;
}

}  // namespace weft::test
