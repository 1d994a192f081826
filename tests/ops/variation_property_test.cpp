// The samples of every op under dtypes, sizes and steps that nobody wrote down:
// either the op refuses them, or every kernel that takes them computes what the
// reference computes. No op is named here but those whose operands must be of
// a kind that only their samples are.
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "tests/support/op_case.h"

namespace weft::testing::variation_property_test {
namespace {

constexpr std::array kAll{DType::kF32, DType::kF64, DType::kF16, DType::kBF16,
                          DType::kI8,  DType::kU8,  DType::kI16, DType::kI32,
                          DType::kI64, DType::kBool};
// More than these make the reference slow and show nothing else.
constexpr std::int64_t kMostElements = 20'000;

// What `sample` is with the operands of its first operand's dtype in another,
// and attributes that name it.
OpSample in_dtype(const OpCase& c, DType dtype) {
  OpSample sample = c.sample();
  sample.attributes = c.attributes();
  if (sample.inputs.empty()) return sample;
  const DType own = sample.inputs[0].type.dtype;
  for (InputSample& input : sample.inputs) {
    if (input.type.dtype == own) input.type.dtype = dtype;
  }
  for (auto& [name, value] : sample.attributes) {
    auto* named = std::get_if<DType>(&value);
    if (named != nullptr && *named == own) *named = dtype;
  }
  return sample;
}

// The same with `to` wherever a size is `from`.
OpSample resized(const OpCase& c, Dim from, Dim to) {
  OpSample sample = c.sample();
  sample.attributes = c.attributes();
  const auto resize = [&](Shape& shape) {
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == from) shape[i] = to;
    }
  };
  for (InputSample& input : sample.inputs) resize(input.type.shape);
  for (auto& [name, value] : sample.attributes) {
    if (auto* shape = std::get_if<Shape>(&value)) resize(*shape);
  }
  return sample;
}

bool is_small(const Shape& shape) {
  std::int64_t count = 1;
  for (const Dim dim : shape) {
    // Sizes may be so large that their product is no number.
    if (dim > kMostElements || count > kMostElements) return false;
    count *= dim;
  }
  return count <= kMostElements;
}

bool is_small(const OpSample& sample) {
  return std::ranges::all_of(sample.inputs, [](const InputSample& input) {
    return is_small(input.type.shape);
  });
}

// Vectors of values that nearly meet are as far from exact as these are near.
double looseness(const OpDef& op) {
  static const std::set<std::string> of_vectors{"svd", "eigh"};
  return of_vectors.contains(op.name()) ? 100 : 1;
}

// Kernels and reference on one sample; false if the op refuses it, or if it is
// too large to be run here.
bool compare(const OpDef& op, const OpSample& sample) {
  std::optional<OpCase> made;
  try {
    made.emplace(op, sample, 11);
  } catch (const Error& error) {
    // A mistake of the caller, and nothing else.
    EXPECT_TRUE(error.code() == ErrorCode::kInvalidArgument ||
                error.code() == ErrorCode::kUnsupported)
        << error.what();
    return false;
  }
  const OpCase& c = *made;
  SCOPED_TRACE(c.text());
  const bool runs =
      op.reference() != nullptr &&
      std::ranges::all_of(c.output_types(), [](const TensorType& type) {
        return is_small(type.shape);
      });
  if (!runs) return false;
  const auto expected = c.reference();
  for (const auto& candidate : kernel_registry().candidates(op.name())) {
    if (candidate.declines && candidate.declines(c.call())) continue;
    SCOPED_TRACE(candidate.name);
    std::unique_ptr<PreparedKernel> kernel;
    try {
      kernel = candidate.prepare(c.call());
    } catch (const std::exception&) {
      continue;  // it declines so, and others are asked (graph/kernel.h)
    }
    const auto actual = run_guarded(*kernel, c.inputs(), c.output_types());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_close(actual[i], expected[i],
                   looseness(op) * c.reduction_length());
    }
  }
  return true;
}

TEST(Kernels, AreRightInEveryDtypeOrRefuseIt) {
  int taken = 0;
  for_each_case([&](const OpCase& c) {
    if (!is_small(c.sample())) return;
    for (const DType dtype : kAll) {
      if (compare(c.op(), in_dtype(c, dtype))) ++taken;
    }
  });
  EXPECT_GT(taken, 1000);
}

TEST(Kernels, AreRightOfEverySizeOrRefuseIt) {
  int taken = 0;
  for_each_case([&](const OpCase& c) {
    if (!is_small(c.sample())) return;
    std::set<Dim> sizes;
    for (const InputSample& input : c.sample().inputs) {
      for (const Dim size : input.type.shape) sizes.insert(size);
    }
    for (const Dim from : sizes) {
      for (const Dim to : {0, 1, 3, 17, 33}) {
        const OpSample sample = resized(c, from, to);
        if (is_small(sample) && compare(c.op(), sample)) ++taken;
      }
    }
  });
  EXPECT_GT(taken, 1000);
}

// Steps, sizes, counts and axes that are zero, negative or beyond any memory.
TEST(Attributes, OfAnySizeAreRightOrRefused) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  int tried = 0;
  for_each_case([&](const OpCase& c) {
    // A reference that knows one rank has no group of several.
    static const std::set<std::string> of_ranks{"all_reduce", "all_gather",
                                                "reduce_scatter"};
    if (!is_small(c.sample()) || of_ranks.contains(c.op().name())) return;
    const auto with = [&](std::size_t which, const Attribute& value) {
      OpSample sample = c.sample();
      sample.attributes = c.attributes();
      (sample.attributes.begin() + static_cast<std::ptrdiff_t>(which))->second =
          value;
      compare(c.op(), sample);
      ++tried;
    };
    for (const std::int64_t number :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{3},
          std::int64_t{1} << 31, std::int64_t{1} << 40, kMost, kLeast}) {
      std::size_t which = 0;
      for (const auto& [name, value] : c.attributes()) {
        SCOPED_TRACE(fmt::format("{} {}", name, number));
        if (std::holds_alternative<std::int64_t>(value)) {
          with(which, number);
        } else if (const auto* all = std::get_if<Integers>(&value)) {
          for (std::size_t i = 0; i < all->size(); ++i) {
            Integers changed = *all;
            changed[i] = number;
            with(which, changed);
          }
        } else if (const auto* shape = std::get_if<Shape>(&value);
                   shape != nullptr && number >= 0) {  // others are symbols
          for (int i = 0; i < shape->rank(); ++i) {
            Shape changed = *shape;
            changed[i] = number;
            with(which, changed);
          }
        }
        ++which;
      }
    }
  });
  EXPECT_GT(tried, 1000);
}

}  // namespace
}  // namespace weft::testing::variation_property_test
