// The loop over the steps of an LSTM or a GRU (sequence.h), for one format of
// the weights. A source for each format makes it into functions.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_RECURRENT_SEQUENCE_LOOP_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_RECURRENT_SEQUENCE_LOOP_H_
#undef WEFT_KERNELS_RECURRENT_SEQUENCE_LOOP_H_
#else
#define WEFT_KERNELS_RECURRENT_SEQUENCE_LOOP_H_
#endif

#include <algorithm>

#include "weft/kernels/recurrent/formats.h"
#include "weft/kernels/recurrent/sequence.h"
#include "weft/kernels/simd/functions.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::recurrent {

using weft::recurrent::Cell;
using weft::recurrent::LoopParameters;
using weft::recurrent::Panels;
using weft::recurrent::Sequence;
using weft::recurrent::SequenceFunction;
using weft::recurrent::SequenceShape;

// The most chains that sums of a gate have (LoopParameters::chains).
inline constexpr std::size_t kMostChains = 4;
// Sums that live in registers, with a few more for what is multiplied.
#if HWY_TARGET == HWY_AVX2
inline constexpr std::size_t kSums = 12;
#else
inline constexpr std::size_t kSums = 24;
#endif

// One vector's worth of a cell's units, the last one maybe partial.
struct UnitSpan {
  std::size_t begin, count;

  Vector load(const float* p) const {
    return count == kLanes ? simd::load(p + begin)
                           : simd::load_part(p + begin, count, 0.f);
  }
  void store(Vector v, float* p) const {
    if (count == kLanes)
      simd::store(v, p + begin);
    else
      simd::store_part(v, p + begin, count);
  }
};

// Rows of the left operand, in the words of a format.
struct Rows {
  const std::uint32_t* words;
  std::size_t stride;   // in words
  const float* scales;  // by row

  Rows from(std::size_t row) const {
    return {words + row * stride, stride, scales + row};
  }
};

// The sums of kRows rows with all columns of a panel, in registers. Groups of
// rows of weights are added to `kChains` sums by turns, so that one addition
// need not wait for another.
template <class Format, std::size_t kRows, std::size_t kVectors,
          std::size_t kChains>
HWY_INLINE void multiply(const Rows& rows, const std::byte* panel,
                         std::size_t groups,
                         typename Format::Sum (&sums)[kRows][kVectors]) {
  using Sum = typename Format::Sum;
  Sum chains[kChains][kRows][kVectors];
  for (std::size_t c = 0; c < kChains; ++c)
    for (std::size_t i = 0; i < kRows; ++i)
      for (std::size_t v = 0; v < kVectors; ++v)
        chains[c][i][v] = Format::zero();
  constexpr std::size_t kStep = Format::kBytes * kLanes;
  const auto add = [&](std::size_t group, Sum(&to)[kRows][kVectors]) {
    decltype(Format::left(rows.words)) left[kRows];
    for (std::size_t i = 0; i < kRows; ++i) {
      left[i] = Format::left(rows.words + i * rows.stride + group);
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto right = Format::right(panel + v * kStep);
      for (std::size_t i = 0; i < kRows; ++i) {
        to[i][v] = Format::add(left[i], right, to[i][v]);
      }
    }
    panel += kVectors * kStep;
  };
  std::size_t group = 0;
  for (; group + kChains <= groups; group += kChains) {
    for (std::size_t c = 0; c < kChains; ++c) add(group + c, chains[c]);
  }
  for (; group < groups; ++group) add(group, chains[0]);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      for (std::size_t c = 1; c < kChains; ++c) {
        chains[0][i][v] = Format::join(chains[0][i][v], chains[c][i][v]);
      }
      sums[i][v] = chains[0][i][v];
    }
  }
}

