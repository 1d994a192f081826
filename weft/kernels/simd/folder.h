// What reductions fold with: functions of one op and dtype for the instruction
// set of the machine. Nothing else of a reduction is compiled for each of them;
// a call folds up to thousands of elements.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "weft/graph/kernel.h"

namespace weft {

enum class Fold { kSum, kProduct, kMax, kMin, kAny, kAll };

struct Folder {
  // Totals that are folded at once, at most.
  static constexpr std::int64_t kMostTotals = 1024;

  std::size_t element_bytes;
  std::size_t total_bytes;  // of an accumulator, at most 8
  // Sets totals to what folds into nothing.
  void (*clear)(void* totals, std::int64_t count) noexcept;
  // A contiguous run, into one total.
  void (*run)(const void* x, std::int64_t size, void* total) noexcept;
  // `rows` rows of `width` elements, `stride` apart, into as many totals.
  void (*rows)(const void* x, std::int64_t rows, std::int64_t stride,
               std::int64_t width, void* totals) noexcept;
  // The same of rows that lie end to end, where kMostTotals holds several.
  void (*narrow_rows)(const void* x, std::int64_t rows, std::int64_t width,
                      void* totals) noexcept;
  // Totals, into other totals.
  void (*totals)(const void* from, std::int64_t count, void* to) noexcept;
  // Totals over the divisor, as elements. Those of integers are not divided:
  // inference refuses their mean.
  void (*finish)(const void* totals, std::int64_t count, double divisor,
                 void* y) noexcept;
  // Each of `rows` rows that lie end to end, as one element.
  void (*each_row)(const void* x, std::int64_t rows, std::int64_t size,
                   double divisor, void* y) noexcept;
};

// Takes the dtypes that declines_fold() lets pass; kAny and kAll take bools.
Folder folder_of(Fold fold, DType dtype);

// Declines dtypes without vectors, and nothing to compute.
std::optional<std::string> declines_fold(const OpCall& call);

}  // namespace weft
