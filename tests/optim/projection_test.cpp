// Sets of parameters. Of a convex set, p is the nearest point to x exactly if
// (x - p)·(y - p) <= 0 for all points y of it.
#include "weft/optim/projection.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "tests/support/errors.h"
#include "tests/support/optimizer_run.h"
#include "tests/support/values.h"

#include "weft/optim/groups.h"
#include "weft/optim/wrapper.h"

namespace weft::projection_test {
namespace {

using Vector = std::vector<double>;

Tensor onto(std::string_view set, const Tensor& x) {
  return make_projection(set)(x).tensor();
}

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Vector minus(const Vector& a, const Vector& b) {
  Vector result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] - b[i]);
  return result;
}

// Points within sets of vectors of five numbers, and on their borders.
Vector in_ball(const Vector& x, double radius) {
  const double length = std::sqrt(dot(x, x));
  Vector result;
  for (const double each : x) result.push_back(each / length * radius);
  return result;
}

Vector in_simplex(const Vector& x, double total) {
  double sum = 0;
  for (const double each : x) sum += std::abs(each);
  Vector result;
  for (const double each : x) result.push_back(std::abs(each) / sum * total);
  return result;
}

// `points` are of the set, by random numbers.
template <class Points>
void expect_nearest(std::string_view set, Points&& points) {
  SCOPED_TRACE(set);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const double size = seed % 4 == 0 ? 0.1 : 3;
    const Tensor x = test::pattern({5}, -size, size, seed);
    const Tensor projected = onto(set, x);
    EXPECT_TRUE(test::near(onto(set, projected), projected, 1e-6));
    const Vector p = test::numbers(projected);
    const Vector away = minus(test::numbers(x), p);
    for (std::uint64_t other = 1; other <= 50; ++other) {
      const Vector y =
          points(test::numbers(test::pattern({5}, -1, 1, 100 + other)));
      EXPECT_LE(dot(away, minus(y, p)), 1e-5);
    }
  }
}

TEST(Projection, IsTheNearestPoint) {
  expect_nearest("ball(2)", [](const Vector& x) { return in_ball(x, 2); });
  expect_nearest("ball(2)", [](const Vector& x) { return in_ball(x, 1.5); });
  expect_nearest("simplex", [](const Vector& x) { return in_simplex(x, 1); });
  expect_nearest("simplex(2.5)",
                 [](const Vector& x) { return in_simplex(x, 2.5); });
  expect_nearest("box", [](const Vector& x) { return x; });
}

TEST(Projection, LiesInItsSet) {
  const Tensor x = test::pattern({4, 3, 6}, -2, 2);
  const auto sums_along_last = [](const Tensor& tensor, auto&& of) {
    const Vector all = test::numbers(tensor);
    Vector sums;
    for (std::size_t row = 0; row < all.size(); row += 6) {
      sums.push_back(0);
      for (std::size_t i = row; i < row + 6; ++i) sums.back() += of(all[i]);
    }
    return sums;
  };
  const auto square = [](double each) { return each * each; };
  for (const double sum :
       sums_along_last(onto("sphere(radius=0.5)", x), square)) {
    EXPECT_NEAR(sum, 0.25, 1e-6);
  }
  for (const double sum :
       sums_along_last(onto("ball(0.5, axes=[-1])", x), square)) {
    EXPECT_NEAR(sum, 0.25, 1e-6);
  }
  for (const double sum :
       sums_along_last(onto("simplex(3)", x), [](double each) {
         EXPECT_GE(each, 0);
         return each;
       })) {
    EXPECT_NEAR(sum, 3, 1e-6);
  }
  // Along another axis, and of the whole.
  const Vector columns = test::numbers(onto("simplex(axis=0)", x));
  for (std::size_t i = 0; i < 18; ++i) {
    EXPECT_NEAR(
        columns[i] + columns[i + 18] + columns[i + 36] + columns[i + 54], 1,
        1e-6);
  }
  const Vector whole = test::numbers(onto("ball(0.5)", x));
  EXPECT_NEAR(dot(whole, whole), 0.25, 1e-6);
}

