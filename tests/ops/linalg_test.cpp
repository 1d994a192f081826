// Factors multiply back to what they are of, have the form that they promise,
// and the gradient of cholesky, whose operands are no random ones, is right.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/support/exact.h"
#include "tests/support/op_case.h"

#include "weft/base/parallel.h"
#include "weft/runtime/eager.h"

namespace weft::testing::linalg_test {
namespace {

Value drawn(const Shape& shape, DType dtype = DType::kF32) {
  return random_tensor({{dtype, shape}}, 3);
}

// As large as numbers are, and a rounding for each of a row.
void expect_near(const Value& actual, const Value& expected, double tolerance) {
  ASSERT_EQ(to_string(actual.type()), to_string(expected.type()));
  for (std::int64_t i = 0; i < expected.tensor().size(); ++i) {
    ASSERT_NEAR(actual.tensor().item(i), expected.tensor().item(i), tolerance);
  }
}

Value flipped(const Value& x) {
  Integers order;
  for (int i = 0; i < x.shape().rank(); ++i) order.push_back(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}

Value eye(std::int64_t n) {
  return cast(equal(reshape(iota(n), {n, 1}), iota(n)), DType::kF32);
}

// x xᵀ + 1: positive definite.
Value definite(const Value& x) {
  return matmul(x, x, {false, true}) + cast(eye(x.shape().back()), x.dtype());
}

// Rows of a block and of several, the last of them full or not; a stack that is
// shared out matrix by matrix, and one of large matrices.
TEST(Linalg, CholeskyMultipliesBack) {
  for (const std::int64_t n : {1, 47, 48, 49, 200, 520}) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      SCOPED_TRACE(fmt::format("{} of {}", n, to_string(dtype)));
      const Value x = definite(drawn({3, n, n}, dtype));
      const Value l = cholesky(x);
      expect_near(
          matmul(l, l, {false, true}), x,
          static_cast<double>(n) * (dtype == DType::kF32 ? 5e-7 : 1e-15));
      const Value above = less(reshape(iota(n), {n, 1}), iota(n));
      expect_near(where(above, l, zeros_like(l)), zeros_like(l), 0);
    }
  }
}

TEST(Linalg, CholeskyHasTheSameBitsOnAnyNumberOfThreads) {
  const Value x = definite(drawn({300, 300}));
  const Value together = cholesky(x);
  const OnOneThread on_one_thread;
  EXPECT_TENSOR(cholesky(x), together);
}

TEST(Linalg, CholeskyOfTheIndefiniteIsNaN) {
  const Value l = cholesky(f32({2, 2, 2}, {1, 2, 2, 1, 4, 2, 2, 2}));
  EXPECT_TENSOR(l, f32({2, 2, 2}, {NAN, NAN, NAN, NAN, 2, 0, 1, 1}));
}

TEST(Linalg, CholeskyFindsTheLastPivotBelow0) {
  const Tensor x = definite(drawn({100, 100})).tensor().clone();
  x.data<float>()[100 * 100 - 1] = -1;
  const Tensor l = cholesky(Value(x)).tensor();
  for (std::int64_t i = 0; i < l.size(); ++i) {
    ASSERT_TRUE(std::isnan(l.item(i)));
  }
}

TEST(Linalg, CholeskyHasTheGradientOfDifferences) {
  const Value start = definite(drawn({4, 4}, DType::kF64));
  const Value weight = random_tensor({{DType::kF64, {4, 4}}}, 8);
  const auto loss = [&](const Value& x) { return sum(cholesky(x) * weight); };
  Tape tape;
  Value x = start;
  tape.watch(x);
  const Value gradient = tape.gradient(loss(x), {&x, 1})[0];
  for (std::int64_t i = 0; i < 16; ++i) {
    const auto moved = [&](double step) {
      const Tensor other = start.tensor().clone();
      other.data<double>()[i] += step;
      return loss(other).tensor().item();
    };
    EXPECT_NEAR(gradient.tensor().item(i), (moved(1e-5) - moved(-1e-5)) / 2e-5,
                1e-7);
  }
}

// Rows of several blocks, and right sides of several tasks.
TEST(Linalg, TriangularSolveSolves) {
  const Value l = cholesky(definite(drawn({2, 50, 50})));
  const Value b = drawn({2, 50, 71});
  expect_near(matmul(l, triangular_solve(l, b)), b, 1e-4);
  const Value across = triangular_solve(l, b, {.transpose = true});
  expect_near(matmul(l, across, {true, false}), b, 1e-4);
  const Value upper = triangular_solve(flipped(l), b, {.lower = false});
  expect_near(upper, across, 1e-5);
}

TEST(Linalg, NaNStaysInItsRightSide) {
  const Value l = cholesky(definite(drawn({50, 50})));
  const Value b = drawn({50, 3});
  const Tensor spoiled = b.tensor().clone();
  spoiled.data<float>()[1] = NAN;
  const Tensor x = triangular_solve(l, b).tensor();
  const Tensor y = triangular_solve(l, Value(spoiled)).tensor();
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (i % 3 == 1)
      EXPECT_TRUE(std::isnan(y.item(i)));
    else
      EXPECT_EQ(y.item(i), x.item(i));
  }
}

