// Factors of matrices by LAPACK. Stacks of matrices are shared out over the
// threads, and each matrix is factored on one, so that sums have one order.
//
// QR, eigenvalues and singular values are computed in f64 also where operands
// are f32: their errors grow as numbers come close to each other.
#include <algorithm>
#include <cblas.h>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/libraries/lapack.h"
#include "weft/ops/support/factors.h"

namespace weft {
namespace {

// OpenBLAS takes as many threads as OpenMP would.
class OnOneThread {
 public:
  OnOneThread() : before_(thread_count()) { set_thread_count(1); }
  ~OnOneThread() { set_thread_count(before_); }
  OnOneThread(const OnOneThread&) = delete;
  OnOneThread& operator=(const OnOneThread&) = delete;

 private:
  int before_;
};

// Stacks of matrices are cut into so many tasks, each with memory of its own;
// their number must not depend on that of the threads.
constexpr std::int64_t kMostMatrixTasks = 64;

struct Sides {
  std::int64_t rows, columns, count;

  explicit Sides(const TensorType& type)
      : rows(type.shape[type.shape.rank() - 2]),
        columns(type.shape.back()),
        count(product(type.shape.first(type.shape.rank() - 2))) {}
  std::int64_t size() const { return rows * columns; }
};

// Four of its squares are what gesdd works in, and two what syevd does; they
// count them with 32 bits.
constexpr std::int64_t kMostFactored = 23'000;

std::optional<std::string> linalg_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return fmt::format("computes in f32 and f64, not in {}", to_string(dtype));
  }
  for (const TensorType& type : call.inputs) {
    if (type.shape.num_elements() == 0) return "an operand is empty";
    // LAPACK counts with 32 bits here.
    if (Sides(type).size() > std::numeric_limits<lapack_int>::max()) {
      return "a matrix has too many elements";
    }
  }
  const Sides sides(call.input(0));
  const bool has_workspace =
      call.op.name() == "svd" || call.op.name() == "eigh";
  if (has_workspace && std::min(sides.rows, sides.columns) > kMostFactored) {
    return fmt::format(
        "more than {} rows and columns need a workspace of too "
        "many numbers",
        kMostFactored);
  }
  return std::nullopt;
}

lapack_int to_lapack(std::int64_t n) { return static_cast<lapack_int>(n); }

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
std::int64_t least_matrices(const Sides& sides) {
  // Factoring takes about as many products as a matrix has elements, times its
  // columns.
  constexpr std::int64_t kLeastProducts = 1 << 15;
  return kLeastProducts / (sides.size() * sides.columns + 1);
}

// In memory by columns the upper triangle is, by rows, the lower one.
template <class T>
lapack_int factor_upper(lapack_int n, T* a) {
  return lapack::potrf('U', n, a);
}

template <class T>
void cholesky_of_matrix(std::int64_t n, const T* a, T* l) {
  // x · 0 is NaN for what is not finite, so that one sum tells in the same pass
  // whether anything is.
  T spoiled = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T mean = (a[i * n + j] + a[j * n + i]) / 2;
      l[i * n + j] = j <= i ? mean : 0;
      spoiled += mean * 0;
    }
  if (spoiled == 0 && factor_upper(to_lapack(n), l) == 0) return;
  std::fill_n(l, n * n, std::numeric_limits<T>::quiet_NaN());
}

template <class T>
std::unique_ptr<PreparedKernel> make_cholesky(const OpCall& call) {
  const Sides sides(call.input(0));
  return make_kernel([=](const KernelBuffers& buffers) {
    for_each_matrix(
        sides.count, least_matrices(sides), [&](std::int64_t i, std::int64_t) {
          cholesky_of_matrix(sides.rows,
                             input_of<T>(buffers, 0) + i * sides.size(),
                             output_of<T>(buffers, 0) + i * sides.size());
        });
  });
}

