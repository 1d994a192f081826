// LSTM and GRU over a sequence. The input's product is taken for all steps at
// once, and so are the gradients of the weights; only h w_hh is left inside
// the loop over time. The gates in between are one pass of SIMD.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/libraries/recurrent.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <optional>

#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/kernels/onednn/gemm.h"
#include "weft/kernels/simd/functions.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using onednn::gemm;
using simd::kLanes;
using simd::sigmoid;
using simd::tanh;
using simd::Vector;
namespace hn = simd::hn;

// The derivative of sigmoid and tanh from their results.
Vector sigmoid_slope(Vector y) { return hn::NegMulAdd(y, y, y); }
Vector tanh_slope(Vector y) {
  return hn::NegMulAdd(y, y, simd::broadcast(1.f));
}

// One vector's worth of columns, the last one maybe partial.
struct Span {
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

// to[j][i] = from[i][j], in tiles that fit L1 both ways. The loop over time
// reads w_hh transposed at each step; one copy makes all of them plain.
void transpose(const float* from, std::size_t rows, std::size_t columns,
               float* to) {
  constexpr std::size_t kTile = 32;
  parallel_for(static_cast<std::int64_t>((columns + kTile - 1) / kTile), 1,
               [&](std::int64_t begin, std::int64_t end) {
                 const auto last =
                     std::min(static_cast<std::size_t>(end) * kTile, columns);
                 for (auto j0 = static_cast<std::size_t>(begin) * kTile;
                      j0 < last; j0 += kTile) {
                   for (std::size_t i0 = 0; i0 < rows; i0 += kTile) {
                     for (auto j = j0; j < std::min(j0 + kTile, last); ++j) {
                       for (auto i = i0; i < std::min(i0 + kTile, rows); ++i) {
                         to[j * rows + i] = from[i * columns + j];
                       }
                     }
                   }
                 }
               });
}

class Recurrent : public PreparedKernel {
 protected:
  Recurrent(const OpCall& call, std::size_t gates)
      : steps_(static_cast<std::size_t>(call.input(0).shape[0])),
        batch_(static_cast<std::size_t>(call.input(0).shape[1])),
        inputs_(static_cast<std::size_t>(call.input(0).shape[2])),
        hidden_(static_cast<std::size_t>(call.input(1).shape[1])),
        columns_(gates * hidden_) {}

  std::int64_t rows() const { return integer(steps_ * batch_); }
  std::size_t state_size() const { return batch_ * hidden_; }
  static std::int64_t integer(std::size_t n) {
    return static_cast<std::int64_t>(n);
  }
  static const float* floats(const KernelBuffers& buffers, std::size_t input) {
    return static_cast<const float*>(buffers.inputs[input]);
  }
  static float* result(const KernelBuffers& buffers, std::size_t output) {
    return static_cast<float*>(buffers.outputs[output]);
  }
  void copy_state(const float* from, float* to) const {
    if (from != to) std::copy_n(from, state_size(), to);
  }

  // Calls body(row, span) for every vector of the batch's states, in parallel
  // over rows.
  template <class Body>
  void for_each_span(Body&& body) const {
    // Rows are shared out only if each thread gets about so many elements.
    constexpr std::size_t kLeastElements = 1024;
    parallel_for(integer(batch_), integer(1 + kLeastElements / hidden_),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto row = static_cast<std::size_t>(begin);
                        row < static_cast<std::size_t>(end); ++row) {
                     for (std::size_t j = 0; j < hidden_; j += kLanes) {
                       body(row, Span{j, std::min(kLanes, hidden_ - j)});
                     }
                   }
                 });
  }

  // out[j] = the sum of column j of [rows, columns_].
  void sum_columns(const float* matrix, float* out) const {
    // Threads share out the columns, so that each is summed in the order of the
    // rows.
    parallel_for(integer((columns_ + kLanes - 1) / kLanes), 4,
                 [&](std::int64_t begin, std::int64_t end) {
                   const auto first = static_cast<std::size_t>(begin) * kLanes;
                   const auto last = std::min(
                       static_cast<std::size_t>(end) * kLanes, columns_);
                   std::fill(out + first, out + last, 0.f);
                   for (std::size_t row = 0; row < steps_ * batch_; ++row) {
                     const float* x = matrix + row * columns_;
                     for (std::size_t j = first; j < last; ++j) out[j] += x[j];
                   }
                 });
  }

  // The gradient before the gates gives dx = dz w_ihᵀ and dw_ih = xᵀ dz.
  void input_gradients(const float* x, const float* w_ih, const float* dz,
                       float* dx, float* dw_ih) const {
    const std::int64_t columns = integer(columns_);
    const std::int64_t inputs = integer(inputs_);
    // One product for all steps keeps the machine busier than one for each.
    gemm(rows(), inputs, columns, {dz, columns}, {w_ih, columns, true}, 0.f, dx,
         inputs);
    gemm(inputs, columns, rows(), {x, inputs, true}, {dz, columns}, 0.f, dw_ih,
         columns);
  }

  // dw_hh = (h, y without its last step)ᵀ dz.
  void state_weight_gradient(const float* h, const float* y, const float* dz,
                             float* dw_hh) const {
    const std::int64_t columns = integer(columns_);
    const std::int64_t hidden = integer(hidden_);
    const std::int64_t batch = integer(batch_);
    // The first step's state is an operand, and those of the others lie one
    // behind the other in y: two products cover all steps.
    gemm(hidden, columns, batch, {h, hidden, true}, {dz, columns}, 0.f, dw_hh,
         columns);
    if (steps_ > 1) {
      gemm(hidden, columns, rows() - batch, {y, hidden, true},
           {dz + batch_ * columns_, columns}, 1.f, dw_hh, columns);
    }
  }

  std::size_t steps_, batch_, inputs_, hidden_;
  std::size_t columns_;  // what the weights have
};