// l, with ones on its diagonal, u, and the rows of x that are their product.
struct Triangles {
  Value lower, upper, rows;

  Triangles(const Value& x, const Value& factors, const Value& order) {
    const Dim n = x.shape().back();
    const Value one = cast(eye(n), x.dtype());
    const Value is_below = greater(reshape(iota(n), {n, 1}), iota(n));
    lower = where(is_below, factors, one);
    upper = where(is_below, zeros_like(factors), factors);
    Shape column = order.shape();
    column.push_back(1);
    rows = pick(x, broadcast_to(reshape(order, column), x.shape()), -2);
  }
};

// Columns of a few, of a block and of several; stacks that are shared out
// matrix by matrix, and large ones.
TEST(Linalg, LuMultipliesBack) {
  for (const std::int64_t n : {1, 2, 5, 6, 7, 49, 95, 96, 97, 200, 520}) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      SCOPED_TRACE(fmt::format("{} of {}", n, to_string(dtype)));
      const Value x = drawn({3, n, n}, dtype);
      const auto [factors, order, sign] = lu(x);
      const Triangles t(x, factors, order);
      expect_near(
          matmul(t.lower, t.upper), t.rows,
          static_cast<double>(n) * (dtype == DType::kF32 ? 2e-7 : 4e-16));
      // The largest pivots are what keeps l's numbers small.
      expect_near(maximum(abs(t.lower), ones_like(x)), ones_like(x), 0);
    }
  }
}

TEST(Linalg, LuHasTheSameBitsOnAnyNumberOfThreads) {
  const Value x = drawn({300, 300});
  const auto together = lu(x);
  const OnOneThread on_one_thread;
  const auto alone = lu(x);
  for (const std::size_t i : {0, 1, 2}) EXPECT_TENSOR(alone[i], together[i]);
}

TEST(Linalg, LuNumbersRowsAndTellsTheSign) {
  // Rows 2, 0, 1 are a cycle of three, which is even; rows 1, 0, 2 are odd.
  const Value x = f32({2, 3, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0,  //
                                  0, 2, 0, 1, 0, 0, 0, 0, 3});
  const auto [factors, order, sign] = lu(x);
  EXPECT_TENSOR(order, i64({2, 3}, {2, 0, 1, 1, 0, 2}));
  EXPECT_TENSOR(sign, f32({2}, {1, -1}));
  EXPECT_TENSOR(factors, f32({2, 3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1,  //
                                         1, 0, 0, 0, 2, 0, 0, 0, 3}));
}

TEST(Linalg, LuTellsTheSignOfEveryOrderOfFour) {
  std::vector<std::int64_t> rows{0, 1, 2, 3};
  do {
    const Tensor x = Tensor::zeros({DType::kF64, {4, 4}});
    int exchanged = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      // Row i of u is row rows[i] of x.
      x.data<double>()[rows[i] * 4 + static_cast<std::int64_t>(i)] = 1;
      for (std::size_t j = 0; j < i; ++j) exchanged += rows[j] > rows[i];
    }
    const auto [factors, order, sign] = lu(Value(x));
    EXPECT_EQ(sign.tensor().item(), exchanged % 2 == 0 ? 1 : -1);
    EXPECT_TENSOR(
        order, Tensor::of<std::int64_t>({4}, std::span(std::as_const(rows))));
  } while (std::ranges::next_permutation(rows).found);
}