struct Triangle {
  CBLAS_UPLO half;
  CBLAS_TRANSPOSE transpose;
  CBLAS_DIAG diagonal;
};

void solve(const Triangle& t, lapack_int n, lapack_int m, const float* a,
           float* b) {
  cblas_strsm(CblasRowMajor, CblasLeft, t.half, t.transpose, t.diagonal, n, m,
              1, a, n, b, m);
}
void solve(const Triangle& t, lapack_int n, lapack_int m, const double* a,
           double* b) {
  cblas_dtrsm(CblasRowMajor, CblasLeft, t.half, t.transpose, t.diagonal, n, m,
              1, a, n, b, m);
}

// OpenBLAS lets what is not finite in one column reach those beside it: then
// the rows are substituted one by one.
template <class T>
void solve_matrix(const Triangle& t, const Sides& sides, const T* a, const T* b,
                  T* x) {
  // BLAS solves in place, and b must stay.
  std::copy_n(b, sides.size(), x);
  solve(t, to_lapack(sides.rows), to_lapack(sides.columns), a, x);
  if (std::all_of(x, x + sides.size(), [](T n) { return std::isfinite(n); })) {
    return;
  }
  std::copy_n(b, sides.size(), x);
  substitute_rows(sides.rows, sides.columns, a, x, t.half == CblasLower,
                  t.transpose == CblasTrans, t.diagonal == CblasUnit);
}

template <class T>
std::unique_ptr<PreparedKernel> make_triangular_solve(const OpCall& call) {
  const Sides a(call.input(0));
  const Sides b(call.input(1));
  const Attributes& attributes = call.attributes;
  const Triangle triangle{
      attributes.flag("lower") ? CblasLower : CblasUpper,
      attributes.flag("transpose") ? CblasTrans : CblasNoTrans,
      attributes.flag("unit_diagonal") ? CblasUnit : CblasNonUnit};
  return make_kernel([=](const KernelBuffers& buffers) {
    for_each_matrix(
        a.count, least_matrices(b), [&](std::int64_t i, std::int64_t) {
          solve_matrix(triangle, b, input_of<T>(buffers, 0) + i * a.size(),
                       input_of<T>(buffers, 1) + i * b.size(),
                       output_of<T>(buffers, 0) + i * b.size());
        });
  });
}

// Memory for the factors of one matrix in f64, handed out piece by piece.
class Pieces {
 public:
  explicit Pieces(double* begin) : next_(begin) {}
  double* take(std::int64_t size) {
    next_ += size;
    return next_ - size;
  }

 private:
  double* next_;
};

// One of the factorings of a matrix by rows, with results by rows.
struct Factoring {
  std::int64_t work;      // how many doubles LAPACK asks for
  std::int64_t integers;  // and how many integers
  std::int64_t columns;   // doubles for copies by columns
  void (*run)(const Sides& sides, const Factoring& own, const double* a,
              double* const* results, Pieces scratch, lapack_int* integers);
};

// LAPACK tells the best size of its memory in the first number of it.
template <class Ask>
std::int64_t asked(Ask&& ask) {
  double size = 0;
  // A size of -1 asks LAPACK for the best size of its memory, and computes
  // nothing.
  WEFT_CHECK(ask(&size, lapack_int{-1}) == 0, "LAPACK refuses the sizes");
  return static_cast<std::int64_t>(size);
}

void transpose_matrix(std::int64_t rows, std::int64_t columns,
                      const double* from, double* to) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      to[j * rows + i] = from[i * columns + j];
    }
}