// Calls finish(row, values[kVectors]) with the products of each row and all
// columns of a panel.
template <class Format, std::size_t kVectors, std::size_t kChains, class Finish>
HWY_INLINE void for_each_product(Rows rows, std::size_t count,
                                 const Panels& weights, std::size_t index,
                                 Finish&& finish) {
  const std::byte* panel = weights.panel(index);
  const ColumnScales columns = {weights.scales(index), weights.offsets(index)};
  std::size_t row = 0;
  const auto rows_of = [&]<std::size_t kRows>() {
    constexpr std::size_t kFits =
        std::max<std::size_t>(1, std::min(kChains, kSums / (kRows * kVectors)));
    // A third chain would make the end of each panel another loop.
    constexpr std::size_t kOwnChains = kFits == 3 ? 2 : kFits;
    typename Format::Sum sums[kRows][kVectors];
    multiply<Format, kRows, kVectors, kOwnChains>(rows.from(row), panel,
                                                  weights.groups(), sums);
    for (std::size_t i = 0; i < kRows; ++i) {
      Vector values[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) {
        values[v] = Format::finish(sums[i][v], columns, v * kLanes,
                                   rows.scales[row + i]);
      }
      finish(row + i, values);
    }
    row += kRows;
  };
  // Weights that were read are used for as many rows as there are registers
  // for.
  constexpr std::size_t kMost = kSums / kVectors;
  // NOLINTBEGIN(bugprone-infinite-loop): rows_of moves the row on
  if constexpr (kMost >= 4) {
    while (row + 4 <= count) rows_of.template operator()<4>();
  }
  if constexpr (kMost >= 3) {
    if (row + 3 <= count) rows_of.template operator()<3>();
  }
  if constexpr (kMost >= 2) {
    while (row + 2 <= count) rows_of.template operator()<2>();
  }
  while (row < count) rows_of.template operator()<1>();
  // NOLINTEND(bugprone-infinite-loop)
}

// What a cell makes of its sums. `sum(k)` is the product of the state with the
// weights of gate k, `gate` the row of the step's gates, where the products
// with x lie.
struct LstmCell {
  static constexpr std::size_t kGates = 4;

  template <class Sum>
  static HWY_INLINE void finish(const Sequence& s, std::size_t t,
                                std::size_t row, const UnitSpan& span,
                                float* gate, Sum&& sum) {
    const std::size_t hidden = s.shape.hidden;
    const std::size_t at = (t * s.shape.batch + row) * hidden;
    const float* old =
        t > 0 ? s.cells + at - s.shape.batch * hidden : s.c + row * hidden;
    const auto total = [&](std::size_t k) {
      return hn::Add(span.load(gate + k * hidden), sum(k));
    };
    // The blocks are i, f, g, o, and c' = f c + i g, h' = o tanh(c').
    const Vector i = simd::sigmoid(total(0));
    const Vector f = simd::sigmoid(total(1));
    const Vector g = simd::tanh(total(2));
    const Vector o = simd::sigmoid(total(3));
    const Vector cell = hn::MulAdd(f, span.load(old), hn::Mul(i, g));
    span.store(i, gate);
    span.store(f, gate + hidden);
    span.store(g, gate + 2 * hidden);
    span.store(o, gate + 3 * hidden);
    span.store(cell, s.cells + at);
    span.store(hn::Mul(o, simd::tanh(cell)), s.y + at);
  }
};

struct GruCell {
  static constexpr std::size_t kGates = 3;

  template <class Sum>
  static HWY_INLINE void finish(const Sequence& s, std::size_t t,
                                std::size_t row, const UnitSpan& span,
                                float* gate, Sum&& sum) {
    const std::size_t hidden = s.shape.hidden;
    const std::size_t at = (t * s.shape.batch + row) * hidden;
    const float* h =
        t > 0 ? s.y + at - s.shape.batch * hidden : s.h + row * hidden;
    const auto state = [&](std::size_t k) {
      return hn::Add(sum(k), span.load(s.state_bias + k * hidden));
    };
    const auto total = [&](std::size_t k) {
      return hn::Add(span.load(gate + k * hidden), state(k));
    };
    const Vector r = simd::sigmoid(total(0));
    const Vector z = simd::sigmoid(total(1));
    // The reset gate acts on h w_hh + b_hh, and not on h: so one pass over h
    // serves all gates.
    const Vector candidate = state(2);
    const Vector n =
        simd::tanh(hn::MulAdd(r, candidate, span.load(gate + 2 * hidden)));
    const Vector old = span.load(h);
    span.store(r, gate);
    span.store(z, gate + hidden);
    span.store(n, gate + 2 * hidden);
    // The gradient of the reset gate is a multiple of it.
    span.store(candidate, gate + 3 * hidden);
    // (1 - z) n + z h
    span.store(hn::MulAdd(z, hn::Sub(old, n), n), s.y + at);
  }
};

