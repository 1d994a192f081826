// Stacks of matrices, as kernels take them that factor them: shared out over
// the threads, and each matrix computed on one, so that sums have one order.
//
// Threads: safe from any.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"

namespace weft {

// Stacks of matrices are cut into so many tasks, each with memory of its own;
// their number must not depend on that of the threads.
inline constexpr std::int64_t kMostMatrixTasks = 64;

struct Sides {
  std::int64_t rows, columns, count;

  explicit Sides(const TensorType& type)
      : rows(type.shape[type.shape.rank() - 2]),
        columns(type.shape.back()),
        count(product(type.shape.first(type.shape.rank() - 2))) {}
  std::int64_t size() const { return rows * columns; }
};

// Says what is no matrix of numbers here: other dtypes than f32 and f64, and
// empty operands.
inline std::optional<std::string> declines_matrices(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return fmt::format("computes in f32 and f64, not in {}", to_string(dtype));
  }
  for (const TensorType& type : call.inputs) {
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  return std::nullopt;
}

// Calls body(i, number of the task) for each matrix of a stack.
template <class Body>
void for_each_matrix(std::int64_t count, std::int64_t least_per_thread,
                     Body&& body) {
  // Matrices are dealt out by number, so that each task's memory serves one
  // matrix after another.
  const std::int64_t tasks = std::min(count, kMostMatrixTasks);
  parallel_for(tasks, 1 + least_per_thread * tasks / count,
               [&](std::int64_t begin, std::int64_t end) {
                 const OnOneThread on_one_thread;
                 for (std::int64_t task = begin; task < end; ++task) {
                   for (std::int64_t i = task; i < count; i += tasks) {
                     body(i, task);
                   }
                 }
               });
}

// How many matrices of these sides are worth a thread.
inline std::int64_t least_matrices(const Sides& sides) {
  // Factoring takes about as many products as a matrix has elements, times its
  // columns.
  constexpr std::int64_t kLeastProducts = 1 << 15;
  return kLeastProducts / (sides.size() * sides.columns + 1);
}

// A single matrix shares its work out itself, and so do large ones, one after
// another: memory for each task would take more than they are worth. `bytes` is
// what one takes.
inline bool are_shared_within(const Sides& sides, std::int64_t bytes) {
  constexpr std::int64_t kLargeBytes = 1 << 20;
  return sides.count == 1 || bytes > kLargeBytes;
}

// Memory for the matrices that are under way at once.
inline std::size_t matrix_scratch_bytes(const Sides& sides,
                                        std::int64_t bytes) {
  const std::int64_t tasks = are_shared_within(sides, bytes)
                                 ? 1
                                 : std::min(sides.count, kMostMatrixTasks);
  return at(tasks * bytes);
}

// Calls body(i, number of the task) for each matrix: each on one thread, or one
// after another, where body() shares its own work out.
template <class Body>
void for_each_or_within(const Sides& sides, std::int64_t bytes, Body&& body) {
  if (!are_shared_within(sides, bytes)) {
    return for_each_matrix(sides.count, least_matrices(sides), body);
  }
  for (std::int64_t i = 0; i < sides.count; ++i) body(i, std::int64_t{0});
}

// Elements between rows that hold so many: an odd number of cache lines, as a
// column of rows that are a power of 2 apart shares few places in a cache.
template <class T>
std::int64_t odd_lines(std::int64_t numbers) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  return ((numbers + kLine - 1) / kLine | 1) * kLine;
}

// Calls body(i, j) for each element of a [rows, columns], tile by tile: what is
// read by rows and written by columns stays in the first-level cache.
template <class Body>
void for_each_by_tiles(std::int64_t rows, std::int64_t columns, Body&& body) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t row = 0; row < rows; row += kTile)
    for (std::int64_t column = 0; column < columns; column += kTile)
      for (std::int64_t i = row; i < std::min(rows, row + kTile); ++i)
        for (std::int64_t j = column; j < std::min(columns, column + kTile);
             ++j) {
          body(i, j);
        }
}

}  // namespace weft