void run_qr(const Sides& sides, const Factoring& own, const double* a,
            double* const* results, Pieces scratch, lapack_int*) {
  const std::int64_t m = sides.rows, n = sides.columns;
  double* factors = scratch.take(m * n);
  double* tau = scratch.take(n);
  double* signs = scratch.take(n);
  double* work = scratch.take(own.work);
  // LAPACK reads matrices by columns.
  transpose_matrix(m, n, a, factors);
  lapack::geqrf(to_lapack(m), to_lapack(n), factors, tau, work,
                to_lapack(own.work));
  double* r = results[1];
  for (std::int64_t i = 0; i < n; ++i) {
    // Signs are free in each column. R's diagonal is made positive, as the
    // reference's is.
    signs[i] = factors[i * m + i] < 0 ? -1 : 1;
    for (std::int64_t j = 0; j < n; ++j) {
      r[i * n + j] = j < i ? 0 : signs[i] * factors[j * m + i];
    }
  }
  lapack::orgqr(to_lapack(m), to_lapack(n), factors, tau, work,
                to_lapack(own.work));
  transpose_matrix(n, m, factors, results[0]);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) results[0][i * n + j] *= signs[j];
}

Factoring qr_factoring(const Sides& sides) {
  const lapack_int m = to_lapack(sides.rows), n = to_lapack(sides.columns);
  const std::int64_t work =
      std::max(asked([&](double* size, lapack_int none) {
                 return lapack::geqrf(m, n, nullptr, nullptr, size, none);
               }),
               asked([&](double* size, lapack_int none) {
                 return lapack::orgqr(m, n, nullptr, nullptr, size, none);
               }));
  return {work, 0, sides.size() + 2 * sides.columns, run_qr};
}

void run_eigh(const Sides& sides, const Factoring& own, const double* a,
              double* const* results, Pieces scratch, lapack_int* integers) {
  const std::int64_t n = sides.rows;
  double* vectors = scratch.take(n * n);
  double* work = scratch.take(own.work);
  // A symmetric matrix is the same by rows and by columns, so that nothing is
  // transposed on the way in.
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      vectors[i * n + j] = (a[i * n + j] + a[j * n + i]) / 2;
    }
  lapack::syevd(to_lapack(n), vectors, results[0], work, to_lapack(own.work),
                integers, to_lapack(own.integers));
  transpose_matrix(n, n, vectors, results[1]);
  orient_columns(n, n, results[1]);
}

Factoring eigh_factoring(const Sides& sides) {
  const std::int64_t n = sides.rows;
  lapack_int integers = 0;
  const std::int64_t work = asked([&](double* size, lapack_int none) {
    return lapack::syevd(to_lapack(n), nullptr, nullptr, size, none, &integers,
                         none);
  });
  return {work, integers, n * n, run_eigh};
}

// LAPACK reads by columns, and so sees the transpose, v diag(s) uᵀ.
void run_svd(const Sides& sides, const Factoring& own, const double* a,
             double* const* results, Pieces scratch, lapack_int* integers) {
  const std::int64_t m = sides.rows, n = sides.columns, k = std::min(m, n);
  double* copy = scratch.take(m * n);
  double* work = scratch.take(own.work);
  std::copy_n(a, m * n, copy);
  // The left vectors of the transpose, by columns, are what vᵀ is by rows, and
  // its right ones are u: LAPACK writes both where they are wanted.
  lapack::gesdd(to_lapack(n), to_lapack(m), copy, results[1], results[2],
                results[0], work, to_lapack(own.work), integers);
  orient_columns(m, k, results[0], results[2], n);
}

Factoring svd_factoring(const Sides& sides) {
  const lapack_int m = to_lapack(sides.rows), n = to_lapack(sides.columns);
  const lapack_int k = std::min(m, n);
  lapack_int none_there = 0;
  const std::int64_t work = asked([&](double* size, lapack_int none) {
    return lapack::gesdd(n, m, nullptr, nullptr, nullptr, nullptr, size, none,
                         &none_there);
  });
  // gesdd asks for 8 integers for each singular value.
  return {work, std::int64_t{8} * k, sides.size(), run_svd};
}

