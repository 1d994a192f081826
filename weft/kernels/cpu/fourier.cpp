// Real Fourier transforms. Rows of an even size are transformed as complex ones
// of half as many numbers (Press et al., "Numerical Recipes", 2007, 12.3); a
// group of rows goes side by side.
#include "weft/kernels/simd/fourier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <hwy/highway.h>
#include <numbers>
#include <numeric>
#include <optional>
#include <vector>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"

namespace weft {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The numbers of so many rows of 1,024 and their transforms stay in the
// second-level cache beside what is read and written.
constexpr std::int64_t kMostLanes = 8;
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

// Calls body(lanes); of a whole group the compiler knows the number, so that a
// loop over its lanes is a vector.
template <class Body>
void with_lanes(std::int64_t lanes, Body&& body) {
  if (lanes == kMostLanes)
    body(std::integral_constant<std::int64_t, kMostLanes>());
  else
    body(lanes);
}

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

// Numbers of some rows change places by squares of so many, in vectors.
constexpr std::int64_t kSide = 4;
using Side = hn::FixedTag<float, kSide>;

// Vector i of four becomes element i of each of them.
void transpose(std::array<hn::Vec<Side>, kSide>& v) {
  const Side side;
  const auto a = hn::InterleaveLower(side, v[0], v[2]);
  const auto b = hn::InterleaveUpper(side, v[0], v[2]);
  const auto c = hn::InterleaveLower(side, v[1], v[3]);
  const auto d = hn::InterleaveUpper(side, v[1], v[3]);
  v = {hn::InterleaveLower(side, a, c), hn::InterleaveUpper(side, a, c),
       hn::InterleaveLower(side, b, d), hn::InterleaveUpper(side, b, d)};
}

// Calls square(j, lane) for whole squares of `count` numbers of `lanes` rows,
// and single(j, lane) for those that make none.
template <class Lanes, class Square, class Single>
void in_squares(std::int64_t count, Lanes lanes, Square&& square,
                Single&& single) {
  const std::int64_t whole_lanes = lanes / kSide * kSide;
  const std::int64_t whole = count / kSide * kSide;
  for (std::int64_t j = 0; j < whole; j += kSide) {
    for (std::int64_t l = 0; l < whole_lanes; l += kSide) square(j, l);
  }
  const auto each = [&](std::int64_t begin, std::int64_t first,
                        std::int64_t last) {
    for (std::int64_t j = begin; first < last && j < count; ++j) {
      for (std::int64_t l = first; l < last; ++l) single(j, l);
    }
  };
  each(whole, 0, whole_lanes);
  each(0, whole_lanes, lanes);
}

// place(j)[l] = rows[l * stride + j]
template <class Lanes, class Place>
void gather_lanes(const float* rows, std::int64_t stride, std::int64_t count,
                  Lanes lanes, Place&& place) {
  const Side side;
  in_squares(
      count, lanes,
      [&](std::int64_t j, std::int64_t l) {
        std::array<hn::Vec<Side>, kSide> v;
        for (std::int64_t i = 0; i < kSide; ++i) {
          v[at(i)] = hn::LoadU(side, rows + (l + i) * stride + j);
        }
        transpose(v);
        for (std::int64_t i = 0; i < kSide; ++i) {
          hn::StoreU(v[at(i)], side, place(j + i) + l);
        }
      },
      [&](std::int64_t j, std::int64_t l) {
        place(j)[l] = rows[l * stride + j];
      });
}

// rows[l * stride + j] = share * place(j)[l] + more[l]
template <class Lanes, class Place>
void scatter_lanes(float* rows, std::int64_t stride, std::int64_t count,
                   Lanes lanes, float share, const float* more, Place&& place) {
  const Side side;
  in_squares(
      count, lanes,
      [&](std::int64_t j, std::int64_t l) {
        std::array<hn::Vec<Side>, kSide> v;
        for (std::int64_t i = 0; i < kSide; ++i) {
          v[at(i)] = hn::LoadU(side, place(j + i) + l);
        }
        transpose(v);
        for (std::int64_t i = 0; i < kSide; ++i) {
          const auto y = hn::MulAdd(v[at(i)], hn::Set(side, share),
                                    hn::Set(side, more[l + i]));
          hn::StoreU(y, side, rows + (l + i) * stride + j);
        }
      },
      [&](std::int64_t j, std::int64_t l) {
        rows[l * stride + j] = std::fma(place(j)[l], share, more[l]);
      });
}

// Where number j of rows lies of whose numbers every second is imaginary.
template <class Lanes>
auto by_turns(ComplexRows x, Lanes lanes) {
  return [=](std::int64_t j) {
    return (j % 2 == 0 ? x.re : x.im) + j / 2 * lanes;
  };
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
    with_lanes(group.lanes,
               [&](auto lanes) { transform(buffers, group, lanes); });
  }

