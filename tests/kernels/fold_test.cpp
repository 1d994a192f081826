#include <cmath>
#include <limits>

#include "tests/support/against_reference.h"

#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"

namespace weft::fold_test {
namespace {

// Runs and columns of every length around the boundaries of vectors, of four of
// them, and of the totals that lie side by side.
TEST(FoldKernel, AgreesAtEverySize) {
  for (const Dim size :
       {1, 2, 3, 7, 8, 9, 17, 31, 33, 64, 65, 100, 127, 300, 513, 1023, 1025}) {
    for (const DType dtype :
         {DType::kF32, DType::kF64, DType::kBF16, DType::kI32, DType::kI64}) {
      for (const char* op : {"sum", "prod", "max", "min"}) {
        for (const std::int64_t axis : {0, 1}) {
          OpSample sample{{{{dtype, {13, size}}, 0.9, 1.1}},
                          {{"axes", Integers{axis}}}};
          EXPECT_TRUE(agrees_with_reference(op, "cpu:fold", sample, 1e-5))
              << op << " of axis " << axis << " of " << size;
        }
      }
    }
  }
}

// At every lane, in vectors and behind them.
TEST(FoldKernel, MaximaKeepNan) {
  constexpr Dim kSize = 77;
  const Tensor x = Tensor::empty({DType::kF32, {kSize}});
  for (Dim place = 0; place < kSize; ++place) {
    for (Dim i = 0; i < kSize; ++i) {
      x.data<float>()[i] = static_cast<float>(i % 5);
    }
    x.data<float>()[place] = std::numeric_limits<float>::quiet_NaN();
    const Value columns = reshape(Value(x), {kSize, 1, 1});
    const Value wide = broadcast_to(columns, {kSize, 1, 20});
    for (const auto reduce : {reduce_max, reduce_min}) {
      EXPECT_TRUE(std::isnan(reduce(Value(x), {}, false).tensor().item()));
      const Tensor y = reduce(wide, {0}, false).tensor();
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(std::isnan(y.data<float>()[i]));
    }
  }
}

}  // namespace
}  // namespace weft::fold_test