class Lstm : public Recurrent {
 public:
  explicit Lstm(const OpCall& call) : Recurrent(call, 4) {}

  void run(const KernelBuffers& buffers) noexcept override {
    float* y = result(buffers, 0);
    float* gates = result(buffers, 3);
    float* cells = result(buffers, 4);
    const std::int64_t columns = integer(columns_);
    gemm(rows(), columns, integer(inputs_),
         {floats(buffers, 0), integer(inputs_)}, {floats(buffers, 3), columns},
         0.f, gates, columns);
    // States are read where the step before wrote them: in y, and in the cells.
    const float* h = floats(buffers, 1);
    const float* c = floats(buffers, 2);
    for (std::size_t t = 0; t < steps_; ++t) {
      float* step_gates = gates + t * batch_ * columns_;
      // The product is added to that of the input, which lies in the gates: z =
      // x w_ih + h w_hh.
      gemm(integer(batch_), columns, integer(hidden_), {h, integer(hidden_)},
           {floats(buffers, 4), columns}, 1.f, step_gates, columns);
      step(floats(buffers, 5), c, step_gates, cells + t * state_size(),
           y + t * state_size());
      h = y + t * state_size();
      c = cells + t * state_size();
    }
    copy_state(h, result(buffers, 1));
    copy_state(c, result(buffers, 2));
  }

 private:
  void step(const float* bias, const float* c, float* gates, float* c_out,
            float* h_out) const {
    for_each_span([&](std::size_t row, const Span& span) {
      float* gate = gates + row * columns_;
      const auto sum = [&](std::size_t block) {
        return hn::Add(span.load(gate + block * hidden_),
                       span.load(bias + block * hidden_));
      };
      // The blocks are i, f, g, o, and c' = f c + i g, h' = o tanh(c').
      const Vector i = sigmoid(sum(0));
      const Vector f = sigmoid(sum(1));
      const Vector g = tanh(sum(2));
      const Vector o = sigmoid(sum(3));
      const Vector cell =
          hn::MulAdd(f, span.load(c + row * hidden_), hn::Mul(i, g));
      // The gates take the place of the sums that they were made of.
      span.store(i, gate);
      span.store(f, gate + hidden_);
      span.store(g, gate + 2 * hidden_);
      span.store(o, gate + 3 * hidden_);
      span.store(cell, c_out + row * hidden_);
      span.store(hn::Mul(o, tanh(cell)), h_out + row * hidden_);
    });
  }
};

class LstmGradient : public Recurrent {
 public:
  explicit LstmGradient(const OpCall& call) : Recurrent(call, 4) {}

  // The gradient before the gates, for all steps, and w_hh transposed.
  std::size_t scratch_bytes() const override {
    return (steps_ * batch_ + hidden_) * columns_ * sizeof(float);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    auto* dz = static_cast<float*>(buffers.scratch);
    // The running gradients of h and c live where they will end.
    float* dh = result(buffers, 1);
    float* dc = result(buffers, 2);
    copy_state(floats(buffers, 9), dh);
    copy_state(floats(buffers, 10), dc);
    float* w_hh = dz + steps_ * batch_ * columns_;
    transpose(floats(buffers, 4), hidden_, columns_, w_hh);
    const std::int64_t columns = integer(columns_);
    for (std::size_t t = steps_; t-- > 0;) {
      float* step_dz = dz + t * batch_ * columns_;
      step(buffers, t, dh, dc, step_dz);
      // All of dh has gone into the gates, so the product begins anew.
      gemm(integer(batch_), integer(hidden_), columns, {step_dz, columns},
           {w_hh, integer(hidden_)}, 0.f, dh, integer(hidden_));
    }
    input_gradients(floats(buffers, 0), floats(buffers, 3), dz,
                    result(buffers, 0), result(buffers, 3));
    state_weight_gradient(floats(buffers, 1), floats(buffers, 5), dz,
                          result(buffers, 4));
    sum_columns(dz, result(buffers, 5));
  }

