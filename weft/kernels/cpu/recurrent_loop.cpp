// LSTM and GRU of few sequences at once, and of any number with narrow weights,
// as one loop over time that streams packed weights
// (kernels/recurrent/sequence.h). Weights whose values are known are packed
// when the kernel is made ready, others in every run.
#include <cstring>
#include <optional>

#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/kernels/recurrent/search.h"

namespace weft {
namespace {

using namespace recurrent;  // NOLINT: what this file makes a kernel of

// With more rows, weights are used often enough for the libraries' products.
constexpr Dim kMostRows = 4;
// To pack weights costs about as much as so many steps with them.
constexpr Dim kStepsOfPacking = 8;

// Which operand is what: lstm(x, h, c, w_ih, w_hh, bias), and gru(x, h, w_ih,
// w_hh, b_ih, b_hh).
struct Operands {
  std::size_t w_ih, w_hh, input_bias, state_bias;
};
constexpr Operands operands_of(Cell cell) {
  return cell == Cell::kLstm ? Operands{3, 4, 5, 5} : Operands{2, 3, 4, 5};
}

template <Cell kCell>
SequenceShape shape_of(const OpCall& call) {
  const auto size = [](Dim dim) { return static_cast<std::size_t>(dim); };
  const Shape& x = call.input(0).shape;
  return {.cell = kCell,
          .steps = size(x[0]),
          .batch = size(x[1]),
          .inputs = size(x[2]),
          .hidden = size(call.input(1).shape[1]),
          .weights = call.attributes.get<DType>("weights")};
}

// Weights in panels: of values that are known, or packed in each run.
class Weights {
 public:
  Weights(const PanelLayout& layout, std::size_t operand, const Tensor* known)
      : layout_(layout), operand_(operand) {
    if (known == nullptr) return;
    known_ = shared_panels(layout, *known);
    panels_ = Panels(layout, static_cast<const std::byte*>(known_->raw()));
  }

  bool is_known() const { return known_ != nullptr; }
  std::size_t scratch_bytes() const { return is_known() ? 0 : layout_.bytes(); }

  // `memory` has scratch_bytes().
  Panels panels(const KernelBuffers& buffers, std::byte* memory) const {
    if (is_known()) return panels_;
    pack(layout_, static_cast<const float*>(buffers.inputs[operand_]), memory);
    return {layout_, memory};
  }

 private:
  PanelLayout layout_;
  std::size_t operand_;
  std::shared_ptr<const Tensor> known_;
  Panels panels_;
};

template <Cell kCell>
class RecurrentLoop : public PreparedKernel {
  static constexpr Operands kOperands = operands_of(kCell);
  static constexpr bool kIsLstm = kCell == Cell::kLstm;

 public:
  explicit RecurrentLoop(const OpCall& call)
      : shape_(shape_of<kCell>(call)),
        parameters_(fastest_parameters(shape_, thread_count())),
        function_(find_sequence(shape_, parameters_)),
        input_weights_(input_layout(shape_, parameters_.units), kOperands.w_ih,
                       call.known_input(kOperands.w_ih)),
        state_weights_(state_layout(shape_, parameters_.units), kOperands.w_hh,
                       call.known_input(kOperands.w_hh)) {
    // More are never used, and each step ahead has memory of its own.
    parameters_.ahead = std::min(parameters_.ahead, shape_.steps);
    WEFT_CHECK(function_ != nullptr);
  }

  std::size_t scratch_bytes() const override {
    return input_weights_.scratch_bytes() + state_weights_.scratch_bytes() +
           static_cast<std::size_t>(parameters_.threads) *
               recurrent::scratch_bytes(shape_, parameters_);
  }

  std::string implementation() const override {
    const bool is_packed =
        input_weights_.is_known() && state_weights_.is_known();
    return fmt::format("{} weights packed {}, {}", to_string(shape_.weights),
                       is_packed ? "once" : "in each run",
                       to_string(parameters_));
  }