TEST(Linalg, LuOfAMatrixWithoutRankHasA0) {
  const Value x = f32({3, 3}, {1, 2, 3, 2, 4, 6, 0, 0, 5});
  const auto [factors, order, sign] = lu(x);
  EXPECT_TENSOR(factors, f32({3, 3}, {2, 4, 6, 0.5, 0, 0, 0, 0, 5}));
  const Value zero = f32({2, 2}, {0, 0, 0, 0});
  EXPECT_TENSOR(lu(zero)[0], zero);
}

TEST(Linalg, LuOfWhatIsNotFiniteIsNaNAlone) {
  const auto [factors, order, sign] =
      lu(f32({2, 2, 2}, {0, 1, 1, INFINITY, 0, 1, 1, 0}));
  EXPECT_TENSOR(factors, f32({2, 2, 2}, {NAN, NAN, NAN, NAN, 1, 0, 0, 1}));
  EXPECT_TENSOR(order, i64({2, 2}, {0, 1, 1, 0}));
  EXPECT_TENSOR(sign, f32({2}, {NAN, -1}));
}

TEST(Linalg, LuOfNothingIsInOrder) {
  const auto [factors, order, sign] = lu(f32({2, 0, 0}, {}));
  EXPECT_EQ(order.shape(), (Shape{2, 0}));
  EXPECT_TENSOR(sign, f32({2}, {1, 1}));
}

TEST(Linalg, QrMultipliesBack) {
  // Reflections are applied in blocks of 64: one that is not full, and some.
  for (const Shape& shape : {Shape{2, 60, 40}, Shape{1, 210, 150}}) {
    const Value x = drawn(shape);
    const Dim n = shape.back();
    const auto [q, r] = qr(x);
    expect_near(matmul(q, r), x, 1e-5);
    expect_near(matmul(q, q, {true, false}),
                broadcast_to(eye(n), {shape[0], n, n}), 1e-5);
    for (std::int64_t i = 0; i < n; ++i) {
      EXPECT_GT(r.tensor().item(i * (n + 1)), 0);
      EXPECT_TRUE(i == n - 1 || r.tensor().item((i + 1) * n + i) == 0);
    }
  }
}

TEST(Linalg, EighMultipliesBack) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const double tolerance = dtype == DType::kF32 ? 2e-4 : 1e-12;
    for (const Dim n : {1, 2, 16, 50, 64, 65, 130}) {
      const Value x = drawn({2, n, n}, dtype);
      const auto [values, vectors] = eigh(x);
      const Value scaled = vectors * reshape(values, {2, 1, n});
      expect_near(matmul(scaled, vectors, {false, true}),
                  (x + flipped(x)) * 0.5, tolerance);
      expect_near(matmul(vectors, vectors, {true, false}),
                  broadcast_to(cast(eye(n), dtype), {2, n, n}), tolerance);
      EXPECT_TENSOR(values, sort(values).first);
    }
  }
}

// What reflections leave of a matrix of rank 1 are roundings, then roundings of
// these, until squares of them are no normal numbers.
TEST(Linalg, EighOfRankOneHasOrthonormalVectors) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const Dim n : {64, 99, 128, 257}) {
      SCOPED_TRACE(fmt::format("{} of {}", n, to_string(dtype)));
      const Value ones = cast(broadcast_to(f32({1}, {1}), {n, n}), dtype);
      const auto [values, vectors] = eigh(ones);
      expect_near(matmul(vectors, vectors, {true, false}), cast(eye(n), dtype),
                  dtype == DType::kF32 ? 1e-4 : 1e-12);
      EXPECT_NEAR(values.tensor().item(n - 1), static_cast<double>(n), 1e-3);
    }
  }
}

// A stack shares out its matrices over the threads, and a single matrix its
// vectors.
TEST(Linalg, EighOfAStackIsThatOfEachMatrix) {
  const Value x = drawn({2, 150, 150});
  const auto [values, vectors] = eigh(x);
  for (Dim i = 0; i < 2; ++i) {
    for (const int threads : {1, 3}) {
      const int before = thread_count();
      set_thread_count(threads);
      const auto [one, its_vectors] =
          eigh(slice(x, {i, 0, 0}, {i + 1, 150, 150}));
      set_thread_count(before);
      EXPECT_TENSOR(one, slice(values, {i, 0}, {i + 1, 150}));
      EXPECT_TENSOR(its_vectors, slice(vectors, {i, 0, 0}, {i + 1, 150, 150}));
    }
  }
}