 private:
  void step(const KernelBuffers& buffers, std::size_t t, const float* dh,
            float* dc, float* dz) const {
    const float* gates = floats(buffers, 6) + t * batch_ * columns_;
    const float* cells = floats(buffers, 7) + t * state_size();
    // The cell before the first step is an operand, and the others lie one
    // behind the other.
    const float* previous = t > 0 ? cells - state_size() : floats(buffers, 2);
    const float* dy = floats(buffers, 8) + t * state_size();
    for_each_span([&](std::size_t row, const Span& span) {
      const float* gate = gates + row * columns_;
      const Vector i = span.load(gate);
      const Vector f = span.load(gate + hidden_);
      const Vector g = span.load(gate + 2 * hidden_);
      const Vector o = span.load(gate + 3 * hidden_);
      const std::size_t at = row * hidden_;
      const Vector tanh_c = tanh(span.load(cells + at));
      // A state flows into the results and into the next step; its gradient is
      // the sum of both.
      const Vector flow = hn::Add(span.load(dy + at), span.load(dh + at));
      // The cell's gradient comes through h = o tanh(c), and from the step
      // after.
      const Vector total =
          hn::MulAdd(hn::Mul(flow, o), tanh_slope(tanh_c), span.load(dc + at));
      float* out = dz + row * columns_;
      span.store(hn::Mul(hn::Mul(total, g), sigmoid_slope(i)), out);
      span.store(
          hn::Mul(hn::Mul(total, span.load(previous + at)), sigmoid_slope(f)),
          out + hidden_);
      span.store(hn::Mul(hn::Mul(total, i), tanh_slope(g)), out + 2 * hidden_);
      span.store(hn::Mul(hn::Mul(flow, tanh_c), sigmoid_slope(o)),
                 out + 3 * hidden_);
      // What flows back to the cell before passes the forget gate.
      span.store(hn::Mul(total, f), dc + at);
    });
  }
};

class Gru : public Recurrent {
 public:
  explicit Gru(const OpCall& call) : Recurrent(call, 3) {}

  // h w_hh of one step.
  std::size_t scratch_bytes() const override {
    return batch_ * columns_ * sizeof(float);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    float* y = result(buffers, 0);
    float* gates = result(buffers, 2);
    auto* from_h = static_cast<float*>(buffers.scratch);
    const std::int64_t columns = integer(columns_);
    // Rows of gates have a fourth block, so the product goes in with a gap.
    gemm(rows(), columns, integer(inputs_),
         {floats(buffers, 0), integer(inputs_)}, {floats(buffers, 2), columns},
         0.f, gates, integer(4 * hidden_));
    const float* h = floats(buffers, 1);
    for (std::size_t t = 0; t < steps_; ++t) {
      gemm(integer(batch_), columns, integer(hidden_), {h, integer(hidden_)},
           {floats(buffers, 3), columns}, 0.f, from_h, columns);
      step(floats(buffers, 4), floats(buffers, 5), from_h, h,
           gates + t * batch_ * 4 * hidden_, y + t * state_size());
      h = y + t * state_size();
    }
    copy_state(h, result(buffers, 1));
  }

 private:
  void step(const float* b_ih, const float* b_hh, const float* from_h,
            const float* h, float* gates, float* h_out) const {
    for_each_span([&](std::size_t row, const Span& span) {
      float* gate = gates + row * 4 * hidden_;
      const float* product = from_h + row * columns_;
      const auto input = [&](std::size_t block) {
        return hn::Add(span.load(gate + block * hidden_),
                       span.load(b_ih + block * hidden_));
      };
      const auto state = [&](std::size_t block) {
        return hn::Add(span.load(product + block * hidden_),
                       span.load(b_hh + block * hidden_));
      };
      const Vector r = sigmoid(hn::Add(input(0), state(0)));
      const Vector z = sigmoid(hn::Add(input(1), state(1)));
      // The reset gate acts on h w_hh + b_hh, and not on h: so one product
      // serves all gates.
      const Vector candidate = state(2);
      const Vector n = tanh(hn::MulAdd(r, candidate, input(2)));
      const Vector old = span.load(h + row * hidden_);
      span.store(r, gate);
      span.store(z, gate + hidden_);
      span.store(n, gate + 2 * hidden_);
      // The gradient of the reset gate is a multiple of it.
      span.store(candidate, gate + 3 * hidden_);
      // (1 - z) n + z h
      span.store(hn::MulAdd(z, hn::Sub(old, n), n), h_out + row * hidden_);
    });
  }
};

class GruGradient : public Recurrent {
 public:
  explicit GruGradient(const OpCall& call) : Recurrent(call, 3) {}

