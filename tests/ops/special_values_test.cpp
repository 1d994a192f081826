// NaN, infinities, signed zeros, the smallest and the largest numbers: every
// kernel does with them what the op's definition says, in every dtype. No op is
// named here but those whose definition is not exact where it is tiny.
//
// Numbers are drawn from the seed that a failure's trace names;
// WEFT_TEST_ROUNDS draws more of them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <set>

#include "tests/support/op_case.h"

#include "weft/base/philox.h"
#include "weft/graph/index_check.h"

namespace weft::testing::special_values_test {
namespace {

constexpr std::array kFloats{DType::kF32, DType::kF64, DType::kF16,
                             DType::kBF16};
constexpr std::array kAll{DType::kF32, DType::kF64, DType::kF16, DType::kBF16,
                          DType::kI8,  DType::kU8,  DType::kI16, DType::kI32,
                          DType::kI64, DType::kBool};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint64_t rounds() {
  const char* text = std::getenv("WEFT_TEST_ROUNDS");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

struct Range {
  double epsilon, least_normal, least, most;
};

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {0x1p-52, 0x1p-1022, 0x1p-1074, 0x1.fffffffffffffp1023};
    case DType::kF16:
      return {0x1p-10, 0x1p-14, 0x1p-24, 65504};
    case DType::kBF16:
      return {0x1p-7, 0x1p-126, 0x1p-133, 0x1.fep127};
    default:
      return {0x1p-23, 0x1p-126, 0x1p-149, 0x1.fffffep127};
  }
}

void put(const Tensor& tensor, std::int64_t index, double value) {
  dispatch(tensor.dtype(), [&]<class T>(T) {
    if constexpr (std::is_class_v<T>)
      tensor.data<T>()[index] = T(static_cast<float>(value));
    else
      tensor.data<T>()[index] = static_cast<T>(value);
  });
}

// Every number of a dtype that something can go wrong with.
Tensor edges(DType dtype) {
  std::vector<Tensor> chosen;
  if (is_floating(dtype)) {
    const auto [epsilon, normal, least, most] = range_of(dtype);
    std::vector<double> values{kNan, kInfinity, 0, 1, 1 + epsilon, 0.5, 1.5, 2};
    for (const double value :
         {least,   3 * least, normal - least, normal, most,    most / 2,
          7.0,     88.8,      104.5,          126.9,  127.5,   128.5,
          200.0,   254.9,     255.5,          300.0,  32767.5, 40000.0,
          65535.5, 1e9,       2147483647.0,   3e9,    9.3e18,  1e30}) {
      if (value <= most) values.push_back(value);
    }
    const auto count = static_cast<std::int64_t>(values.size());
    Tensor result = Tensor::empty({dtype, {2 * count}});
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = values[static_cast<std::size_t>(i)];
      put(result, i, value);
      put(result, count + i, -value);
    }
    return result;
  }
  return dispatch(dtype, [&]<class T>(T) {
    std::vector<std::int64_t> values{0, 1};
    if constexpr (!std::is_class_v<T> && !std::is_same_v<T, bool>) {
      const auto least =
          static_cast<std::int64_t>(std::numeric_limits<T>::min());
      const auto most =
          static_cast<std::int64_t>(std::numeric_limits<T>::max());
      for (const std::int64_t value :
           {least, least + 1, most, most - 1, most / 2 + 1, std::int64_t{2},
            std::int64_t{7}, std::int64_t{100}}) {
        values.push_back(value);
      }
      for (const std::int64_t value : {-1, -2, -100, 255, 300, 32768, 70000}) {
        if (value >= least && value <= most) values.push_back(value);
      }
    }
    Tensor result = Tensor::empty({dtype, {static_cast<Dim>(values.size())}});
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (!std::is_class_v<T>) {
        result.data<T>()[i] = static_cast<T>(values[i]);
      }
    }
    return result;
  });
}

