// Real Fourier transforms. Rows of an even size are transformed as complex ones
// of half as many numbers (Press et al., "Numerical Recipes", 2007, 12.3); a
// group of rows goes side by side.
#include "weft/kernels/simd/fourier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <vector>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"

namespace weft {
namespace {

constexpr std::int64_t kMostLanes = 16;
// Numbers of a row that change places with those of other rows at a time, so
// that what is read or written apart stays in the first-level cache.
constexpr std::int64_t kBlock = 32;
// Each has memory of its own; their number must not depend on the threads'.
constexpr std::int64_t kMostTransformTasks = 64;

// The first of some rows, how many they are, and where they lie meanwhile.
struct RowGroup {
  std::int64_t first, lanes;
  ComplexRows x, other;
};

class RealTransform : public PreparedKernel {
 public:
  RealTransform(std::int64_t rows, std::int64_t n)
      : rows_(rows),
        n_(n),
        half_(n / 2 + 1),
        lanes_(std::min(rows, kMostLanes)),
        tasks_(std::min((rows + lanes_ - 1) / lanes_, kMostTransformTasks)),
        transform_(n % 2 == 0 ? n / 2 : n) {
    for (std::int64_t k = 0; k < half_; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) /
                           static_cast<double>(n);
      cosine_.push_back(static_cast<float>(std::cos(angle)));
      sine_.push_back(static_cast<float>(std::sin(angle)));
    }
  }

  std::size_t scratch_bytes() const override {
    return at(4 * tasks_ * plane()) * sizeof(float);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const std::int64_t groups = (rows_ + lanes_ - 1) / lanes_;
    parallel_for(tasks_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        float* memory =
            static_cast<float*>(buffers.scratch) + 4 * task * plane();
        for (std::int64_t i = task; i < groups; i += tasks_) {
          run_group(buffers, {i * lanes_,
                              std::min(lanes_, rows_ - i * lanes_),
                              {memory, memory + plane()},
                              {memory + 2 * plane(), memory + 3 * plane()}});
        }
      }
    });
  }

 protected:
  virtual void run_group(const KernelBuffers& buffers,
                         const RowGroup& group) const noexcept = 0;

  // How many floats one part of a group's numbers takes.
  std::int64_t plane() const { return transform_.capacity() * lanes_; }
  bool is_even() const { return n_ % 2 == 0; }

  std::int64_t rows_, n_, half_;
  std::int64_t lanes_, tasks_;
  FourierTransform transform_;
  std::vector<float> cosine_, sine_;  // of 2πk/n
};

// 0, or NaN for a row with a number that is not finite: what is added to all of
// the row's results.
float spoils(const float* row, std::int64_t size) {
  // Many sums side by side are vectors.
  std::array<float, 16> sums{};
  const std::int64_t whole = size - size % 16;
  for (std::int64_t i = 0; i < whole; i += 16) {
    for (std::size_t n = 0; n < 16; ++n) sums[n] += row[at(i) + n] * 0.f;
  }
  for (std::int64_t i = whole; i < size; ++i) sums[0] += row[i] * 0.f;
  return std::accumulate(sums.begin(), sums.end(), 0.f);
}

// Calls body(lane, begin, end) for blocks of the numbers of all lanes.
template <class Body>
void in_blocks(std::int64_t size, std::int64_t lanes, Body&& body) {
  for (std::int64_t begin = 0; begin < size; begin += kBlock) {
    for (std::int64_t l = 0; l < lanes; ++l) {
      body(l, begin, std::min(begin + kBlock, size));
    }
  }
}

class ForwardTransform final : public RealTransform {
 public:
  explicit ForwardTransform(const OpCall& call)
      : RealTransform(
            call.input(0).shape.num_elements() / call.input(0).shape.back(),
            call.input(0).shape.back()) {}

