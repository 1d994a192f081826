// Fourier transforms, windows and mel filters.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/base/index.h"
#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/fourier.h"
#include "weft/ops/join.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/trigonometry.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

// Real and imaginary parts; the latter may be undefined, for 0.
struct Spectrum {
  Value real;
  Value imaginary;
};

// All n coefficients from the first n/2 + 1, whose conjugates the others are.
Spectrum whole_spectrum(const Spectrum& half, std::int64_t n) {
  const std::int64_t mirrored = n - half.real.shape().back();
  if (mirrored == 0) return half;
  const auto joined = [&](const Value& part, bool negates) {
    Value back = reverse(slice_axis(part, -1, 1, 1 + mirrored), {-1});
    if (negates) back = negate(back);
    const std::vector<Value> both = {part, back};
    return concat(both, -1);
  };
  return {joined(half.real, false), joined(half.imaginary, true)};
}

Spectrum transform_of_real(const Value& x, std::int64_t n) {
  const auto [real, imaginary] = rfft(x);
  return whole_spectrum({real, imaginary}, n);
}

// Along the last axis, which is linear: F(a + ib) = F(a) + i F(b).
Spectrum transform(const Spectrum& x, std::int64_t n) {
  Spectrum a = transform_of_real(x.real, n);
  if (!x.imaginary.is_defined()) return a;
  const Spectrum b = transform_of_real(x.imaginary, n);
  return {a.real - b.imaginary, a.imaginary + b.real};
}

// The conjugate of the transform of the conjugate, over n.
Spectrum inverse_transform(const Spectrum& x, std::int64_t n) {
  const Spectrum y = transform(
      {x.real, x.imaginary.is_defined() ? negate(x.imaginary) : Value()}, n);
  const auto count = static_cast<double>(n);
  return {y.real / count, negate(y.imaginary) / count};
}

// The axis cut or filled up with zeros to n numbers.
Value of_length(const Value& x, std::int64_t n) {
  const Dim there = x.shape().back();
  if (there > n) return slice_axis(x, -1, 0, n);
  Integers low(at(x.shape().rank()), 0);
  Integers high = low;
  high.back() = n - there;
  return there == n ? x : pad(x, low, high);
}