TEST(Projection, ByHand) {
  const auto expect = [](std::string_view set, std::vector<float> from,
                         std::vector<float> to) {
    const auto vector = [](const std::vector<float>& numbers) {
      Tensor tensor =
          Tensor::empty({DType::kF32, {static_cast<Dim>(numbers.size())}});
      std::copy(numbers.begin(), numbers.end(), tensor.data<float>());
      return tensor;
    };
    EXPECT_TRUE(test::near(onto(set, vector(from)), vector(to), 1e-6)) << set;
  };
  expect("ball(5)", {6, 8}, {3, 4});
  expect("ball(0)", {6, 8}, {0, 0});
  expect("ball", {0, 0}, {0, 0});
  expect("sphere(5)", {6, 8}, {3, 4});
  expect("sphere(10)", {0.3f, 0.4f}, {6, 8});
  expect("sphere", {0, 0, 0, 0}, {0.5f, 0.5f, 0.5f, 0.5f});
  expect("box(-1, max=2)", {-3, 0.5f, 7}, {-1, 0.5f, 2});
  expect("simplex", {3, 1}, {1, 0});
  expect("simplex", {0.5f, 0.5f, -7}, {0.5f, 0.5f, 0});
  expect("simplex(2)", {1, 2, 3}, {0, 0.5f, 1.5f});
  expect("simplex", {-8}, {1});
  // Squares of these are 0 and infinite in f32.
  expect("sphere", {3e-30f, 4e-30f}, {0.6f, 0.8f});
  expect("ball", {3e30f, 4e30f}, {0.6f, 0.8f});
}

TEST(Projection, WhatIsInTheSetKeepsItsBits) {
  const Tensor x = test::pattern({7, 5}, -0.2, 0.2);
  for (const char* set : {"ball(2)", "ball(axes=[1])", "box"}) {
    EXPECT_TRUE(identical(onto(set, x), x)) << set;
  }
}

TEST(Projection, WhatIsNoNumberStaysNone) {
  for (const ProjectionDef& def : projection_registry().all()) {
    const Tensor x = Tensor::of<float>({3}, {1, NAN, 2});
    EXPECT_TRUE(std::isnan(onto(def.name, x).item(1))) << def.name;
  }
}

TEST(Projection, OfDoubles) {
  const Tensor x = Tensor::of<double>({2}, {6, 8});
  for (const ProjectionDef& def : projection_registry().all()) {
    EXPECT_EQ(onto(def.name, x).type(), x.type()) << def.name;
  }
  EXPECT_NEAR(onto("ball", x).item(), 0.6, 1e-15);
}

TEST(Project, FollowsEachStep) {
  const std::vector<Tensor> first{test::pattern({3, 4}), test::pattern({5})};
  std::vector<ParameterGroup> groups;
  groups.push_back({"p0", 1,
                    wrap_optimizer(make_optimizer("momentum", {}),
                                   {"project(ball(0.3, axes=[-1]))"})});
  test::OptimizerRun run(
      group_optimizers(make_optimizer("momentum", {}), std::move(groups)),
      first);
  test::OptimizerRun plain(make_optimizer("momentum", {}), {first[1]});
  // Momentum is of the steps as the inner optimizer made them.
  Value p = first[0];
  Value v = Tensor::zeros(first[0].type());
  for (std::uint64_t step = 1; step <= 4; ++step) {
    const Value gradient = test::pattern({3, 4}, -1, 1, 10 + step);
    const Value other = test::pattern({5}, -1, 1, 20 + step);
    run.step({gradient, other}, 0.1);
    plain.step({other}, 0.1);
    v = v * 0.9 + gradient;
    p = onto("ball(0.3, axes=[-1])", (p - v * 0.1).tensor());
    EXPECT_TRUE(test::near(run.parameter(0), p.tensor(), 1e-6));
    EXPECT_TRUE(identical(run.parameter(1), plain.parameter()));
  }
}

TEST(Project, RefusesWhatMakesNoSense) {
  const auto expect_refused = [](const std::string& wrapper,
                                 std::initializer_list<std::string> parts) {
    test::expect_error(ErrorCode::kInvalidArgument, parts, [&] {
      wrap_optimizer(make_optimizer("sgd", {}), {wrapper});
    });
  };
  expect_refused("project(bal)", {"did you mean 'ball'?"});
  expect_refused("project(ball(raduis=2))", {"did you mean 'radius'?", "^"});
  expect_refused("project(ball(-1))", {"radius", "at least 0"});
  expect_refused("project(sphere(0))", {"radius", "above 0"});
  expect_refused("project(box(2, max=1))", {"min = 2 is above max = 1"});
  expect_refused("project(simplex(total=0))", {"total", "above 0"});
  expect_refused("project(ball(2)", {"a ',' or ')' is due here"});
}

}  // namespace
}  // namespace weft::projection_test
