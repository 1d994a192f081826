// Buffers inside of buffers: which copies a plan has left, that those which it
// leaves out are not missed, and that nothing else shares bytes.
#include "weft/compiler/storage.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

#include "tests/support/values.h"

#include "weft/base/philox.h"
#include "weft/compiler/places.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/tensor/allocator.h"

namespace weft::storage_test {
namespace {

using Body = std::function<std::vector<Value>(const std::vector<Value>&)>;

Function function_of(const std::vector<TensorType>& types, const Body& body) {
  FunctionBuilder builder("f");
  return builder.build([&] {
    std::vector<Value> parameters;
    for (const TensorType& type : types) {
      parameters.push_back(builder.parameter(type));
    }
    return body(parameters);
  });
}

// The kernels of a plan that move bytes, in order.
std::vector<std::string> copies_of(const Plan& plan) {
  std::vector<std::string> copies;
  for (const StepInfo& step : plan.steps()) {
    if (step.kernel == "cpu:copy" || step.kernel == "plan:copy_parts") {
      copies.push_back(step.name + " " + step.kernel);
    }
  }
  return copies;
}

// Runs in an arena full of NaN, so that bytes which nobody wrote are seen.
std::vector<Tensor> run(Plan& plan, const std::vector<Tensor>& arguments) {
  std::vector<void*> in;
  for (const Tensor& argument : arguments) in.push_back(argument.raw());
  std::vector<Tensor> results;
  std::vector<void*> out;
  for (const TensorType& type : plan.result_types()) {
    results.push_back(Tensor::empty(type));
    out.push_back(results.back().raw());
  }
  const Tensor arena =
      Tensor::empty({DType::kU8, {static_cast<Dim>(plan.arena_bytes())}});
  std::memset(arena.raw(), 0xff, arena.bytes());
  plan.run(in, out, arena.raw());
  return results;
}

struct Outcome {
  std::vector<std::string> copies;  // left
  std::size_t uncopied_nodes;
  std::size_t uncopied_bytes;
  std::size_t buffer_bytes;  // without what kernels need for themselves
};

// Plans `body` for such arguments, with and without fusion, and compares what
// it computes with what the ops give one by one.
Outcome planned(const std::vector<Shape>& shapes, const Body& body) {
  std::vector<TensorType> types;
  std::vector<Tensor> arguments;
  for (const Shape& shape : shapes) {
    types.push_back({DType::kF32, shape});
    arguments.push_back(test::pattern(shape, -1, 1, types.size()));
  }
  const auto expected = body({arguments.begin(), arguments.end()});
  const Function function = function_of(types, body);
  Plan plain(function, {.donated = {}, .fuse = false});
  Plan fused(function, {});
  const auto exact = run(plain, arguments);
  const auto close = run(fused, arguments);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(identical(exact[i], expected[i].tensor())) << "result " << i;
    EXPECT_TRUE(test::near(close[i], expected[i].tensor(), 1e-5))
        << "result " << i;
  }
  return {copies_of(fused), fused.uncopied().texts.size(),
          fused.uncopied().bytes, fused.buffer_bytes()};
}

using Copies = std::vector<std::string>;

TEST(Storage, PartsOfTheOutermostAxisAreViews) {
  const auto [copies, nodes, bytes, buffers] =
      planned({{48, 16}, {16, 16}}, [](const std::vector<Value>& x) {
        const auto parts = split(tanh(x[0]), {16, 16, 16}, 0);
        const Value middle = slice_axis(x[0], 0, 16, 32);
        return std::vector{matmul(parts[0], x[1]), matmul(parts[1], parts[2]),
                           matmul(middle, x[1])};
      });
  EXPECT_EQ(copies, Copies{});
  EXPECT_EQ(nodes, 2u);
  EXPECT_EQ(bytes, 4u * 16 * 16 * 4);
}

// One of each axis before the one that is cut, as in a batch of one.
TEST(Storage, AxesOfSizeOneDoNotSeparateParts) {
  const auto [copies, nodes, bytes, buffers] =
      planned({{1, 32, 16}}, [](const std::vector<Value>& x) {
        const Value parts =
            matmul(slice(tanh(x[0]), {0, 0, 0}, {1, 16, 16}),
                   transpose(slice_axis(tanh(x[0]), 1, 16, 32), {0, 1, 2}));
        return std::vector{reshape(parts, {16, 16})};
      });
  EXPECT_EQ(copies, Copies{});
}

TEST(Storage, PartsWithGapsAndThoseThatBeginAnywhereAreCopied) {
  const auto [copies, nodes, bytes, buffers] =
      planned({{32, 16}, {16, 16}}, [](const std::vector<Value>& x) {
        const Value columns = slice_axis(x[0], 1, 0, 8);  // has gaps
        const Value flat = reshape(x[0], {512});
        const Value late = slice_axis(flat, 0, 3, 259);  // is not aligned
        const Value steps = slice(x[0], {0, 0}, {32, 16}, {2, 1});
        return std::vector{matmul(columns, slice_axis(x[1], 0, 0, 8)),
                           matmul(reshape(late, {16, 16}), x[1]),
                           matmul(steps, x[1])};
      });
  EXPECT_EQ(copies,
            (Copies{"slice cpu:copy", "slice cpu:copy", "slice cpu:copy"}));
  EXPECT_EQ(nodes, 1u);
}

TEST(Storage, PartOfASplitThatIsNotAlignedIsCopiedAlone) {
  const auto [copies, nodes, bytes, buffers] =
      planned({{32}}, [](const std::vector<Value>& x) {
        const auto parts = split(tanh(x[0]), {16, 7, 9}, 0);
        return std::vector{cumsum(parts[0], 0), cumsum(parts[1], 0),
                           cumsum(parts[2], 0)};
      });
  EXPECT_EQ(copies, Copies{"split plan:copy_parts"});
  EXPECT_EQ(bytes, (16u + 7u) * 4);
}

TEST(Storage, OperandsAreComputedStraightIntoAConcatenation) {
  const auto [copies, nodes, bytes, buffers] =
      planned({{16, 16}, {32, 16}}, [](const std::vector<Value>& x) {
        return std::vector{
            concat(std::vector{matmul(x[0], x[0]), tanh(x[1]), x[0] * 2.0}, 0)};
      });
  EXPECT_EQ(copies, Copies{});
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(buffers, 0u);  // all of it is computed in the result
}

TEST(Storage, OperandsThatSomebodyElseOwnsAreCopied) {
  const auto [copies, nodes, bytes,
              arena] = planned({{16, 16}}, [](const std::vector<Value>& x) {
    const Value own = tanh(x[0]);
    const Value result = x[0] * 3.0;
    // An argument, a value that stands there already, and another result.
    return std::vector{concat(std::vector{own, x[0], own, result}, 0), result};
  });
  EXPECT_EQ(copies, Copies{"concat plan:copy_parts"});
  EXPECT_EQ(bytes, 16u * 16 * 4);
}

TEST(Storage, PartThatIsReturnedIsCopied) {
  const auto [copies, nodes, bytes, buffers] =
      planned({{32, 16}}, [](const std::vector<Value>& x) {
        const Value y = tanh(x[0]);
        const auto parts = split(y, {16, 16}, 0);
        return std::vector{parts[0], matmul(parts[1], parts[1])};
      });
  EXPECT_EQ(copies, Copies{"split plan:copy_parts"});
}

// Buffers inside of buffers: all of a dense block lies in its last
// concatenation, which makes memory linear in its depth instead of quadratic.
TEST(Storage, NestedConcatenationsAreOneBuffer) {
  const auto depth_bytes = [](int depth) {
    const auto outcome = planned({{16, 16}}, [&](const std::vector<Value>& x) {
      Value all = tanh(x[0]);
      for (int i = 0; i < depth; ++i) {
        // Each layer reads all rows so far.
        const Value next =
            matmul(x[0], x[0] * mean(all, {0, 1}, /*keep_dims=*/true));
        all = concat(std::vector{all, next}, 0);
      }
      return std::vector{sum(square(all), {0, 1})};
    });
    EXPECT_EQ(outcome.copies, Copies{});
    EXPECT_EQ(outcome.uncopied_nodes, static_cast<std::size_t>(depth));
    return outcome.buffer_bytes;
  };
  const std::size_t few = depth_bytes(8);
  const std::size_t many = depth_bytes(16);
  EXPECT_LE(many, few + 8 * 16 * 16 * 4 + kAlignment);
}

// The last of many rows does not keep the others in memory.
TEST(Storage, SmallPartDoesNotKeepTheWholeAlive) {
  const auto body = [](Dim rows) {
    return planned({{64, 64}, {64, 64}}, [rows](const std::vector<Value>& x) {
      const Value many = matmul(x[0], x[1]);
      const Value last = slice_axis(many, 0, 64 - rows, 64);
      Value y = x[0];
      for (int i = 0; i < 3; ++i) y = matmul(y, x[1]);
      return std::vector{matmul(last, y)};
    });
  };
  EXPECT_EQ(body(1).copies, Copies{"slice cpu:copy"});
  EXPECT_EQ(body(32).copies, Copies{});
}

// What is donated is not read for longer for the sake of a part.
TEST(Storage, DonatedArgumentIsStillOverwrittenInPlace) {
  const Function function = function_of(
      {{DType::kF32, {64, 16}}, {DType::kF32, {16, 16}}},
      [](const std::vector<Value>& x) {
        const Value part = slice_axis(x[0], 0, 0, 16);
        const Value next = x[0] * 0.5;
        return std::vector{next, matmul(part, slice_axis(next, 0, 0, 16))};
      });
  Executable executable(function, {.donated = {{0, 0}}});
  const Tensor table = test::pattern({64, 16});
  const Tensor before = table.clone();
  const auto results =
      executable.run(std::vector<Tensor>{table, test::pattern({16, 16})});
  const Value part = slice_axis(Value(before), 0, 0, 16);
  EXPECT_TRUE(identical(results[0], (Value(before) * 0.5).tensor()));
  EXPECT_TRUE(test::near(results[1], matmul(part, part * 0.5).tensor(), 1e-6));
}

TEST(Storage, EmptyPartsAndSingleOperands) {
  planned({{16, 16}, {0, 16}}, [](const std::vector<Value>& x) {
    const auto parts = split(tanh(x[0]), {0, 16}, 0);
    return std::vector{
        concat(std::vector{tanh(x[1]), exp(parts[1]), parts[0]}, 0),
        concat(std::vector{x[0] + 1.0}, 0)};
  });
}

// --- No two values share bytes but by intent ------------------------------

Function random_function(std::uint32_t seed) {
  const RandomStream random{seed, 0, 0};
  std::uint64_t drawn = 0;
  const auto draw = [&](std::size_t limit) {
    return static_cast<std::size_t>(random.word(drawn++)) % limit;
  };
  const TensorType type{DType::kF32, {16, 16}};
  return function_of({type, type}, [&](const std::vector<Value>& x) {
    std::vector<Value> values = x;
    for (int i = 0; i < 40; ++i) {
      const Value a = values[draw(values.size())];
      const Value b = values[values.size() - 1 - draw(3) % values.size()];
      const auto cut = static_cast<std::int64_t>(1 + draw(14));
      switch (draw(5)) {
        case 0:
          values.push_back(tanh(a + b));
          break;
        case 1:
          values.push_back(matmul(a, b));
          break;
        case 2:
          values.push_back(concat(std::vector{slice_axis(a, 0, 0, cut),
                                              tanh(slice_axis(b, 0, cut, 16))},
                                  0));
          break;
        case 3: {
          const auto parts =
              split(concat(std::vector{a, exp(b)}, 0), {16 - cut, 16, cut}, 0);
          values.push_back(parts[1]);
          values.push_back(concat(std::vector{parts[2], parts[0]}, 0));
          break;
        }
        default:
          values.push_back(
              reshape(transpose(reshape(a, {16, 1, 16}), {1, 0, 2}), {16, 16}));
      }
    }
    return std::vector{values.back(), values[draw(values.size())],
                       slice_axis(values[values.size() - 2], 0, 4, 9)};
  });
}

// A value that a step makes: its bytes, and from when to when they are its own.
struct Live {
  ValueId whole;
  Place place;
  std::size_t begin, end;  // bytes of the arena
  std::size_t first, last;
};

TEST(Storage, LivingValuesShareBytesOnlyWithinOneWhole) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Function function = random_function(seed);
    auto steps = form_steps(function, seed % 2 == 0);
    const Storage storage(function, steps, {});
    const Places places(function, steps, storage, {},
                        // Every step overwrites what it may.
                        [](std::size_t, const std::vector<std::size_t>&,
                           std::size_t) { return true; });
    std::vector<std::size_t> last(function.value_count(), 0);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const ValueId id : steps[i].inputs) {
        for (ValueId own : {id, storage.of(id).whole}) {
          last[static_cast<std::size_t>(own)] = i;
        }
      }
    }
    std::vector<Live> live;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const ValueId id : steps[i].outputs) {
        const Place place = places.of(id);
        if (place.kind != Place::kArena) continue;
        const std::size_t begin =
            places.buffer_offsets()[place.index] + place.offset;
        const std::size_t end = begin + function.type(id).bytes();
        EXPECT_EQ(begin % kAlignment, 0u);
        EXPECT_LE(end, places.arena_bytes());
        const ValueId whole = storage.of(id).whole;
        live.push_back({whole, place, begin, end, i,
                        last[static_cast<std::size_t>(whole)]});
      }
    }
    for (const Live& a : live) {
      for (const Live& b : live) {
        if (&a == &b || a.first > b.first) continue;
        // Where `b` is written in the step that reads `a` last, it may stand in
        // its place, of which the planner makes one buffer.
        const bool meet = b.first < a.last ||
                          (b.first == a.last && a.place.index != b.place.index);
        const bool apart = a.end <= b.begin || b.end <= a.begin;
        EXPECT_TRUE(!meet || apart || a.whole == b.whole)
            << "seed " << seed << ": bytes " << a.begin << " to " << a.end
            << " of steps " << a.first << " to " << a.last << ", and "
            << b.begin << " to " << b.end << " of steps " << b.first << " to "
            << b.last;
      }
    }
  }
}

// Against the ops one by one, in an arena full of NaN.
TEST(Storage, RandomProgramsReadWhatWasWritten) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const Function function = random_function(seed);
    const std::vector<Tensor> arguments{test::pattern({16, 16}, -1, 1, seed),
                                        test::pattern({16, 16}, -1, 1, 99)};
    Plan plain(function, {.donated = {}, .fuse = false});
    Plan fused(function, {});
    const auto exact = run(plain, arguments);
    const auto close = run(fused, arguments);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_TRUE(test::near(close[i], exact[i], 1e-4)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace weft::storage_test
