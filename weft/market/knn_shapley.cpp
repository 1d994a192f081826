#include "weft/market/knn_shapley.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/parallel.h"

namespace weft::market {
namespace {

// Test points that are valued together: partial sums are added in the order of
// the blocks, so that the number of threads changes no bit.
constexpr std::int64_t kTestBlock = 32;
constexpr std::int64_t kBlocksAtOnce = 64;

Error bad_points(std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, "knn_shapley", "{}", what);
}

void check_points(const LabelledPoints& train, const LabelledPoints& test,
                  std::int64_t neighbours) {
  if (train.size() == 0 || test.size() == 0) {
    throw bad_points("there are no points to value, or none to test with");
  }
  if (train.width != test.width ||
      std::ssize(train.values) != train.size() * train.width ||
      std::ssize(test.values) != test.size() * test.width) {
    throw bad_points("points have different numbers of values");
  }
  if (neighbours < 1) throw bad_points("there is no neighbour to ask");
}

float squared_distance_of(const float* a, const float* b, std::int64_t width) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < width; ++i) {
    const float difference = a[i] - b[i];
    sum += difference * difference;
  }
  return sum;
}

// Distances and numbers in one word, which sorts as a whole: squares are never
// negative, so that their bits are ordered as they are, and equal ones go by
// number.
std::uint64_t nearness(float distance, std::int64_t row) {
  std::uint32_t bits;
  std::memcpy(&bits, &distance, sizeof bits);
  return std::uint64_t{bits} << 32 | static_cast<std::uint64_t>(row);
}

std::int64_t row_in(std::uint64_t word) {
  return static_cast<std::int64_t>(word & 0xffff'ffff);
}

// Sorts by the least significant digit first, in time that does not depend on
// the order. Numbers are in order already, so that the four bytes of the
// distance suffice.
void sort_by_distance(std::vector<std::uint64_t>& words,
                      std::vector<std::uint64_t>& room) {
  room.resize(words.size());
  constexpr int kBits = 11;
  constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  for (int shift = 32; shift < 64; shift += kBits) {
    std::array<std::uint32_t, kBuckets> ends{};
    for (const std::uint64_t word : words) {
      ++ends[word >> shift & (kBuckets - 1)];
    }
    std::uint32_t begin = 0;
    for (std::uint32_t& end : ends) begin += std::exchange(end, begin);
    for (const std::uint64_t word : words) {
      room[ends[word >> shift & (kBuckets - 1)]++] = word;
    }
    std::swap(words, room);
  }
}

void order_by_distance(const LabelledPoints& train, const float* point,
                       std::vector<std::uint64_t>& words,
                       std::vector<std::uint64_t>& room) {
  words.resize(static_cast<std::size_t>(train.size()));
  for (std::int64_t i = 0; i < train.size(); ++i) {
    const float distance = squared_distance_of(
        train.values.data() + i * train.width, point, train.width);
    words[static_cast<std::size_t>(i)] = nearness(distance, i);
  }
  sort_by_distance(words, room);
}

// Adds the values for one test point to `sums`.
void add_values(const LabelledPoints& train, std::int32_t label,
                const std::vector<std::uint64_t>& order,
                const KnnShapleyOptions& options, std::span<double> sums) {
  const auto size = train.size();
  const auto k = static_cast<double>(options.neighbours);
  const auto matches = [&](std::int64_t place) {
    const std::int64_t row = row_in(order[static_cast<std::size_t>(place - 1)]);
    return train.labels[static_cast<std::size_t>(row)] == label ? 1.0 : 0.0;
  };
  const auto nearest = [&](std::int64_t place) {
    return static_cast<double>(std::min(options.neighbours, place));
  };
  double match = matches(size);
  double value = options.begins_at_zero
                     ? 0
                     : match * nearest(size) / (static_cast<double>(size) * k);
  for (std::int64_t i = size;; --i) {
    sums[static_cast<std::size_t>(
        row_in(order[static_cast<std::size_t>(i - 1)]))] += value;
    if (i == 1) return;
    const double before = matches(i - 1);
    value += (before - match) / k * nearest(i - 1) / static_cast<double>(i - 1);
    match = before;
  }
}

}  // namespace