// Element i is element i / repeat of `values`, which begin again at their end.
Tensor repeated(const Tensor& values, std::int64_t repeat, std::int64_t size) {
  Tensor result = Tensor::empty({values.dtype(), {size}});
  const std::size_t bytes = size_of(values.dtype());
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t from = i / repeat % values.size();
    std::memcpy(static_cast<std::byte*>(result.raw()) +
                    static_cast<std::size_t>(i) * bytes,
                static_cast<const std::byte*>(values.raw()) +
                    static_cast<std::size_t>(from) * bytes,
                bytes);
  }
  return result;
}

// Any element of one operand meets any of another.
std::vector<Tensor> all_combinations(std::span<const DType> dtypes) {
  std::vector<Tensor> values;
  std::int64_t size = 1;
  for (const DType dtype : dtypes) {
    values.push_back(edges(dtype));
    size *= values.back().size();
  }
  std::vector<Tensor> operands;
  std::int64_t repeat = 1;
  for (const Tensor& some : values) {
    operands.push_back(repeated(some, repeat, size));
    repeat *= some.size();
  }
  return operands;
}

// How far from a tiny result a kernel may be. sigmoid and gelu are differences
// and sums with 1, so exact to the precision of 1.
double slack(const OpDef& op, DType dtype) {
  static const std::set<std::string> sums{"sigmoid", "gelu"};
  const Range range = range_of(dtype);
  return sums.contains(op.name()) ? range.epsilon : 4 * range.least;
}

std::string describe(const std::vector<Tensor>& inputs, std::int64_t element) {
  std::string text;
  for (const Tensor& input : inputs) {
    text +=
        fmt::format(" {}", element < input.size() ? input.item(element) : 0);
  }
  return text;
}

// Equal in kind, and within a few roundings.
void expect_same(const OpCase& c, const Tensor& actual, const Tensor& expected,
                 bool compares_zeros) {
  ASSERT_EQ(to_string(actual.type()), to_string(expected.type()));
  const double epsilon = range_of(expected.dtype()).epsilon;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double a = actual.item(i);
    const double b = expected.item(i);
    bool agree = a == b || (std::isnan(a) && std::isnan(b));
    if (agree && b == 0 && compares_zeros) {
      agree = std::signbit(a) == std::signbit(b);
    }
    if (a != b && is_floating(expected.dtype()) && std::isfinite(a) &&
        std::isfinite(b)) {
      agree = std::fabs(a - b) <=
              4 * epsilon * std::fabs(b) + slack(c.op(), expected.dtype());
    }
    ASSERT_TRUE(agree) << "element " << i << " is " << a << ", not " << b
                       << ", of" << describe(c.inputs(), i);
  }
}

// Ops that add up many elements are held to this. What is NaN must show, and
// what is infinite must not look finite; but an infinity may become NaN, since
// the order of operations decides whether infinities meet. `may_spread`:
// oneDNN's kernels of bf16 take channels in pairs and multiply what lies beside
// them by 0, so that infinity and NaN reach neighbours.
void expect_as_loud(const Tensor& actual, const Tensor& expected, double length,
                    bool may_spread) {
  const Tensor calm = actual.clone();
  for (std::int64_t i = 0; is_floating(actual.dtype()) && i < actual.size();
       ++i) {
    const double b = expected.item(i);
    const bool may_be_nan = std::isinf(b) || may_spread;
    if (may_be_nan && std::isnan(actual.item(i))) put(calm, i, b);
  }
  // How near they come is for other tests to say: singular vectors make ten
  // times more of their rounding where two values nearly meet.
  constexpr double kLoose = 100;
  expect_close(calm, expected, kLoose * length);
}

bool may_spread(const OpCase& c, std::string_view kernel) {
  return kernel.starts_with("onednn") &&
         std::ranges::any_of(c.input_types(), [](const TensorType& type) {
           return type.dtype == DType::kBF16;
         });
}

// Calls body(kernel name, results) for each kernel that takes the case.
template <class Body>
void for_each_kernel(const OpCase& c, Body&& body) {
  for (const auto& candidate : kernel_registry().candidates(c.op().name())) {
    if (candidate.declines && candidate.declines(c.call())) continue;
    SCOPED_TRACE(candidate.name);
    const auto kernel = candidate.prepare(c.call());
    body(candidate.name, run_guarded(*kernel, c.inputs(), c.output_types()));
  }
}