TEST(Linalg, EighTakesTheSmallestNumbers) {
  // Half of it is a number yet.
  const double least = 2 * std::numeric_limits<double>::denorm_min();
  const Value x = Tensor::of<double>({2, 2}, {0, least, least, 0});
  const auto [values, vectors] = eigh(x);
  EXPECT_TENSOR(values, Value(Tensor::of<double>({2}, {-least, least})));
  const auto [zeros, axes] = eigh(f32({2, 2}, {0, 0, 0, 0}));
  EXPECT_TENSOR(zeros, f32({2}, {0, 0}));
  EXPECT_TENSOR(axes, f32({2, 2}, {1, 0, 0, 1}));
}

// The sum of the two halves would be beyond all numbers of f32.
TEST(Linalg, EighTakesTheLargestNumbers) {
  const auto [values, vectors] = eigh(f32({2, 2}, {0, 3e38f, 3e38f, 0}));
  EXPECT_NEAR(values.tensor().item(0) / 3e38, -1, 1e-6);
  EXPECT_NEAR(values.tensor().item(1) / 3e38, 1, 1e-6);
}

TEST(Linalg, SvdMultipliesBack) {
  for (const Shape& shape : {Shape{2, 60, 40}, Shape{2, 40, 60}}) {
    const Value x = drawn(shape);
    const auto [u, s, vt] = svd(x);
    expect_near(matmul(u * reshape(s, {2, 1, 40}), vt), x, 1e-5);
    const Value ones = broadcast_to(eye(40), {2, 40, 40});
    expect_near(matmul(u, u, {true, false}), ones, 1e-5);
    expect_near(matmul(vt, vt, {false, true}), ones, 1e-5);
    EXPECT_TENSOR(s, sort(s, /*descending=*/true).first);
  }
}

TEST(Linalg, NaNMakesAllOfItsMatrixNaN) {
  const Value x = f32({2, 1, 1}, {NAN, 4});
  EXPECT_TENSOR(cholesky(x), f32({2, 1, 1}, {NAN, 2}));
  EXPECT_TENSOR(eigh(x).first, f32({2, 1}, {NAN, 4}));
  EXPECT_TENSOR(svd(x)[1], f32({2, 1}, {NAN, 4}));
  EXPECT_TENSOR(qr(x).second, f32({2, 1, 1}, {NAN, 4}));
}

// LAPACK and BLAS count sides, elements and workspaces with 32 bits. What they
// cannot count is left to the reference; nothing is allocated to ask.
TEST(Linalg, SizesBeyond32BitsAreDeclined) {
  const auto is_taken = [](const char* name, std::vector<TensorType> inputs) {
    const OpDef& op = op_registry().get(name);
    const Attributes attributes = op.complete({});
    const auto outputs = op.infer_types(inputs, attributes);
    const auto& candidate = kernel_registry().candidates(name).front();
    return !candidate.declines(OpCall{op, inputs, attributes, outputs});
  };
  const auto f64 = [](const Shape& shape) {
    return TensorType{DType::kF64, shape};
  };
  EXPECT_FALSE(is_taken("qr", {f64({Dim{1} << 30, 2})}));
  for (const char* op : {"eigh", "svd"}) {
    EXPECT_TRUE(is_taken(op, {f64({3, 20'000, 20'000})}));
    EXPECT_FALSE(is_taken(op, {f64({24'000, 24'000})}));
  }
}

TEST(Convolution, ChannelsBeyond32BitsAreDeclined) {
  const OpDef& op = op_registry().get("conv2d");
  const Attributes attributes = op.complete({});
  for (const auto& candidate : kernel_registry().candidates("conv2d")) {
    if (candidate.name != "openblas:im2col") continue;
    for (const Dim channels : {Dim{3}, Dim{1} << 31}) {
      const std::vector<TensorType> inputs{{DType::kF64, {1, 1, 1, channels}},
                                           {DType::kF64, {1, 1, channels, 1}}};
      const auto outputs = op.infer_types(inputs, attributes);
      const OpCall call{op, inputs, attributes, outputs};
      if (channels == 3) {
        candidate.prepare(call);
      } else {
        EXPECT_THROW(candidate.prepare(call), Error);
      }
    }
  }
}

}  // namespace
}  // namespace weft::testing::linalg_test