// One member's part of a sequence, the blocks of units that it owns, and what
// loops of any number of chains do alike: it is compiled once for all of them.
template <class Format, class CellOf, std::size_t kWide>
class SequencePart {
 protected:
  static constexpr std::size_t kGates = CellOf::kGates;
  static constexpr std::size_t kVectors = kGates * kWide;
  static constexpr std::size_t kUnits = kWide * kLanes;

  SequencePart(const Sequence& sequence, const TeamMember& self)
      : s_(sequence) {
    const auto panels =
        static_cast<std::int64_t>((s_.shape.hidden + kUnits - 1) / kUnits);
    first_ = static_cast<std::size_t>(self.begin(panels));
    last_ = static_cast<std::size_t>(self.end(panels));
    const std::size_t own =
        weft::recurrent::scratch_bytes(s_.shape, s_.parameters);
    scales_ = reinterpret_cast<float*>(
        s_.scratch + static_cast<std::size_t>(self.rank()) * own);
    std::fill_n(scales_, rows_at_once(), 1.f);
    // Rows begin at a line of the cache.
    words_ = reinterpret_cast<std::uint32_t*>(scales_ +
                                              (rows_at_once() + 15) / 16 * 16);
  }

  std::size_t rows_at_once() const {
    return s_.parameters.ahead * s_.shape.batch;
  }

  // Rows of x or of the state as words of the format.
  Rows words_of(const float* rows, std::size_t count, std::size_t width,
                std::size_t groups) {
    if constexpr (!Format::kConverts) {
      return {reinterpret_cast<const std::uint32_t*>(rows), width, scales_};
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        scales_[i] = Format::convert(rows + i * width, width, groups,
                                     words_ + i * groups);
      }
      return {words_, groups, scales_};
    }
  }

  UnitSpan span_of(std::size_t panel, std::size_t vector) const {
    const std::size_t begin = panel * kUnits + vector * kLanes;
    return {begin, begin < s_.shape.hidden
                       ? std::min(kLanes, s_.shape.hidden - begin)
                       : 0};
  }

  float* gates_of(std::size_t row) const {
    return s_.gates + row * 4 * s_.shape.hidden;
  }

  // x w_ih + b of `steps` steps, into the gates, in as many chains as there are
  // registers for.
  HWY_NOINLINE void multiply_inputs(std::size_t t, std::size_t steps) {
    const std::size_t inputs = s_.shape.inputs;
    const std::size_t hidden = s_.shape.hidden;
    const std::size_t first_row = t * s_.shape.batch;
    const std::size_t count = steps * s_.shape.batch;
    const Rows rows = words_of(s_.x + first_row * inputs, count, inputs,
                               s_.input_weights.groups());
    for (std::size_t panel = first_; panel < last_; ++panel) {
      for_each_product<Format, kVectors, kMostChains>(
          rows, count, s_.input_weights, panel,
          [&](std::size_t row, const Vector(&values)[kVectors]) {
            float* gate = gates_of(first_row + row);
            for (std::size_t w = 0; w < kWide; ++w) {
              const UnitSpan span = span_of(panel, w);
              if (span.count == 0) break;
              for (std::size_t k = 0; k < kGates; ++k) {
                const Vector bias = span.load(s_.input_bias + k * hidden);
                span.store(hn::Add(values[k * kWide + w], bias),
                           gate + k * hidden);
              }
            }
          });
    }
  }

  HWY_NOINLINE void copy_last_states() const {
    const std::size_t hidden = s_.shape.hidden;
    const std::size_t last = (s_.shape.steps - 1) * s_.shape.batch;
    const std::size_t begin = first_ * kUnits;
    const std::size_t end = std::min(last_ * kUnits, hidden);
    if (begin >= end) return;
    for (std::size_t row = 0; row < s_.shape.batch; ++row) {
      const auto copy = [&](const float* from, float* to) {
        std::copy_n(from + (last + row) * hidden + begin, end - begin,
                    to + row * hidden + begin);
      };
      copy(s_.y, s_.h_last);
      if (s_.cells != nullptr) copy(s_.cells, s_.c_last);
    }
  }

  const Sequence& s_;
  std::size_t first_, last_;  // panels
  float* scales_;             // by row
  std::uint32_t* words_;
};