// The dtypes to try for each operand: one for all that are not bool.
std::vector<DType> operand_dtypes(const OpCase& c, DType dtype) {
  std::vector<DType> dtypes;
  for (const TensorType& type : c.input_types()) {
    const bool is_condition = type.dtype == DType::kBool;
    dtypes.push_back(is_condition ? type.dtype : dtype);
  }
  return dtypes;
}

// None where inference refuses the dtypes. What references and kernels throw is
// no refusal, and so fails the test.
std::optional<OpCase> case_of(const OpDef& op, const OpSample& sample,
                              std::uint64_t seed) {
  try {
    return OpCase(op, sample, seed);
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(Kernels, TakeEverySpecialNumberAsTheReferenceDoes) {
  std::set<std::string> seen;
  int compared = 0;
  for_each_case([&](const OpCase& c) {
    if (!c.op().has(kElementwise) || c.op().reference() == nullptr) return;
    for (const DType dtype : kAll) {
      const auto dtypes = operand_dtypes(c, dtype);
      std::string key = c.op().name() + to_string(c.attributes());
      for (const DType one : dtypes) key += to_string(one);
      if (!seen.insert(key).second) continue;
      const auto operands = all_combinations(dtypes);
      OpSample sample{{}, c.attributes()};
      for (const Tensor& operand : operands) {
        sample.inputs.push_back({operand.type()});
      }
      const auto taken = case_of(c.op(), sample, 1);
      if (!taken) continue;
      const OpCase all = taken->with_inputs(operands);
      SCOPED_TRACE(all.text());
      const auto expected = all.reference();
      for_each_kernel(all,
                      [&](std::string_view, const std::vector<Tensor>& actual) {
                        expect_same(all, actual[0], expected[0], true);
                        ++compared;
                      });
    }
  });
  EXPECT_GT(compared, 100);
}

// `count` elements of a floating tensor become NaN, infinities and zeros.
Tensor with_specials(const Tensor& tensor, std::uint64_t seed) {
  constexpr std::array kSpecials{kNan, kInfinity, -kInfinity, 0.0, -0.0};
  if (!is_floating(tensor.dtype()) || tensor.size() == 0) return tensor;
  const RandomStream random{seed, 0, 0};
  std::uint64_t next = 0;
  const auto draw = [&](std::uint64_t count) {
    return random.word(next++) % count;
  };
  Tensor result = tensor.clone();
  const std::uint64_t count = 1 + draw(3);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto place = draw(static_cast<std::uint64_t>(tensor.size()));
    put(result, static_cast<std::int64_t>(place),
        kSpecials[draw(kSpecials.size())]);
  }
  return result;
}

TEST(Kernels, LetNanAndInfinityThrough) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 3 * rounds(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    for_each_case([&](const OpCase& c) {
      if (c.op().has(kElementwise) || c.op().reference() == nullptr) return;
      for (const DType dtype : kFloats) {
        const auto plain = case_of(c.op(), c.in_dtype(dtype), seed * 1000);
        if (!plain) continue;
        std::vector<Tensor> inputs;
        for (const Tensor& input : plain->inputs()) {
          inputs.push_back(with_specials(input, seed + 7 * inputs.size()));
        }
        const OpCase special = plain->with_inputs(inputs);
        SCOPED_TRACE(special.text());
        const auto expected = special.reference();
        for_each_kernel(special, [&](std::string_view kernel,
                                     const std::vector<Tensor>& actual) {
          for (std::size_t i = 0; i < expected.size(); ++i) {
            expect_as_loud(actual[i], expected[i], special.reduction_length(),
                           may_spread(special, kernel));
          }
          ++compared;
        });
      }
    });
  }
  EXPECT_GT(compared, 100);
}