 private:
  void run_group(const KernelBuffers& buffers,
                 const RowGroup& group) const noexcept override {
    // OpenMP's regions capture no structured bindings.
    const std::int64_t first = group.first;
    const std::int64_t lanes = group.lanes;
    const ComplexRows& x = group.x;
    const ComplexRows& other = group.other;
    const float* rows =
        static_cast<const float*>(buffers.inputs[0]) + first * n_;
    in_blocks(is_even() ? n_ / 2 : n_, lanes,
              [&](std::int64_t l, std::int64_t begin, std::int64_t end) {
                const float* row = rows + l * n_;
                for (std::int64_t j = begin; j < end; ++j) {
                  x.re[j * lanes + l] = is_even() ? row[2 * j] : row[j];
                  x.im[j * lanes + l] = is_even() ? row[2 * j + 1] : 0;
                }
              });
    const ComplexRows z = transform_.run(x, other, lanes);
    float* real = static_cast<float*>(buffers.outputs[0]) + first * half_;
    float* imaginary = static_cast<float*>(buffers.outputs[1]) + first * half_;
    std::array<float, kMostLanes> spoiled{};
    for (std::int64_t l = 0; l < lanes; ++l) {
      spoiled[at(l)] = spoils(rows + l * n_, n_);
    }
    // Numbers side by side are computed by vectors, and change places with
    // those of other rows afterwards.
    std::array<float, kBlock * kMostLanes> re;
    std::array<float, kBlock * kMostLanes> im;
    for (std::int64_t begin = 0; begin < half_; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, half_);
      for (std::int64_t k = begin; k < end; ++k) {
        const std::int64_t place = (k - begin) * lanes;
        numbers(z, k, lanes, re.data() + place, im.data() + place);
      }
      for (std::int64_t l = 0; l < lanes; ++l) {
        for (std::int64_t k = begin; k < end; ++k) {
          const std::size_t place = at((k - begin) * lanes + l);
          real[l * half_ + k] = re[place] + spoiled[at(l)];
          imaginary[l * half_ + k] = im[place] + spoiled[at(l)];
        }
      }
    }
  }

  // X_k = E_k + w^k O_k of the even and of the odd numbers' transforms, which Z
  // holds as E + i O; of all lanes.
  void numbers(ComplexRows z, std::int64_t k, std::int64_t lanes, float* re,
               float* im) const {
    if (!is_even()) {
      std::copy_n(z.re + k * lanes, lanes, re);
      std::copy_n(z.im + k * lanes, lanes, im);
      if (k == 0) std::fill_n(im, lanes, 0.f);
      return;
    }
    // Z repeats after n/2 numbers.
    const std::int64_t size = n_ / 2;
    const std::int64_t first = (k == size ? 0 : k) * lanes;
    const std::int64_t second = (k == 0 ? 0 : size - k) * lanes;
    const ComplexRows a{z.re + first, z.im + first};
    const ComplexRows b{z.re + second, z.im + second};
    const float c = cosine_[at(k)];
    const float s = sine_[at(k)];
    const bool is_real = k == 0 || k == size;
#pragma omp simd
    for (std::int64_t l = 0; l < lanes; ++l) {
      const float even_re = (a.re[l] + b.re[l]) / 2;
      const float even_im = (a.im[l] - b.im[l]) / 2;
      const float odd_re = (a.im[l] + b.im[l]) / 2;
      const float odd_im = (b.re[l] - a.re[l]) / 2;
      re[l] = even_re + c * odd_re + s * odd_im;
      im[l] = is_real ? 0 : even_im + c * odd_im - s * odd_re;
    }
  }
};

class InverseTransform final : public RealTransform {
 public:
  explicit InverseTransform(const OpCall& call)
      : RealTransform(
            call.input(0).shape.num_elements() / call.input(0).shape.back(),
            call.attributes.integer("size")) {}

