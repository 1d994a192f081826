// What batching gains on a cell of a tree network: B runs of the cell's plan,
// one after another, against one run of the batched function's.
#include <array>

#include "bench/micro/benches.h"
#include "bench/micro/op_runner.h"

#include "weft/autodiff/gradient.h"
#include "weft/batching/batch.h"
#include "weft/graph/builder.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::micro {
namespace {

constexpr Dim kHidden = 150;
constexpr std::size_t kChildren = 4;  // h and c of each
constexpr std::size_t kWeights = 2;   // w and bias
constexpr double kTolerance = 1e-4;

Value gate(const Value& gates, std::int64_t index) {
  return slice_axis(gates, 1, index * kHidden, (index + 1) * kHidden);
}

// The binary cell of Tai, Socher and Manning (2015). Parameters: h left, h
// right, c left, c right, w, bias, dh, dc. Results: h, c and, if `is_training`,
// the gradients of the first six parameters.
Function tree_lstm(bool is_training) {
  const TensorType row{DType::kF32, {1, kHidden}};
  FunctionBuilder builder("tree_lstm");
  std::vector<Value> p;
  for (std::size_t i = 0; i < kChildren; ++i) {
    p.push_back(builder.parameter(row));
  }
  p.push_back(builder.parameter({DType::kF32, {2 * kHidden, 5 * kHidden}}));
  p.push_back(builder.parameter({DType::kF32, {5 * kHidden}}));
  for (int i = 0; i < 2; ++i) p.push_back(builder.parameter(row));
  return builder.build([&] {
    const Value gates = matmul(concat(std::span(p).first(2), 1), p[4]) + p[5];
    const Value c = sigmoid(gate(gates, 0)) * tanh(gate(gates, 1)) +
                    sigmoid(gate(gates, 2)) * p[2] +
                    sigmoid(gate(gates, 3)) * p[3];
    const Value h = sigmoid(gate(gates, 4)) * tanh(c);
    std::vector<Value> results = {h, c};
    if (!is_training) return results;
    const Value flow = sum(h * p[6]) + sum(c * p[7]);
    for (Value& gradient :
         gradients(flow, std::span(p).first(kChildren + kWeights))) {
      results.push_back(std::move(gradient));
    }
    return results;
  });
}

constexpr std::array kBatched = {true,  true,  true, true,
                                 false, false, true, true};

// The same cell, its weights' gradients added to those of earlier runs: the two
// parameters behind the cell's own.
Function adding_to_sums(const Function& cell) {
  FunctionBuilder builder(cell.name());
  return builder.build([&] {
    std::vector<Value> arguments;
    for (const ValueId id : cell.parameters()) {
      arguments.push_back(builder.parameter(cell.type(id)));
    }
    const auto values = builder.inline_function(cell, arguments);
    std::vector<Value> results;
    for (const ValueId id : cell.results()) {
      results.push_back(values[static_cast<std::size_t>(id)]);
    }
    for (std::size_t i = 2 + kChildren; i < results.size(); ++i) {
      results[i] = builder.parameter(results[i].type()) + results[i];
    }
    return results;
  });
}

class Cells {
 public:
  Cells(bool is_training, Dim instances)
      : is_training_(is_training), instances_(instances) {
    const Function cell = tree_lstm(is_training);
    std::vector<BatchMode> modes(cell.results().size(), BatchMode::kStack);
    ExecutableOptions in_place;
    if (is_training) {
      for (std::size_t i = 0; i < kWeights; ++i) {
        modes[2 + kChildren + i] = BatchMode::kSum;
        in_place.donated.push_back({kBatched.size() + i, 2 + kChildren + i});
      }
    }
    batched_ =
        std::make_unique<Executable>(batch(cell, kBatched, modes).function);
    single_ = std::make_unique<Executable>(adding_to_sums(cell), in_place);
    for (std::size_t i = 0; i < kBatched.size(); ++i) {
      TensorType type = cell.type(cell.parameters()[i]);
      if (kBatched[i]) type.shape = {instances, 1, kHidden};
      stacks_.push_back(
          random_tensor({type, -0.1, 0.1}, static_cast<std::uint32_t>(i)));
    }
    all_results_ = batched_->run(stacks_);
    prepare_single_runs();
  }

  void run_batched() { batched_->run(stacks_, all_results_); }

  void run_single() {
    for (const Tensor& sum : sums_) {
      std::memset(sum.raw(), 0, sum.bytes());
    }
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      single_->run(arguments_[i], results_[i]);
    }
  }

  // Whether both give the same states and sums.
  bool check(benchmark::State& state) {
    run_batched();
    run_single();
    const Dim last = instances_ - 1;
    for (std::size_t i = 0; i < all_results_.size(); ++i) {
      const bool is_sum = i >= 2 + kChildren;
      const Tensor& all = all_results_[i];
      const Tensor actual = is_sum ? all : all.slice(last, last + 1);
      if (!check_close(state, actual, results_.back()[i], kTolerance)) {
        return false;
      }
    }
    return true;
  }

 private:
  void prepare_single_runs() {
    if (is_training_) {
      for (std::size_t i = 0; i < kWeights; ++i) {
        sums_.push_back(Tensor::zeros(stacks_[kChildren + i].type()));
      }
    }
    for (Dim n = 0; n < instances_; ++n) {
      std::vector<Tensor> arguments;
      for (std::size_t i = 0; i < stacks_.size(); ++i) {
        arguments.push_back(
            kBatched[i] ? stacks_[i].slice(n, n + 1).reshape({1, kHidden})
                        : stacks_[i]);
      }
      std::vector<Tensor> results;
      for (std::size_t i = 0; i < all_results_.size() - sums_.size(); ++i) {
        results.push_back(Tensor::zeros({DType::kF32, {1, kHidden}}));
      }
      for (const Tensor& sum : sums_) {
        arguments.push_back(sum);
        results.push_back(sum);
      }
      arguments_.push_back(std::move(arguments));
      results_.push_back(std::move(results));
    }
  }

  bool is_training_;
  Dim instances_;
  std::unique_ptr<Executable> batched_;
  std::unique_ptr<Executable> single_;
  std::vector<Tensor> stacks_;
  std::vector<Tensor> all_results_;
  std::vector<Tensor> sums_;
  std::vector<std::vector<Tensor>> arguments_;
  std::vector<std::vector<Tensor>> results_;
};

void run_cells(benchmark::State& state, bool is_training, bool is_batched) {
  Cells cells(is_training, state.range(0));
  if (!cells.check(state)) return;
  for (auto _ : state) {
    if (is_batched) {
      cells.run_batched();
    } else {
      cells.run_single();
    }
  }
  state.counters["cells/s"] =
      benchmark::Counter(static_cast<double>(state.range(0)),
                         benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

void register_batching() {
  for (const bool is_training : {false, true}) {
    for (const bool is_batched : {false, true}) {
      const std::string name = fmt::format(
          "batching/tree_lstm_{}_{}", is_training ? "training" : "forward",
          is_batched ? "batched" : "one_by_one");
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) {
                                     run_cells(state, is_training, is_batched);
                                   })
          ->Arg(1)
          ->Arg(8)
          ->Arg(32)
          ->Arg(128)
          ->UseRealTime();
    }
  }
}

}  // namespace weft::micro
