// Shapes that are large enough to be cut into tasks, tiles and pieces: the
// samples of the ops are not. Every kernel must equal the reference, and give
// the same bits on any number of threads.
#include "weft/base/parallel.h"

#include <gtest/gtest.h>

#include "tests/support/op_case.h"

#include "weft/ops/slice.h"
#include "weft/ops/support/samples.h"

namespace weft::testing::parallel_test {
namespace {

class Threads {
 public:
  Threads() : before_(thread_count()) {}
  ~Threads() { set_thread_count(before_); }

 private:
  int before_;
};

void check(const std::string& op, const OpSample& sample) {
  const Threads restore;
  const OpCase c(op_registry().get(op), sample, 11);
  SCOPED_TRACE(c.text());
  const KernelChoice choice = choose_kernel(c.call());
  EXPECT_NE(choice.name, "reference");
  const auto expected = c.reference();
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    const auto actual =
        run_guarded(*choice.kernel, c.inputs(), c.output_types());
    if (first.empty()) first = actual;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(identical(actual[i], first[i])) << threads << " threads";
    }
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_close(first[i], expected[i], c.reduction_length());
  }
}

TEST(LargeReductions, EqualTheReferenceOnAnyThreads) {
  const std::vector<std::pair<Shape, Integers>> cases = {
      {{300007}, {}},
      {{100003, 3}, {0}},
      {{40009, 17}, {0}},
      {{1201, 200}, {0}},
      {{301, 1300}, {0}},
      {{1301, 301}, {1}},
      {{30000, 10}, {1}},
      {{5, 70001}, {1}},
      {{13, 17, 31, 33}, {0, 2}},
      {{13, 17, 31, 33}, {1, 3}},
      {{8, 64, 20, 20}, {0, 2, 3}},
      {{2, 90000}, {0}}};
  for (const auto& [shape, axes] : cases) {
    for (const char* op : {"sum", "mean", "max"}) {
      check(op, {{floats(shape)}, {{"axes", axes}}});
    }
    check("sum", {{integers(shape, -9, 9)}, {{"axes", axes}}});
  }
  check("sum",
        {{floats({20011, 16}, -1, 1, DType::kBF16)}, {{"axes", Integers{0}}}});
  check("argmax", {{floats({301, 1000})}, {{"axis", std::int64_t{1}}}});
  check("argmax", {{floats({31, 40, 700})}, {{"axis", std::int64_t{1}}}});
  check("argmin", {{floats({301, 1000})}, {{"axis", std::int64_t{1}}}});
  check("any", {{bools({301, 1000})}, {{"axes", Integers{1}}}});
  check("all", {{bools({3, 70000})}, {{"axes", Integers{0}}}});
}

TEST(LargeCopies, EqualTheReferenceOnAnyThreads) {
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF64, DType::kU8}) {
    const auto x = [&](const Shape& shape) {
      return InputSample{{dtype, shape}, 0, 100, false};
    };
    check("transpose", {{x({513, 515})}, {}});
    check("transpose",
          {{x({7, 130, 300})}, {{"permutation", Integers{0, 2, 1}}}});
    check("transpose",
          {{x({40, 30, 20, 11})}, {{"permutation", Integers{2, 0, 3, 1}}}});
  }
  const InputSample x = floats({61, 70, 80});
  check("transpose", {{x}, {{"permutation", Integers{1, 0, 2}}}});
  check("broadcast_to", {{floats({700, 1})}, {{"shape", Shape{3, 700, 301}}}});
  check("broadcast_to", {{floats({1, 501})}, {{"shape", Shape{700, 501}}}});
  check("broadcast_to", {{floats({})}, {{"shape", Shape{300000}}}});
  check("slice", {{x},
                  {{"begin", Integers{1, 2, 3}},
                   {"end", Integers{60, -1, 79}},
                   {"steps", Integers{1, 2, 3}}}});
  check("slice",
        {{x}, {{"begin", Integers{1, 2, 3}}, {"end", Integers{60, 69, 9}}}});
  check("pad", {{x},
                {{"low", Integers{1, 0, 2}},
                 {"high", Integers{0, 3, 0}},
                 {"value", 2.5}}});
  check("concat", {{x, floats({61, 70, 3})}, {{"axis", std::int64_t{2}}}});
  check("concat", {{x, floats({9, 70, 80})}, {{"axis", std::int64_t{0}}}});
  check("split",
        {{x}, {{"sizes", Integers{30, 50}}, {"axis", std::int64_t{2}}}});
  check("tile", {{x}, {{"repeats", Integers{2, 1, 3}}}});
  check("reshape", {{x}, {{"shape", Shape{4270, 80}}}});
}

