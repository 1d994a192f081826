// Triangles solved in blocks: what a block of rows owes to the rows before it
// is one product of matrices, and only the block itself is substituted (Golub
// and Van Loan, "Matrix computations", 2013, 3.1.4). A library was slower for
// few right sides, and let NaN in one reach those beside it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/triangular_solve.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <optional>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/tile_product.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

// Rows that are substituted one by one: few, as products take less time.
constexpr std::size_t kBlock = 32;
// Right sides of a task, two vectors of AVX-512: few, for threads to share out.
template <class T>
constexpr std::size_t kColumns = 128 / sizeof(T);

// a [n, n], of which one triangle counts.
template <class T>
struct Triangle {
  const T* data;
  std::size_t n;
  bool is_lower, is_transposed, has_unit_diagonal;

  bool goes_forwards() const { return is_lower != is_transposed; }
  // The matrix from element (i, j) on.
  simd::LeftTile<T> from(std::size_t i, std::size_t j) const {
    return is_transposed ? simd::LeftTile<T>{data + j * n + i, 1, n}
                         : simd::LeftTile<T>{data + i * n + j, n, 1};
  }
};

template <class T>
void negate(std::size_t rows, std::size_t columns, simd::RowTile<T> x) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < columns; ++c) {
      x.data[i * x.row + c] = -x.data[i * x.row + c];
    }
  }
}

// Rows [first, first + count), to which no others are owed anything.
template <class T>
void substitute(const Triangle<T>& a, std::size_t first, std::size_t count,
                std::size_t columns, simd::RowTile<T> x) {
  const simd::LeftTile<T> block = a.from(first, first);
  const auto row = [&](std::size_t step) {
    return a.goes_forwards() ? step : count - 1 - step;
  };
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t j = row(step);
    T* HWY_RESTRICT solved = x.data + (first + j) * x.row;
    const T diagonal =
        a.has_unit_diagonal ? T{1} : block.data[j * (block.row + block.step)];
    for (std::size_t c = 0; c < columns; ++c) solved[c] /= diagonal;
    // A row that is solved leaves all others of its block at once: none waits.
    for (std::size_t after = step + 1; after < count; ++after) {
      const std::size_t i = row(after);
      T* HWY_RESTRICT other = x.data + (first + i) * x.row;
      const T factor = block.data[i * block.row + j * block.step];
      for (std::size_t c = 0; c < columns; ++c) other[c] -= factor * solved[c];
    }
  }
}

// x [n, columns] holds the right sides, and then the solutions.
template <class T>
void solve(const Triangle<T>& a, std::size_t columns, simd::RowTile<T> x) {
  for (std::size_t done = 0; done < a.n; done += kBlock) {
    const std::size_t count = std::min(kBlock, a.n - done);
    const std::size_t first = a.goes_forwards() ? done : a.n - done - count;
    if (done > 0) {
      const std::size_t solved = a.goes_forwards() ? 0 : first + count;
      const simd::RowTile<T> rows{x.data + first * x.row, x.row};
      // b - a x, as products only add.
      negate(count, columns, rows);
      simd::tile_product<T>(count, columns, done, a.from(first, solved),
                            {x.data + solved * x.row, x.row}, rows, true);
      negate(count, columns, rows);
    }
    substitute(a, first, count, columns, x);
  }
}

template <class T>
std::unique_ptr<PreparedKernel> make_triangular_solve(const OpCall& call) {
  const TensorType& right = call.input(1);
  const int rank = right.shape.rank();
  const auto n = at(right.shape[rank - 2]);
  const auto m = at(right.shape.back());
  const auto count = at(product(right.shape.first(rank - 2)));
  const Attributes& attributes = call.attributes;
  const Triangle<T> form{nullptr, n, attributes.flag("lower"),
                         attributes.flag("transpose"),
                         attributes.flag("unit_diagonal")};
  const std::size_t panels = (m + kColumns<T> - 1) / kColumns<T>;
  constexpr std::size_t kLeastProducts = 1 << 15;  // worth a thread
  const std::size_t grain = 1 + kLeastProducts / (n * n * kColumns<T>);
  return make_kernel([=](const KernelBuffers& buffers) {
    parallel_for(static_cast<std::int64_t>(count * panels),
                 static_cast<std::int64_t>(grain),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::size_t task = at(begin); task < at(end); ++task) {
                     const std::size_t matrix = task / panels;
                     const std::size_t column = task % panels * kColumns<T>;
                     const std::size_t columns =
                         std::min(kColumns<T>, m - column);
                     const std::size_t place = matrix * n * m + column;
                     const T* b = input_of<T>(buffers, 1) + place;
                     T* x = output_of<T>(buffers, 0) + place;
                     for (std::size_t i = 0; i < n; ++i) {
                       std::copy_n(b + i * m, columns, x + i * m);
                     }
                     Triangle<T> a = form;
                     a.data = input_of<T>(buffers, 0) + matrix * n * n;
                     solve<T>(a, columns, {x, m});
                   }
                 });
  });
}

std::optional<std::string> declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    return fmt::format("computes in f32 and f64, not in {}", to_string(dtype));
  }
  if (call.input(1).shape.num_elements() == 0) return "an operand is empty";
  return std::nullopt;
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "triangular_solve",
       .name = "simd:triangular_solve",
       .rank = 10,
       .declines = declines,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         return call.input(0).dtype == DType::kF64
                    ? make_triangular_solve<double>(call)
                    : make_triangular_solve<float>(call);
       }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_triangular_solve(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