std::vector<double> knn_shapley(const LabelledPoints& train,
                                const LabelledPoints& test,
                                const KnnShapleyOptions& options) {
  check_points(train, test, options.neighbours);
  const auto size = static_cast<std::size_t>(train.size());
  const std::int64_t blocks = (test.size() + kTestBlock - 1) / kTestBlock;
  std::vector<double> values(size);
  // A few blocks at a time, as each has sums of its own.
  for (std::int64_t begin = 0; begin < blocks; begin += kBlocksAtOnce) {
    const std::int64_t count = std::min(kBlocksAtOnce, blocks - begin);
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(count));
    parallel_for(count, 1, [&](std::int64_t from, std::int64_t to) {
      std::vector<std::uint64_t> order;
      std::vector<std::uint64_t> room;
      for (std::int64_t block = from; block < to; ++block) {
        auto& own = sums[static_cast<std::size_t>(block)];
        own.assign(size, 0.0);
        const std::int64_t first = (begin + block) * kTestBlock;
        const std::int64_t last = std::min(first + kTestBlock, test.size());
        for (std::int64_t i = first; i < last; ++i) {
          order_by_distance(train, test.values.data() + i * test.width, order,
                            room);
          add_values(train, test.labels[static_cast<std::size_t>(i)], order,
                     options, own);
        }
      }
    });
    for (const auto& own : sums) {
      for (std::size_t i = 0; i < size; ++i) values[i] += own[i];
    }
  }
  for (double& value : values) value /= static_cast<double>(test.size());
  return values;
}

std::vector<double> cross_validated_knn_shapley(
    const LabelledPoints& points, std::int64_t folds,
    const KnnShapleyOptions& options) {
  if (folds < 2 || points.size() < folds) {
    throw bad_points(
        fmt::format("{} points do not make {} folds", points.size(), folds));
  }
  std::vector<double> values(static_cast<std::size_t>(points.size()));
  for (std::int64_t fold = 0; fold < folds; ++fold) {
    std::vector<float> parts[2];  // to be valued, and to test with
    std::vector<std::int32_t> labels[2];
    std::vector<std::size_t> valued;
    for (std::int64_t i = 0; i < points.size(); ++i) {
      const int part = i % folds == fold ? 1 : 0;
      const auto row =
          points.values.subspan(static_cast<std::size_t>(i * points.width),
                                static_cast<std::size_t>(points.width));
      parts[part].insert(parts[part].end(), row.begin(), row.end());
      labels[part].push_back(points.labels[static_cast<std::size_t>(i)]);
      if (part == 0) valued.push_back(static_cast<std::size_t>(i));
    }
    const std::vector<double> of_fold =
        knn_shapley({parts[0], labels[0], points.width},
                    {parts[1], labels[1], points.width}, options);
    for (std::size_t i = 0; i < valued.size(); ++i) {
      values[valued[i]] += of_fold[i] / static_cast<double>(folds - 1);
    }
  }
  return values;
}

double knn_utility(const LabelledPoints& train, const LabelledPoints& test,
                   std::span<const std::int64_t> rows,
                   std::int64_t neighbours) {
  check_points(train, test, neighbours);
  std::vector<std::uint64_t> words(rows.size());
  const auto nearest =
      std::min(static_cast<std::size_t>(neighbours), rows.size());
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < test.size(); ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      words[j] = nearness(
          squared_distance_of(train.values.data() + rows[j] * train.width,
                              test.values.data() + i * test.width, train.width),
          rows[j]);
    }
    std::nth_element(words.begin(),
                     words.begin() + static_cast<std::ptrdiff_t>(nearest),
                     words.end());
    for (std::size_t j = 0; j < nearest; ++j) {
      right += train.labels[static_cast<std::size_t>(row_in(words[j]))] ==
                       test.labels[static_cast<std::size_t>(i)]
                   ? 1
                   : 0;
    }
  }
  return static_cast<double>(right) /
         (static_cast<double>(neighbours) * static_cast<double>(test.size()));
}

}  // namespace weft::market