  // The gradient before the gates, by way of x and by way of h, and w_hh
  // transposed.
  std::size_t scratch_bytes() const override {
    return (2 * steps_ * batch_ + hidden_) * columns_ * sizeof(float);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    auto* by_x = static_cast<float*>(buffers.scratch);
    float* by_h = by_x + steps_ * batch_ * columns_;
    float* dh = result(buffers, 1);
    copy_state(floats(buffers, 7), dh);
    float* w_hh = by_h + steps_ * batch_ * columns_;
    transpose(floats(buffers, 3), hidden_, columns_, w_hh);
    const std::int64_t columns = integer(columns_);
    for (std::size_t t = steps_; t-- > 0;) {
      const std::size_t at = t * batch_ * columns_;
      step(buffers, t, dh, by_x + at, by_h + at);
      // A part of dh has passed the gates by (flow z), to which the product is
      // added.
      gemm(integer(batch_), integer(hidden_), columns, {by_h + at, columns},
           {w_hh, integer(hidden_)}, 1.f, dh, integer(hidden_));
    }
    input_gradients(floats(buffers, 0), floats(buffers, 2), by_x,
                    result(buffers, 0), result(buffers, 2));
    state_weight_gradient(floats(buffers, 1), floats(buffers, 4), by_h,
                          result(buffers, 3));
    sum_columns(by_x, result(buffers, 4));
    sum_columns(by_h, result(buffers, 5));
  }

 private:
  void step(const KernelBuffers& buffers, std::size_t t, float* dh, float* by_x,
            float* by_h) const {
    const float* y = floats(buffers, 4);
    const float* h = t > 0 ? y + (t - 1) * state_size() : floats(buffers, 1);
    const float* gates = floats(buffers, 5) + t * batch_ * 4 * hidden_;
    const float* dy = floats(buffers, 6) + t * state_size();
    for_each_span([&](std::size_t row, const Span& span) {
      const float* gate = gates + row * 4 * hidden_;
      const Vector r = span.load(gate);
      const Vector z = span.load(gate + hidden_);
      const Vector n = span.load(gate + 2 * hidden_);
      const Vector candidate = span.load(gate + 3 * hidden_);
      const std::size_t at = row * hidden_;
      const Vector flow = hn::Add(span.load(dy + at), span.load(dh + at));
      // h' = n + z (h - n), so that dn carries 1 - z of the flow and dz carries
      // h - n.
      const Vector dn = hn::Mul(hn::NegMulAdd(flow, z, flow), tanh_slope(n));
      const Vector dr = hn::Mul(hn::Mul(dn, candidate), sigmoid_slope(r));
      const Vector dz = hn::Mul(hn::Mul(flow, hn::Sub(span.load(h + at), n)),
                                sigmoid_slope(z));
      float* x_row = by_x + row * columns_;
      float* h_row = by_h + row * columns_;
      span.store(dr, x_row);
      span.store(dz, x_row + hidden_);
      span.store(dn, x_row + 2 * hidden_);
      span.store(dr, h_row);
      span.store(dz, h_row + hidden_);
      // Only the candidate's share differs between the two: the reset gate
      // scales what comes from h.
      span.store(hn::Mul(dn, r), h_row + 2 * hidden_);
      span.store(hn::Mul(flow, z), dh + at);
    });
  }
};

std::optional<std::string> declines(const OpCall& call) {
  if (call.input(0).dtype != DType::kF32) {
    return fmt::format("computes in f32, not in {}",
                       to_string(call.input(0).dtype));
  }
  for (const TensorType& type : call.inputs) {
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  return std::nullopt;
}

std::optional<std::string> declines_forward(const OpCall& call) {
  const auto weights = call.attributes.get<DType>("weights");
  if (weights != DType::kF32) {
    return fmt::format("multiplies weights of f32, not of {}",
                       to_string(weights));
  }
  return declines(call);
}

template <class Kernel>
std::unique_ptr<PreparedKernel> prepare(const OpCall& call) {
  return std::make_unique<Kernel>(call);
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add({.op = "lstm",
               .name = "onednn+simd:lstm",
               .rank = 10,
               .declines = declines_forward,
               .prepare = prepare<Lstm>,
               .competes = true});
  kernels.add({.op = "lstm_gradient",
               .name = "onednn+simd:lstm_gradient",
               .rank = 10,
               .declines = declines,
               .prepare = prepare<LstmGradient>});
  kernels.add({.op = "gru",
               .name = "onednn+simd:gru",
               .rank = 10,
               .declines = declines_forward,
               .prepare = prepare<Gru>,
               .competes = true});
  kernels.add({.op = "gru_gradient",
               .name = "onednn+simd:gru_gradient",
               .rank = 10,
               .declines = declines,
               .prepare = prepare<GruGradient>});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_library_recurrent(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