template <class Format, class CellOf, std::size_t kWide, std::size_t kChains>
class SequenceLoop : SequencePart<Format, CellOf, kWide> {
  using Part = SequencePart<Format, CellOf, kWide>;
  using Part::kGates, Part::kVectors;
  using Part::s_, Part::first_, Part::last_;

 public:
  SequenceLoop(const Sequence& sequence, TeamMember& self)
      : Part(sequence, self), self_(self) {}

  void run() {
    const std::size_t steps = s_.shape.steps;
    const std::size_t ahead = s_.parameters.ahead;
    for (std::size_t t = 0; t < steps; ++t) {
      // Products with x need no other thread: they are taken before all meet.
      if (t % ahead == 0) this->multiply_inputs(t, std::min(ahead, steps - t));
      if (t > 0) self_.meet();
      step(t);
    }
    this->copy_last_states();
  }

 private:
  void step(std::size_t t) {
    const std::size_t batch = s_.shape.batch;
    const std::size_t hidden = s_.shape.hidden;
    // Each state has a place of its own in y, so that one meeting in a step is
    // enough: nobody overwrites what another still reads.
    const float* h = t > 0 ? s_.y + (t - 1) * batch * hidden : s_.h;
    const Rows rows =
        this->words_of(h, batch, hidden, s_.state_weights.groups());
    for (std::size_t panel = first_; panel < last_; ++panel) {
      for_each_product<Format, kVectors, kChains>(
          rows, batch, s_.state_weights, panel,
          [&](std::size_t row, const Vector(&values)[kVectors]) {
            float* gate = this->gates_of(t * batch + row);
            for (std::size_t w = 0; w < kWide; ++w) {
              const UnitSpan span = this->span_of(panel, w);
              if (span.count == 0) break;
              CellOf::finish(s_, t, row, span, gate, [&](std::size_t k) {
                return values[k * kWide + w];
              });
            }
          });
    }
  }

  TeamMember& self_;
};

template <class Format, class CellOf, std::size_t kWide, std::size_t kChains>
void run_member(const Sequence& sequence, TeamMember& self) {
  SequenceLoop<Format, CellOf, kWide, kChains>(sequence, self).run();
}

template <class Format, class CellOf>
SequenceFunction find_loop_of(const LoopParameters& parameters) {
  // The search takes none that needs more registers than there are.
  const auto loop = []<std::size_t kWide, std::size_t kChains>() {
    if constexpr (CellOf::kGates * kWide * kChains <= kSums) {
      return SequenceFunction(run_member<Format, CellOf, kWide, kChains>);
    } else {
      return SequenceFunction(nullptr);
    }
  };
  const auto with_chains = [&]<std::size_t kWide>() -> SequenceFunction {
    switch (parameters.chains) {
      case 1:
        return loop.template operator()<kWide, 1>();
      case 2:
        return loop.template operator()<kWide, 2>();
      case 4:
        return loop.template operator()<kWide, 4>();
      default:
        return nullptr;
    }
  };
  if (parameters.units == kLanes) return with_chains.template operator()<1>();
  if (parameters.units == 2 * kLanes) {
    return with_chains.template operator()<2>();
  }
  return nullptr;
}

template <class Format>
SequenceFunction find_loop(const SequenceShape& shape,
                           const LoopParameters& parameters) {
  return shape.cell == Cell::kLstm ? find_loop_of<Format, LstmCell>(parameters)
                                   : find_loop_of<Format, GruCell>(parameters);
}

}  // namespace weft::HWY_NAMESPACE::recurrent
HWY_AFTER_NAMESPACE();

#endif  // per target