  template <class Lanes>
  void transform(const KernelBuffers& buffers, const RowGroup& group,
                 Lanes lanes) const {
    const std::int64_t first = group.first;
    const ComplexRows& x = group.x;
    const ComplexRows& other = group.other;
    const float* rows =
        static_cast<const float*>(buffers.inputs[0]) + first * n_;
    // Even and odd numbers become the real and imaginary parts of half as many
    // complex ones, with no arithmetic.
    if (is_even()) {
      gather_lanes(rows, n_, n_, lanes, by_turns(x, lanes));
    } else {
      gather_lanes(rows, n_, n_, lanes,
                   [&](std::int64_t j) { return x.re + j * lanes; });
      std::fill_n(x.im, n_ * lanes, 0.f);
    }
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
      const std::int64_t count = std::min(kBlock, half_ - begin);
      for (std::int64_t k = 0; k < count; ++k) {
        numbers(z, begin + k, lanes, re.data() + k * lanes,
                im.data() + k * lanes);
      }
      scatter_lanes(real + begin, half_, count, lanes, 1, spoiled.data(),
                    [&](std::int64_t k) { return re.data() + k * lanes; });
      scatter_lanes(imaginary + begin, half_, count, lanes, 1, spoiled.data(),
                    [&](std::int64_t k) { return im.data() + k * lanes; });
    }
  }

  // X_k = E_k + w^k O_k of the even and of the odd numbers' transforms, which Z
  // holds as E + i O; of all lanes.
  template <class Lanes>
  void numbers(ComplexRows z, std::int64_t k, Lanes lanes, float* re,
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
    with_lanes(group.lanes,
               [&](auto lanes) { transform(buffers, group, lanes); });
  }

  template <class Lanes>
  void transform(const KernelBuffers& buffers, const RowGroup& group,
                 Lanes lanes) const {
    const std::int64_t first = group.first;
    const ComplexRows& x = group.x;
    const ComplexRows& other = group.other;
    const float* real =
        static_cast<const float*>(buffers.inputs[0]) + first * half_;
    const float* imaginary =
        static_cast<const float*>(buffers.inputs[1]) + first * half_;
    // Number n/2 has no place among the half: it is kept apart.
    std::array<float, kMostLanes> middle{};
    for (std::int64_t l = 0; is_even() && l < lanes; ++l) {
      middle[at(l)] = real[l * half_ + n_ / 2];
    }
    // The half that is given lies in `other`, which is free until the
    // transform.
    const std::int64_t given = is_even() ? n_ / 2 : half_;
    gather_lanes(real, half_, given, lanes,
                 [&](std::int64_t k) { return other.re + k * lanes; });
    gather_lanes(imaginary, half_, given, lanes,
                 [&](std::int64_t k) { return other.im + k * lanes; });
    std::fill_n(other.im, lanes, 0.f);  // a real number, whatever is said
    const std::int64_t size = is_even() ? n_ / 2 : n_;
    for (std::int64_t k = 0; k < size; ++k) {
      if (is_even())
        unite(other, middle.data(), k, lanes, x);
      else
        mirror(other, k, lanes, x);
    }
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
    if (is_even()) {
      scatter_lanes(y, n_, n_, lanes, share, spoiled.data(),
                    by_turns(z, lanes));
    } else {
      scatter_lanes(y, n_, n_, lanes, share, spoiled.data(),
                    [&](std::int64_t j) { return z.re + j * lanes; });
    }
  }

  // Number k of an odd size: those behind the middle are conjugates.
  template <class Lanes>
  void mirror(ComplexRows given, std::int64_t k, Lanes lanes,
              ComplexRows x) const {
    const bool is_given = k < half_;
    const std::int64_t from = (is_given ? k : n_ - k) * lanes;
    const float sign = is_given ? 1 : -1;
    for (std::int64_t l = 0; l < lanes; ++l) {
      x.re[k * lanes + l] = given.re[from + l];
      x.im[k * lanes + l] = sign * given.im[from + l];
    }
  }

  // Number k of the complex transform of half as many: the steps of
  // ForwardTransform::numbers() backwards. `middle` is number n/2, which is
  // real.
  template <class Lanes>
  void unite(ComplexRows given, const float* middle, std::int64_t k,
             Lanes lanes, ComplexRows x) const {
    static constexpr std::array<float, kMostLanes> kZeros{};
    const std::int64_t mirrored = (n_ / 2 - k) * lanes;
    const ComplexRows a{given.re + k * lanes, given.im + k * lanes};
    const float* b_re = k == 0 ? middle : given.re + mirrored;
    const float* b_im = k == 0 ? kZeros.data() : given.im + mirrored;
    const ComplexRows y{x.re + k * lanes, x.im + k * lanes};
    const float c = cosine_[at(k)];
    const float s = sine_[at(k)];
#pragma omp simd
    for (std::int64_t l = 0; l < lanes; ++l) {
      const float even_re = (a.re[l] + b_re[l]) / 2;
      const float even_im = (a.im[l] - b_im[l]) / 2;
      const float turned_re = (a.re[l] - b_re[l]) / 2;
      const float turned_im = (a.im[l] + b_im[l]) / 2;
      const float odd_re = c * turned_re - s * turned_im;
      const float odd_im = c * turned_im + s * turned_re;
      y.re[l] = even_re - odd_im;
      y.im[l] = even_im + odd_re;
    }
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
