// The kernels of LAPACK's factors: each matrix of a stack, in the dtype of the
// operand. The methods are backward stable, so that results are exact for an
// operand that is off by roundings of its largest numbers.
//
// A factoring takes a matrix by rows and gives its results by rows. It is made
// for matrices of one size:
//   explicit Factoring(const Sides&);
//   // Of how many numbers and integers of memory it works in.
//   std::int64_t numbers() const, integers() const;
//   // False where LAPACK finds no factors.
//   bool run(const T* a, T* const* results, Pieces<T> memory,
//            lapack_int* integers) const;
//
// Threads: kernels are as PreparedKernel says; all else is safe from any.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/index.h"
#include "weft/kernels/cpu/matrix_stacks.h"
#include "weft/kernels/libraries/lapack.h"
#include "weft/ops/support/factors.h"

namespace weft {

// Memory for the factors of one matrix, handed out piece by piece.
template <class T>
class Pieces {
 public:
  explicit Pieces(T* begin) : next_(begin) {}
  T* take(std::int64_t size) {
    next_ += size;
    return next_ - size;
  }

 private:
  T* next_;
};

inline lapack_int to_lapack(std::int64_t n) {
  return static_cast<lapack_int>(n);
}

// LAPACK tells the best size of its memory in the first number of it. It is
// asked in f64, as f32 cannot hold the sizes of large matrices; they are the
// same.
template <class Ask>
std::int64_t asked(Ask&& ask) {
  double size = 0;
  // A size of -1 asks LAPACK for the best size of its memory, and computes
  // nothing.
  WEFT_CHECK(ask(&size, lapack_int{-1}) == 0, "LAPACK refuses the sizes");
  return static_cast<std::int64_t>(size);
}

// Factors each matrix of a stack.
template <class T, class Factoring>
class FactorKernel final : public PreparedKernel {
 public:
  explicit FactorKernel(const OpCall& call)
      : sides_(call.input(0)), factoring_(sides_) {
    for (const TensorType& type : call.outputs) {
      results_.push_back(type.shape.num_elements() / sides_.count);
    }
  }

  // There is memory for each task and not for each thread, as the number of
  // threads may change between runs.
  std::size_t scratch_bytes() const override {
    return at(std::min(sides_.count, kMostMatrixTasks) * task_bytes());
  }

  void run(const KernelBuffers& buffers) noexcept override {
    // A single one may share its work out itself.
    if (sides_.count == 1) {
      return factor(buffers, 0, static_cast<std::byte*>(buffers.scratch));
    }
    for_each_matrix(sides_.count, least_matrices(sides_),
                    [&](std::int64_t i, std::int64_t task) {
                      factor(buffers, i,
                             static_cast<std::byte*>(buffers.scratch) +
                                 task * task_bytes());
                    });
  }

 private:
  static constexpr std::int64_t kCacheLine = 64;

  std::int64_t number_bytes() const {
    return factoring_.numbers() * static_cast<std::int64_t>(sizeof(T));
  }
  // Each task's numbers are aligned.
  std::int64_t task_bytes() const {
    const std::int64_t bytes =
        number_bytes() +
        factoring_.integers() * static_cast<std::int64_t>(sizeof(lapack_int));
    return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  }

  void factor(const KernelBuffers& buffers, std::int64_t i,
              std::byte* memory) const {
    const T* a = input_of<T>(buffers, 0) + i * sides_.size();
    T* results[3] = {};
    for (std::size_t n = 0; n < results_.size(); ++n) {
      results[n] = output_of<T>(buffers, n) + i * results_[n];
    }
    // LAPACK does not say what it makes of numbers that are not finite; the op
    // says NaN.
    const bool has_factors =
        is_all_finite(std::span<const T>(a, at(sides_.size()))) &&
        factoring_.run(a, results, Pieces<T>(reinterpret_cast<T*>(memory)),
                       reinterpret_cast<lapack_int*>(memory + number_bytes()));
    if (has_factors) return;
    for (std::size_t n = 0; n < results_.size(); ++n) {
      std::fill_n(results[n], results_[n], std::numeric_limits<T>::quiet_NaN());
    }
  }

  Sides sides_;
  Factoring factoring_;
  std::vector<std::int64_t> results_;  // the size of each, of one matrix
};

template <template <class> class Factoring>
std::unique_ptr<PreparedKernel> prepare_factors(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) {
    return std::make_unique<FactorKernel<double, Factoring<double>>>(call);
  }
  return std::make_unique<FactorKernel<float, Factoring<float>>>(call);
}

// LAPACK counts elements with 32 bits.
inline std::optional<std::string> lapack_declines(const OpCall& call) {
  if (auto reason = declines_matrices(call)) return reason;
  if (Sides(call.input(0)).size() > std::numeric_limits<lapack_int>::max()) {
    return "a matrix has too many elements";
  }
  return std::nullopt;
}

// Four of its squares are what gesdd works in, and one what stedc does; they
// count them with 32 bits.
inline constexpr std::int64_t kMostDivided = 23'000;

inline std::optional<std::string> divide_and_conquer_declines(
    const OpCall& call) {
  if (auto reason = lapack_declines(call)) return reason;
  const Sides sides(call.input(0));
  if (std::min(sides.rows, sides.columns) > kMostDivided) {
    return fmt::format(
        "more than {} rows and columns need a workspace of too many numbers",
        kMostDivided);
  }
  return std::nullopt;
}

}  // namespace weft