 private:
  void run_group(const KernelBuffers& buffers,
                 const RowGroup& group) const noexcept override {
    // OpenMP's regions capture no structured bindings.
    const std::int64_t first = group.first;
    const std::int64_t lanes = group.lanes;
    const ComplexRows& x = group.x;
    const ComplexRows& other = group.other;
    const float* real =
        static_cast<const float*>(buffers.inputs[0]) + first * half_;
    const float* imaginary =
        static_cast<const float*>(buffers.inputs[1]) + first * half_;
    const std::int64_t size = is_even() ? n_ / 2 : n_;
    in_blocks(size, lanes,
              [&](std::int64_t l, std::int64_t begin, std::int64_t end) {
                for (std::int64_t k = begin; k < end; ++k) {
                  const auto [re, im] =
                      number(real + l * half_, imaginary + l * half_, k);
                  x.re[k * lanes + l] = re;
                  x.im[k * lanes + l] = im;
                }
              });
    // The other direction, as real and imaginary parts change places.
    ComplexRows z = transform_.run({x.im, x.re}, {other.im, other.re}, lanes);
    z = {z.im, z.re};
    float* y = static_cast<float*>(buffers.outputs[0]) + first * n_;
    const float share = 1 / static_cast<float>(size);
    std::array<float, kMostLanes> spoiled{};
    for (std::int64_t l = 0; l < lanes; ++l) {
      spoiled[at(l)] = spoils(real + l * half_, half_) +
                       spoils(imaginary + l * half_, half_);
    }
    in_blocks(size, lanes,
              [&](std::int64_t l, std::int64_t begin, std::int64_t end) {
                float* row = y + l * n_;
                for (std::int64_t j = begin; j < end; ++j) {
                  const std::int64_t place = j * lanes + l;
                  if (!is_even()) {
                    row[j] = z.re[place] * share + spoiled[at(l)];
                    continue;
                  }
                  row[2 * j] = z.re[place] * share + spoiled[at(l)];
                  row[2 * j + 1] = z.im[place] * share + spoiled[at(l)];
                }
              });
  }

  // Number k of the complex transform: the steps of ForwardTransform::numbers()
  // backwards.
  std::pair<float, float> number(const float* real, const float* imaginary,
                                 std::int64_t k) const {
    const auto imaginary_of = [&](std::int64_t i) {
      return i == 0 || 2 * i == n_ ? 0.f : imaginary[i];
    };
    if (!is_even()) {
      if (k < half_) return {real[k], imaginary_of(k)};
      return {real[n_ - k], -imaginary_of(n_ - k)};
    }
    const std::int64_t mirrored = n_ / 2 - k;
    const float even_re = (real[k] + real[mirrored]) / 2;
    const float even_im = (imaginary_of(k) - imaginary_of(mirrored)) / 2;
    const float turned_re = (real[k] - real[mirrored]) / 2;
    const float turned_im = (imaginary_of(k) + imaginary_of(mirrored)) / 2;
    const float c = cosine_[at(k)];
    const float s = sine_[at(k)];
    const float odd_re = c * turned_re - s * turned_im;
    const float odd_im = c * turned_im + s * turned_re;
    return {even_re - odd_im, even_im + odd_re};
  }
};

std::optional<std::string> fourier_declines(const OpCall& call) {
  if (call.input(0).dtype != DType::kF32) {
    return fmt::format("computes in f32, not in {}",
                       to_string(call.input(0).dtype));
  }
  if (call.input(0).shape.num_elements() == 0) return "there are no rows";
  return std::nullopt;
}

template <class Kernel>
std::unique_ptr<PreparedKernel> prepare_fourier(const OpCall& call) {
  return std::make_unique<Kernel>(call);
}

}  // namespace

void register_cpu_fourier(KernelRegistry& kernels) {
  kernels.add({.op = "rfft",
               .name = "cpu:fourier",
               .rank = 10,
               .declines = fourier_declines,
               .prepare = prepare_fourier<ForwardTransform>});
  kernels.add({.op = "irfft",
               .name = "cpu:fourier",
               .rank = 10,
               .declines = fourier_declines,
               .prepare = prepare_fourier<InverseTransform>});
}

}  // namespace weft