// [..., axis, ..., 1 or 2] as parts whose last axis is the one to transform.
Spectrum parts_of(const OnnxNode& node, const Value& x, int axis) {
  const int rank = x.shape().rank();
  const Dim kinds = x.shape().back();
  if (kinds != 1 && kinds != 2) {
    throw node.damaged("the last axis has {} parts", to_string(kinds));
  }
  Integers order;
  for (int i = 0; i < rank - 1; ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  const auto part = [&](std::int64_t which) {
    const Value one = slice_axis(x, -1, which, which + 1);
    return transpose(reshape(one, Shape(one.shape().first(rank - 1))), order);
  };
  return {part(0), kinds == 2 ? part(1) : Value()};
}

// The way back: the parts side by side in a new last axis.
Value parts_joined(const Spectrum& y, int axis, bool is_real) {
  const int rank = y.real.shape().rank();
  Integers order;
  for (int i = 0, next = 0; i < rank; ++i) {
    order.push_back(i == axis ? rank - 1 : next++);
  }
  std::vector<Value> parts;
  for (const Value& part : {y.real, y.imaginary}) {
    const Value moved = transpose(part, order);
    Shape shape = moved.shape();
    shape.push_back(1);
    parts.push_back(reshape(moved, shape));
  }
  return is_real ? parts[0] : concat(parts, -1);
}

void import_dft(OnnxNode& node) {
  const Value x = node.input(0);
  const int rank = x.shape().rank();
  // The axis was an attribute before opset 20.
  std::int64_t given = node.integer("axis", 1);
  if (node.opset() >= 20) given = node.has(2) ? node.known_integer(2) : -2;
  const int axis = normalize_axis(given, rank, "DFT");
  if (axis == rank - 1) throw node.damaged("transforms the parts");
  const bool is_inverse = node.integer("inverse", 0) != 0;
  const bool is_one_sided = node.integer("onesided", 0) != 0;
  const Spectrum in = parts_of(node, x, axis);
  const Dim there = in.real.shape().back();
  if (is_symbolic(there)) throw node.unsupported("an axis of unknown size");
  std::int64_t n = there;
  if (is_inverse && is_one_sided) n = 2 * (there - 1);
  if (node.has(1)) n = node.known_integer(1);
  constexpr std::int64_t kMost = 1 << 24;
  if (n < 1 || n > std::max(kMost, there)) {
    throw node.damaged("a transform of {} numbers", n);
  }
  if (is_inverse && is_one_sided) {
    const std::int64_t half = n / 2 + 1;
    const Value imaginary =
        in.imaginary.is_defined() ? in.imaginary : in.real * 0;
    const Value y =
        irfft(of_length(in.real, half), of_length(imaginary, half), n);
    return node.set(parts_joined({y, y}, axis, true));
  }
  Spectrum cut{of_length(in.real, n), Value()};
  if (in.imaginary.is_defined()) cut.imaginary = of_length(in.imaginary, n);
  Spectrum y = is_inverse ? inverse_transform(cut, n) : transform(cut, n);
  if (is_one_sided) {
    y = {slice_axis(y.real, -1, 0, n / 2 + 1),
         slice_axis(y.imaginary, -1, 0, n / 2 + 1)};
  }
  node.set(parts_joined(y, axis, false));
}

// Frames of a signal, each times a window, transformed.
void import_stft(OnnxNode& node) {
  Value x = node.input(0);
  if (x.shape().rank() == 2) {
    x = reshape(x, {x.shape()[0], x.shape()[1], 1});
  }
  const Dim size = x.shape()[1];
  const std::int64_t step = node.known_integer(1);
  std::int64_t length = is_symbolic(size) ? 0 : size;
  if (node.has(2)) length = node.operand(2).type().shape[0];
  if (node.has(3)) length = node.known_integer(3);
  if (is_symbolic(size) || step < 1 || length < 1 || length > size) {
    throw node.unsupported("frames of {} in steps of {} of {}", length, step,
                           to_string(size));
  }
  std::vector<Value> frames;
  const std::int64_t count = (size - length) / step + 1;
  // Each is a node.
  constexpr std::int64_t kMost = 1 << 20;
  if (count > kMost) throw node.unsupported("{} frames", count);
  for (std::int64_t i = 0; i < count; ++i) {
    const Value frame = slice_axis(x, 1, i * step, i * step + length);
    const Shape& s = frame.shape();
    frames.push_back(reshape(frame, {s[0], 1, s[1], s[2]}));
  }
  Value all = concat(frames, 1);
  if (node.has(2)) all = all * reshape(node.input(2), {length, 1});
  const Spectrum in = parts_of(node, all, 2);
  Spectrum y = transform(in, length);
  if (node.integer("onesided", 1) != 0) {
    y = {slice_axis(y.real, -1, 0, length / 2 + 1),
         slice_axis(y.imaginary, -1, 0, length / 2 + 1)};
  }
  node.set(parts_joined(y, 2, false));
}

// Sums of cosines: a0 - a1 cos(2πi/n) + a2 cos(4πi/n).
void set_window(OnnxNode& node, double a0, double a1, double a2) {
  const std::int64_t size = node.known_integer(0);
  const bool is_periodic = node.integer("periodic", 1) != 0;
  constexpr std::int64_t kMost = 1 << 24;
  if (size < 0 || size > kMost) throw node.damaged("a window of {}", size);
  const auto n = static_cast<double>(is_periodic ? size : size - 1);
  Tensor window = Tensor::empty({DType::kF64, {size}});
  for (std::int64_t i = 0; i < size; ++i) {
    const double angle = 2 * M_PI * static_cast<double>(i) / n;
    window.data<double>()[i] =
        a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  node.set(to_dtype(Value(window), node.dtype("output_datatype", DType::kF32)));
}

void import_hann_window(OnnxNode& node) { set_window(node, 0.5, 0.5, 0); }

void import_hamming_window(OnnxNode& node) {
  set_window(node, 25.0 / 46, 1 - 25.0 / 46, 0);
}

void import_blackman_window(OnnxNode& node) {
  set_window(node, 0.42, 0.5, 0.08);
}

double to_mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }

// Triangles whose corners are equally far apart in mel.
void import_mel_matrix(OnnxNode& node) {
  const std::int64_t bands = node.known_integer(0);
  const std::int64_t length = node.known_integer(1);
  const std::int64_t rate = node.known_integer(2);
  const double low = to_mel(node.known_real(3));
  const double high = to_mel(node.known_real(4));
  constexpr std::int64_t kMost = 1 << 16;
  if (bands < 1 || bands > kMost || length < 1 || length > kMost || rate < 1) {
    throw node.damaged("{} bands of {} numbers", bands, length);
  }
  const std::int64_t bins = length / 2 + 1;
  constexpr std::int64_t kMostWeights = 1 << 26;
  if (bins > kMostWeights / bands) {
    throw node.unsupported("{} bands of {} bins", bands, bins);
  }
  std::vector<std::int64_t> corners;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double mel = low + static_cast<double>(i) * (high - low) /
                                 static_cast<double>(bands + 2);
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    corners.push_back(static_cast<std::int64_t>(
        static_cast<double>(length + 1) * hertz / static_cast<double>(rate)));
  }
  Tensor matrix = Tensor::zeros({DType::kF64, {bins, bands}});
  const auto set = [&](std::int64_t bin, std::int64_t band, double weight) {
    if (bin >= 0 && bin < bins) {
      matrix.data<double>()[bin * bands + band] = weight;
    }
  };
  for (std::int64_t band = 0; band < bands; ++band) {
    const std::int64_t left = corners[at(band)];
    const std::int64_t middle = corners[at(band) + 1];
    const std::int64_t right = corners[at(band) + 2];
    if (left == middle) set(middle, band, 1);
    for (std::int64_t bin = left; bin <= middle && left < middle; ++bin) {
      set(bin, band,
          static_cast<double>(bin - left) / static_cast<double>(middle - left));
    }
    for (std::int64_t bin = middle; bin < right; ++bin) {
      set(bin, band,
          static_cast<double>(right - bin) /
              static_cast<double>(right - middle));
    }
  }
  node.set(to_dtype(Value(matrix), node.dtype("output_datatype", DType::kF32)));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_spectra(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "DFT", .import = import_dft});
  ops.add({.name = "STFT", .import = import_stft});
  ops.add({.name = "HannWindow", .import = import_hann_window});
  ops.add({.name = "HammingWindow", .import = import_hamming_window});
  ops.add({.name = "BlackmanWindow", .import = import_blackman_window});
  ops.add({.name = "MelWeightMatrix", .import = import_mel_matrix});
}

}  // namespace weft
