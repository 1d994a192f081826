// Products of many matrices of small integers, on threads: what the kernels of
// integer_matmul and integer_conv2d share where there is no VNNI.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_WIDENING_KERNEL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_WIDENING_KERNEL_H_
#undef WEFT_KERNELS_CPU_WIDENING_KERNEL_H_
#else
#define WEFT_KERNELS_CPU_WIDENING_KERNEL_H_
#endif

#include <vector>

#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/kernels/simd/widening_product.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

// Widens `count` numbers that lie `step` apart.
template <class T>
void widen(const T* from, std::int64_t step, std::int64_t count,
           std::int16_t* to) {
  if (step == 1) {  // of which the compiler makes vectors
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

class WideningKernel : public PreparedKernel {
 public:
  // Product i multiplies m rows, which rows() gives, by right operand
  // rights[i].
  struct Product {
    std::size_t right;
    std::int64_t result;  // where it begins, in elements of the output
  };
  struct Right {
    std::int64_t begin;  // in elements of input 1
    std::int64_t row, column;
  };
  struct Sizes {
    std::int64_t m, k, n;
    std::int64_t result_row;  // between rows of the output
  };

  WideningKernel(const Sizes& size, std::vector<Product> products,
                 std::vector<Right> rights)
      : size_(size),
        products_(std::move(products)),
        rights_(std::move(rights)),
        row_blocks_((size.m + kRows - 1) / kRows),
        panels_(simd::panels_of(size.n)) {
    // With too few blocks of rows for all threads, columns are shared out, too.
    const std::int64_t blocks = std::ssize(products_) * row_blocks_;
    chunks_ = std::clamp<std::int64_t>((thread_count() + blocks - 1) / blocks,
                                       1, panels_);
    items_ = blocks * chunks_;
    workers_ = std::min<std::int64_t>(thread_count(), items_);
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(packed_size() + workers_ * block_size()) *
           sizeof(std::int16_t);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    auto* packed = static_cast<std::int16_t*>(buffers.scratch);
    const auto* b = static_cast<const std::int8_t*>(buffers.inputs[1]);
    auto* y = static_cast<std::int32_t*>(buffers.outputs[0]);
    const std::int64_t grain = 1 + kLeastWork / panel_size();
    parallel_for(std::ssize(rights_) * panels_, grain,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     pack(b, i / panels_, i % panels_, panel(packed, i));
                   }
                 });
    const std::int64_t work = kRows * size_.k * (size_.n / chunks_ + 1) / 16;
    parallel_for(workers_, 1 + kLeastWork * workers_ / (work * items_ + 1),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t worker = begin; worker < end; ++worker) {
                     std::int16_t* block =
                         packed + packed_size() + worker * block_size();
                     for (std::int64_t i = items_ * worker / workers_;
                          i < items_ * (worker + 1) / workers_; ++i) {
                       multiply(buffers.inputs[0], packed, i, block, y);
                     }
                   }
                 });
  }

 protected:
  // Rows [row, row + count) of the left operand of a product, widened; each
  // takes row_size() numbers, of which the last is 0 where k is odd.
  virtual void rows(const void* a, std::int64_t product, std::int64_t row,
                    std::int64_t count, std::int16_t* to) const noexcept = 0;

  std::int64_t row_size() const { return 2 * simd::pairs_of(size_.k); }
  const Sizes& size() const { return size_; }

 private:
  static constexpr std::int64_t kRows = 48;  // of a block: fits the L2 cache
  static constexpr std::int64_t kLeastWork = 32 << 10;  // worth a thread

  std::int64_t panel_size() const { return simd::panel_size(size_.k); }
  std::int64_t packed_size() const {
    return std::ssize(rights_) * panels_ * panel_size();
  }
  std::int64_t block_size() const { return kRows * row_size(); }
  std::int16_t* panel(std::int16_t* packed, std::int64_t i) const {
    return packed + i * panel_size();
  }

  void pack(const std::int8_t* b, std::int64_t right, std::int64_t i,
            std::int16_t* to) const noexcept {
    const Right& r = rights_[static_cast<std::size_t>(right)];
    const std::int64_t first = i * simd::kPanel;
    simd::pack_panel({b + r.begin, r.row, r.column}, size_.k, first,
                     std::min(simd::kPanel, size_.n - first), to);
  }

  // A block of rows by a chunk of the columns.
  void multiply(const void* a, std::int16_t* packed, std::int64_t item,
                std::int16_t* block, std::int32_t* y) const noexcept {
    const std::int64_t chunk = item % chunks_;
    const std::int64_t row = item / chunks_ % row_blocks_ * kRows;
    const std::int64_t i = item / chunks_ / row_blocks_;
    const Product& product = products_[static_cast<std::size_t>(i)];
    const std::int64_t count = std::min(kRows, size_.m - row);
    rows(a, i, row, count, block);
    const auto right = static_cast<std::int64_t>(product.right);
    for (std::int64_t p = panels_ * chunk / chunks_;
         p < panels_ * (chunk + 1) / chunks_; ++p) {
      const std::int64_t first = p * simd::kPanel;
      simd::widening_product(
          count, simd::pairs_of(size_.k), block,
          panel(packed, right * panels_ + p),
          std::min(simd::kPanel, size_.n - first),
          y + product.result + row * size_.result_row + first,
          size_.result_row);
    }
  }

  Sizes size_;
  std::vector<Product> products_;
  std::vector<Right> rights_;
  std::int64_t row_blocks_;
  std::int64_t panels_;
  std::int64_t chunks_;
  std::int64_t items_;
  std::int64_t workers_;
};

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
