#include "weft/optim/total_momentum.h"

#include <algorithm>
#include <limits>

#include "weft/base/philox.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/dynamic_slice.h"
#include "weft/ops/index.h"
#include "weft/ops/join.h"
#include "weft/ops/reduce.h"
#include "weft/ops/rounding.h"
#include "weft/ops/shape.h"
#include "weft/ops/sort.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// A move that is smaller says nothing in f32.
constexpr double kLeastMove = 1e-30;

// The same elements whoever asks: of all parameters in a row, sorted.
std::vector<std::int64_t> random_elements(std::int64_t count,
                                          std::int64_t size) {
  const RandomStream random{.seed = 1, .stream = 0x7F1, .step = 0};
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto word = static_cast<std::uint64_t>(2 * i);
    const std::uint64_t wide =
        std::uint64_t{random.word(word)} << 32 | random.word(word + 1);
    elements.push_back(
        static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(size)));
  }
  std::ranges::sort(elements);
  return elements;
}

Value as_index(const Value& number) { return cast(number, DType::kI64); }

// The median of the first `count` of sorted values, f64[] each.
Value median(const Value& sorted, const Value& count) {
  const Value zero = scalar_like(count, 0);
  const Value below = maximum(floor((count - 1.0) / 2.0), zero);
  const Value above = floor(count / 2.0);
  // Without any, what is picked here is not used.
  return (gather(sorted, as_index(below)) + gather(sorted, as_index(above))) *
         0.5;
}

}  // namespace

std::vector<Slot> TotalMomentum::slots() const {
  return {{"moves", {DType::kF32, {rows_, elements_}}},
          {"rates", {DType::kF32, {rows_}}}};
}

// Gradients and directions of the elements, f32[elements] each.
std::vector<Value> TotalMomentum::picked(std::span<const Move> made) const {
  std::int64_t size = 0;
  for (const Move& move : made) size += move.gradient.shape().num_elements();
  const auto elements = random_elements(elements_, size);
  std::vector<Value> gradients;
  std::vector<Value> directions;
  std::int64_t begin = 0;
  auto next = elements.begin();
  for (const Move& move : made) {
    const std::int64_t end = begin + move.gradient.shape().num_elements();
    std::vector<std::int64_t> own;
    for (; next != elements.end() && *next < end; ++next) {
      own.push_back(*next - begin);
    }
    begin = end;
    if (own.empty()) continue;
    const Value places = Tensor::of<std::int64_t>(
        {static_cast<Dim>(own.size())}, std::span<const std::int64_t>(own));
    const auto pick = [&](const Value& values) {
      return to_dtype(gather(reshape(values, {-1}), places), DType::kF32);
    };
    gradients.push_back(pick(move.gradient));
    directions.push_back(pick(move.direction));
  }
  return {concat(gradients, 0), concat(directions, 0)};
}

TotalMomentum::Estimate TotalMomentum::measure(std::span<const Move> made,
                                               const Value& rate,
                                               const StepTime& time,
                                               std::span<Value> own) const {
  const std::vector<Value> now = picked(made);
  const Value& gradient = now[0];
  const Value move = now[1] * -rate;
  // Rows are those of the last updates, in a ring.
  const Value number = time.number;
  const Value rows = scalar_like(number, static_cast<double>(rows_));
  const auto row_of = [&](const Value& update) {
    return as_index(remainder(update, rows));
  };
  const Value now_row = reshape(row_of(number), {1});
  const Value zero = zeros_like(now_row);
  own[0] = dynamic_update_slice(own[0], reshape(move, {1, elements_}),
                                concat(std::vector{now_row, zero}, 0));
  own[1] = dynamic_update_slice(own[1], reshape(rate, {1}), now_row);

  const Value late =
      time.late.is_defined() ? time.late : scalar_like(number, 0);
  const Value then = number - late;
  const Value after = gather(own[0], row_of(then));
  const Value before = gather(own[0], row_of(then - 1.0));
  const Value has_moved = greater(abs(before), scalar_like(before, kLeastMove));
  const Value ratio = (after + gather(own[1], row_of(then)) * gradient) /
                      where(has_moved, before, ones_like(before));
  const Value count = sum(cast(has_moved, DType::kF64));
  constexpr double kBehindAll = std::numeric_limits<float>::max();
  const Value sorted =
      sort(where(has_moved, ratio, scalar_like(ratio, kBehindAll))).first;
  const Value is_known = logical_and(
      less_equal(late, scalar_like(late, static_cast<double>(rows_ - 2))),
      greater(count, scalar_like(count, 0)));
  // Where hardly anything moves, quotients are noise of any size: none counts
  // for more than parameters that go on as they are, or back, for ever.
  const Value found = clamp(median(sorted, count), -1, 1);
  return {cast(found, DType::kF64), is_known};
}

}  // namespace weft