// The bits of a narrow dtype are tried all, those of a wide one at random.
Tensor bits_of(DType dtype, std::uint64_t seed) {
  const std::size_t width = size_of(dtype);
  const std::int64_t size = width == 1 ? 256 : 65536;
  Tensor result = Tensor::empty({dtype, {size}});
  const RandomStream random{seed, 0, 0};
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    std::uint64_t bits = at;
    if (width > 2) {
      bits = std::uint64_t{random.word(2 * at + 1)} << 32 | random.word(2 * at);
    }
    // Random bits are mostly far outside of other dtypes: shift some down.
    if (width > 2 && !is_floating(dtype)) bits >>= at % (8 * width);
    if (width == 8 && dtype == DType::kI64 && at % 2 == 1) bits = -bits;
    if (dtype == DType::kBool) bits &= 1;
    std::memcpy(static_cast<std::byte*>(result.raw()) + at * width, &bits,
                width);
  }
  return result;
}

TEST(Kernels, CastTheWholeRangeAsTheReferenceDoes) {
  const OpDef& op = op_registry().get("cast");
  for (std::uint64_t seed = 0; seed < rounds(); ++seed) {
    for (const DType from : kAll) {
      const Tensor bits = bits_of(from, seed);
      for (const DType to : kAll) {
        const OpSample sample{{{bits.type()}}, {{"dtype", to}}};
        const OpCase c = OpCase(op, sample, 1).with_inputs({bits});
        SCOPED_TRACE(fmt::format("{} of seed {}", c.text(), seed));
        const auto expected = c.reference();
        for_each_kernel(
            c, [&](std::string_view, const std::vector<Tensor>& actual) {
              for (std::int64_t i = 0; i < bits.size(); ++i) {
                const double a = actual[0].item(i);
                const double b = expected[0].item(i);
                ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
                    << bits.item(i) << " becomes " << a << ", not " << b;
              }
            });
      }
    }
  }
}

bool is_named_for_indices(const std::string& operand) {
  return operand == "indices" || operand == "labels" || operand == "starts";
}

// Indices of which some lie far outside of their axes, the first one just so.
Tensor wild_indices(const Tensor& indices,
                    const std::vector<IndexedAxis>& axes) {
  constexpr std::array kPlaces{0.0, -1.0, 1.5, -1.5, 1e9, -1e9};
  Tensor result = indices.clone();
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const auto n = static_cast<std::size_t>(i);
    const double place = kPlaces[n % kPlaces.size()];
    const auto size = static_cast<double>(axes[n % axes.size()].size);
    put(result, i, std::trunc(std::fabs(place) > 2 ? place : place * size));
  }
  put(result, 0, static_cast<double>(axes[0].size - axes[0].count + 1));
  return result;
}

// An operand that is named for indices has a rule, so that it is looked at; and
// no kernel reads or writes elsewhere when nobody looks.
TEST(Kernels, ClampIndicesThatTheCheckRefuses) {
  for_each_case([](const OpCase& c) {
    if (c.op().reference() == nullptr) return;  // what it lowers to is here
    const auto operand = index_operand(c.call());
    for (std::size_t i = 0; i < c.inputs().size(); ++i) {
      EXPECT_EQ(is_named_for_indices(c.op().input_name(i)),
                operand.has_value() && operand->input == i);
    }
    if (!operand) return;
    std::vector<Tensor> inputs = c.inputs();
    Tensor& indices = inputs[operand->input];
    if (indices.size() == 0) return;
    indices = wild_indices(indices, operand->axes);
    const OpCase wild = c.with_inputs(inputs);
    EXPECT_THROW((*IndexCheck::of(wild.call()))(indices.raw()), IndexError);
    const auto expected = wild.reference();
    // What is clamped meets at the ends of an axis, where one sum has it all.
    const double length =
        std::max(wild.reduction_length(), static_cast<double>(indices.size()));
    for_each_kernel(wild,
                    [&](std::string_view, const std::vector<Tensor>& actual) {
                      for (std::size_t i = 0; i < expected.size(); ++i) {
                        expect_close(actual[i], expected[i], length);
                      }
                    });
  });
}

}  // namespace
}  // namespace weft::testing::special_values_test