  void run(const KernelBuffers& buffers) noexcept override {
    if (shape_.steps == 0) return keep_states(buffers);
    auto* memory = static_cast<std::byte*>(buffers.scratch);
    const Panels input_weights = input_weights_.panels(buffers, memory);
    memory += input_weights_.scratch_bytes();
    const Panels state_weights = state_weights_.panels(buffers, memory);
    memory += state_weights_.scratch_bytes();
    const auto input = [&](std::size_t i) {
      return static_cast<const float*>(buffers.inputs[i]);
    };
    const auto output = [&](std::size_t i) {
      return static_cast<float*>(buffers.outputs[i]);
    };
    run_sequence({.shape = shape_,
                  .parameters = parameters_,
                  .input_weights = input_weights,
                  .state_weights = state_weights,
                  .x = input(0),
                  .h = input(1),
                  .c = kIsLstm ? input(2) : nullptr,
                  .input_bias = input(kOperands.input_bias),
                  .state_bias = input(kOperands.state_bias),
                  .y = output(0),
                  .h_last = output(1),
                  .c_last = kIsLstm ? output(2) : nullptr,
                  .gates = output(kIsLstm ? 3 : 2),
                  .cells = kIsLstm ? output(4) : nullptr,
                  .scratch = memory},
                 function_);
  }

 private:
  void keep_states(const KernelBuffers& buffers) const noexcept {
    const std::size_t bytes = shape_.batch * shape_.hidden * sizeof(float);
    std::memcpy(buffers.outputs[1], buffers.inputs[1], bytes);
    if (kIsLstm) std::memcpy(buffers.outputs[2], buffers.inputs[2], bytes);
  }

  SequenceShape shape_;
  LoopParameters parameters_;
  SequenceFunction function_;
  Weights input_weights_, state_weights_;
};

std::optional<std::string> declines(const OpCall& call) {
  if (call.input(0).dtype != DType::kF32) {
    return fmt::format("computes in f32, not in {}",
                       to_string(call.input(0).dtype));
  }
  // The first one may have no steps: then the state stays as it was.
  for (const TensorType& type : call.inputs.subspan(1)) {
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  if (call.input(0).shape[2] == 0) return "there are no inputs";
  // No library multiplies by narrow weights.
  if (call.input(0).shape[1] > kMostRows &&
      call.attributes.get<DType>("weights") == DType::kF32) {
    return fmt::format("takes up to {} sequences at once", kMostRows);
  }
  return std::nullopt;
}

template <Cell kCell>
std::optional<std::string> yields(const OpCall& call) {
  constexpr Operands kOperands = operands_of(kCell);
  const bool is_known = call.known_input(kOperands.w_ih) != nullptr &&
                        call.known_input(kOperands.w_hh) != nullptr;
  const Dim steps = call.input(0).shape[0];
  if (is_known || steps == 0 || steps >= kStepsOfPacking ||
      call.attributes.get<DType>("weights") != DType::kF32) {
    return std::nullopt;
  }
  return fmt::format("would pack the weights in each run, for {} steps", steps);
}

template <Cell kCell>
std::unique_ptr<PreparedKernel> prepare(const OpCall& call) {
  return std::make_unique<RecurrentLoop<kCell>>(call);
}

}  // namespace

void register_cpu_recurrent_loop(KernelRegistry& kernels) {
  kernels.add({.op = "lstm",
               .name = "simd:lstm_loop",
               .rank = 30,
               .declines = declines,
               .prepare = prepare<Cell::kLstm>,
               .competes = true,
               .yields = yields<Cell::kLstm>});
  kernels.add({.op = "gru",
               .name = "simd:gru_loop",
               .rank = 30,
               .declines = declines,
               .prepare = prepare<Cell::kGru>,
               .competes = true,
               .yields = yields<Cell::kGru>});
}

}  // namespace weft
