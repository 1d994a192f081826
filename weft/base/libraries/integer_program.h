// Linear programs, also with whole numbers, by HiGHS (Huangfu and Hall, 2018).
// tools/highs.sh brings it into build/highs; it is loaded when it is first
// asked for. WEFT_HIGHS names another file.
//
// Threads: pure functions; solve() computes on threads of HiGHS's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// The largest sum of value times x, where lower <= x <= upper and each row's
// sum of coefficient times x is within its bounds. Bounds may be infinite.
struct IntegerProgram {
  struct Column {
    double value = 0;
    double lower = 0;
    double upper = 1;
    bool is_whole = true;
  };
  struct Entry {
    std::int32_t column = 0;
    double coefficient = 0;
  };
  struct Row {
    std::vector<Entry> entries;
    double lower = 0;
    double upper = 0;
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct IntegerSolution {
  std::vector<double> x;
  double value = 0;
  double bound = 0;         // no x is above it
  bool is_optimal = false;  // or the seconds were over
};

struct SolveLimits {
  double seconds = 60;
  double gap = 0;  // between value and bound, over the value, that is enough
};

// Throws Error(kUnavailable) where HiGHS is not there, saying how to get it;
// Error(kInvalidArgument) for a program that no x or no largest one satisfies;
// Error(kExhausted) where the seconds were over and no x was found.
IntegerSolution solve(const IntegerProgram& program, const SolveLimits& limits);

}  // namespace weft