// Widens each matrix of a stack, factors it and rounds the results.
template <class T>
class FactorKernel final : public PreparedKernel {
 public:
  FactorKernel(const OpCall& call, Factoring (*factoring)(const Sides&))
      : sides_(call.input(0)), factoring_(factoring(sides_)) {
    for (const TensorType& type : call.outputs) {
      results_.push_back(type.shape.num_elements() / sides_.count);
    }
    doubles_ = sides_.size() + factoring_.work + factoring_.columns;
    for (const std::int64_t size : results_) doubles_ += size;
  }

  // There is memory for each task and not for each thread, as the number of
  // threads may change between runs.
  std::size_t scratch_bytes() const override {
    return at(std::min(sides_.count, kMostMatrixTasks) * task_bytes());
  }

  void run(const KernelBuffers& buffers) noexcept override {
    for_each_matrix(sides_.count, least_matrices(sides_),
                    [&](std::int64_t i, std::int64_t task) {
                      factor(buffers, i,
                             static_cast<std::byte*>(buffers.scratch) +
                                 task * task_bytes());
                    });
  }

 private:
  std::int64_t task_bytes() const {
    const auto integers =
        factoring_.integers * static_cast<std::int64_t>(sizeof(lapack_int));
    // The next task's doubles are aligned.
    return doubles_ * 8 + (integers + 7) / 8 * 8;
  }

  void factor(const KernelBuffers& buffers, std::int64_t i,
              std::byte* memory) const {
    Pieces pieces(reinterpret_cast<double*>(memory));
    auto* integers = reinterpret_cast<lapack_int*>(memory + doubles_ * 8);
    double* a = pieces.take(sides_.size());
    // The copy widens f32, and LAPACK overwrites what it factors.
    std::copy_n(input_of<T>(buffers, 0) + i * sides_.size(), sides_.size(), a);
    double* results[3] = {};
    for (std::size_t n = 0; n < results_.size(); ++n) {
      results[n] = pieces.take(results_[n]);
    }
    // LAPACK does not say what it makes of numbers that are not finite; the op
    // says NaN.
    const bool is_finite = is_all_finite({a, at(sides_.size())});
    if (is_finite)
      factoring_.run(sides_, factoring_, a, results, pieces, integers);
    for (std::size_t n = 0; n < results_.size(); ++n) {
      T* to = output_of<T>(buffers, n) + i * results_[n];
      if (is_finite) {
        std::transform(results[n], results[n] + results_[n], to,
                       [](double x) { return static_cast<T>(x); });
      } else {
        std::fill_n(to, results_[n], std::numeric_limits<T>::quiet_NaN());
      }
    }
  }

  Sides sides_;
  Factoring factoring_;
  std::vector<std::int64_t> results_;  // the size of each, of one matrix
  std::int64_t doubles_;
};

template <Factoring (*kFactoring)(const Sides&)>
std::unique_ptr<PreparedKernel> prepare_factors(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) {
    return std::make_unique<FactorKernel<double>>(call, kFactoring);
  }
  return std::make_unique<FactorKernel<float>>(call, kFactoring);
}

std::unique_ptr<PreparedKernel> prepare_cholesky(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) return make_cholesky<double>(call);
  return make_cholesky<float>(call);
}
std::unique_ptr<PreparedKernel> prepare_solve(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) {
    return make_triangular_solve<double>(call);
  }
  return make_triangular_solve<float>(call);
}

}  // namespace

void register_library_linalg(KernelRegistry& kernels) {
  kernels.add(
      {"cholesky", "lapack:potrf", 10, linalg_declines, prepare_cholesky});
  kernels.add(
      {"triangular_solve", "blas:trsm", 10, linalg_declines, prepare_solve});
  kernels.add({"qr", "lapack:geqrf", 10, linalg_declines,
               prepare_factors<qr_factoring>});
  kernels.add({"eigh", "lapack:syevd", 10, linalg_declines,
               prepare_factors<eigh_factoring>});
  kernels.add({"svd", "lapack:gesdd", 10, linalg_declines,
               prepare_factors<svd_factoring>});
}

}  // namespace weft