TEST(LargeIndexing, EqualsTheReferenceOnAnyThreads) {
  check("gather", {{floats({1000, 130}), indices({900}, 1000)}, {}});
  check("gather", {{floats({30, 90, 70}), indices({80}, 90)},
                   {{"axis", std::int64_t{1}}}});
  check("scatter_add",
        {{floats({3000, 40}), indices({3000}, 500)}, {{"size", Shape{500}}}});
  check("one_hot", {{indices({900}, 301)}, {{"depth", std::int64_t{301}}}});
  check("pick", {{floats({20000, 10}), indices({20000}, 10)}, {}});
  check("pick_scatter",
        {{floats({20000}), indices({20000}, 10)}, {{"size", Shape{10}}}});
}

TEST(LargeIndexing, AlongOtherAxes) {
  check("pick", {{floats({9, 20000}), indices({3, 20000}, 9)},
                 {{"axis", std::int64_t{0}}}});
  check("pick_scatter",
        {{floats({30, 20000}), indices({30, 20000}, 9)},
         {{"size", Shape{9}}, {"is_many", true}, {"axis", std::int64_t{0}}}});
  check("slice", {{floats({61, 70, 80})},
                  {{"begin", Integers{60, 0, kToEnd}},
                   {"end", Integers{1, 70, kToEnd}},
                   {"steps", Integers{-2, 1, -1}}}});
  check("dynamic_slice", {{floats({500, 300}), indices({2}, 100)},
                          {{"sizes", Shape{400, 200}}}});
  check("dynamic_slice",
        {{floats({3000, 90}), indices({3000, 1}, 50)}, {{"sizes", Shape{40}}}});
  check("dynamic_update_slice",
        {{floats({500, 300}), floats({400, 200}), indices({2}, 100)}, {}});
  check("dynamic_update_slice",
        {{floats({3000, 90}), floats({3000, 40}), indices({3000, 1}, 50)}, {}});
  check("gather_nd", {{floats({90, 70, 30}), indices({5000, 2}, 70)}, {}});
  for (const char* mode : {"set", "add", "max", "min"}) {
    const Attributes attributes{{"mode", std::string(mode)}};
    // Wide rows, narrow ones, and single elements.
    check("scatter_nd",
          {{floats({50, 3000}), indices({400, 1}, 50), floats({400, 3000})},
           attributes});
    check("scatter_nd",
          {{floats({9000, 8}), indices({40000, 1}, 9000), floats({40000, 8})},
           attributes});
    check("scatter_nd",
          {{floats({300, 300}), indices({90000, 2}, 300), floats({90000})},
           attributes});
  }
}

TEST(LargeOrders, EqualTheReferenceOnAnyThreads) {
  check("sort", {{floats({3000, 20})}, {{"axis", std::int64_t{0}}}});
  check("top_k", {{floats({40, 2000})}, {{"k", std::int64_t{9}}}});
  check("top_k", {{integers({40, 2000}, -20, 20)}, {{"k", std::int64_t{9}}}});
  check("top_k", {{floats({10, 2000})}, {{"k", std::int64_t{900}}}});
  check("sort", {{floats({20, 3000})}, {}});
  check("cumsum", {{floats({60, 3000})}, {{"axis", std::int64_t{1}}}});
  check("cumsum",
        {{floats({3000, 60})}, {{"axis", std::int64_t{0}}, {"reverse", true}}});
  check("cumsum", {{floats({3, 700, 50})},
                   {{"axis", std::int64_t{1}}, {"exclusive", true}}});
  check("cumsum",
        {{integers({700, 90}, -20, 20)}, {{"axis", std::int64_t{0}}}});
  check("cumsum", {{floats({20, 9000})}, {{"axis", std::int64_t{0}}}});
}

// Threads share the rows of the first ones, and whole matrices of the last.
TEST(LargeProducts, EqualTheReferenceOnAnyThreads) {
  const auto doubles = [](const Shape& shape) {
    return floats(shape, -1, 1, DType::kF64);
  };
  check("matmul", {{doubles({400, 500}), doubles({500, 60})}, {}});
  check("matmul", {{doubles({389, 500}), doubles({500, 61})}, {}});
  check("matmul", {{doubles({500, 400}), doubles({60, 500})},
                   {{"transpose_a", true}, {"transpose_b", true}}});
  check("matmul", {{doubles({3, 90, 500}), doubles({3, 500, 30})}, {}});
}

TEST(LargeDraws, EqualTheReferenceOnAnyThreads) {
  const auto draw = [](const char* op) {
    check(op, {{random_key()},
               {{"shape", Shape{100003}}, {"stream", std::int64_t{2}}}});
  };
  for (const char* op : {"uniform", "normal", "permutation"}) draw(op);
  check("dropout", {{floats({301, 333}), random_key()},
                    {{"stream", std::int64_t{2}}, {"rate", 0.3}}});
}

}  // namespace
}  // namespace weft::testing::parallel_test
