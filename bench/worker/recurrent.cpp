// weft-bench recurrent lstm|gru --hidden --steps --batch --weights --way: one
// layer over a sequence, of as many inputs as hidden units (DeepBench). Ways:
//   ops      separate ops: a product for each gate, elementwise ops
//   library  the kernel that calls the library's products
//   onednn   oneDNN's own LSTM or GRU
//   loop     the loop with the parameters of the search
// Work is sequences, a part of one where the steps of `ops` are fewer. The
// request `latency` answers with the p50 and p99 of a run in seconds, and with
// those of reading the weights and nothing else; `search` answers with the
// seconds of a search that nothing is known of, and of a run with the paper's
// parameters, with the default, and with what was found.
#include <algorithm>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "bench/worker/options.h"
#include "bench/worker/serve.h"
#include "bench/worker/weight_reads.h"

#include "weft/base/parallel.h"
#include "weft/base/philox.h"
#include "weft/base/stopwatch.h"
#include "weft/graph/builder.h"
#include "weft/graph/kernel.h"
#include "weft/graph/registry.h"
#include "weft/kernels/recurrent/search.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::bench {
namespace {

using recurrent::Cell;

// Separate ops are unrolled, and no more of them than a plan is made of soon.
constexpr std::int64_t kMostUnrolled = 25;
constexpr double kSecondsOfLatencies = 6;
constexpr double kSecondsOfTurn = 0.3;

struct Problem {
  Cell cell;
  std::int64_t hidden, steps, batch;
  DType weights;

  std::int64_t gates() const { return cell == Cell::kLstm ? 4 : 3; }
  std::string op() const { return cell == Cell::kLstm ? "lstm" : "gru"; }
  // x, states, weights and biases, in the order of the op.
  std::vector<TensorType> operands() const {
    const auto f32 = [](Shape shape) { return TensorType{DType::kF32, shape}; };
    std::vector<TensorType> types = {f32({steps, batch, hidden})};
    types.resize(cell == Cell::kLstm ? 3 : 2, f32({batch, hidden}));
    types.resize(types.size() + 2, f32({hidden, gates() * hidden}));
    types.resize(6, f32({gates() * hidden}));
    return types;
  }
};

Tensor random_tensor(const TensorType& type, std::uint32_t stream,
                     double bound) {
  const Tensor tensor = Tensor::empty(type);
  const RandomStream random{1, stream, 0};
  for (Dim i = 0; i < tensor.size(); ++i) {
    const auto word = random.word(static_cast<std::uint64_t>(i)) % 2001;
    tensor.data<float>()[i] =
        static_cast<float>(bound * (static_cast<double>(word) / 1000 - 1));
  }
  return tensor;
}

std::vector<Tensor> random_operands(const Problem& problem) {
  std::vector<Tensor> operands;
  const double bound = 1 / std::sqrt(static_cast<double>(problem.hidden));
  for (const TensorType& type : problem.operands()) {
    operands.push_back(random_tensor(
        type, static_cast<std::uint32_t>(operands.size()), bound));
  }
  return operands;
}

class Way {
 public:
  virtual ~Way() = default;
  virtual void run() = 0;
  virtual double sequences() const { return 1; }  // of a run
  virtual std::string says() const { return ""; }
};

// A kernel of the op, with weights that are known.
class KernelWay : public Way {
 public:
  KernelWay(const Problem& problem, std::string_view name)
      : op_(op_registry().get(problem.op())),
        attributes_(op_.complete({{"weights", problem.weights}})),
        inputs_(problem.operands()),
        outputs_(op_.infer_types(inputs_, attributes_)),
        operands_(random_operands(problem)) {
    std::vector<const Tensor*> known(operands_.size(), nullptr);
    const std::size_t first = problem.cell == Cell::kLstm ? 3 : 2;
    for (std::size_t i = first; i < known.size(); ++i) known[i] = &operands_[i];
    const OpCall call{op_, inputs_, attributes_, outputs_, known};
    KernelChoice choice = choose_kernel(call, kernel_registry(), name);
    if (choice.name != name) {
      throw Error(ErrorCode::kUnsupported, "weft-bench", "{} declined", name);
    }
    says_ = choice.description();
    kernel_ = std::move(choice.kernel);
    for (const Tensor& operand : operands_) in_.push_back(operand.raw());
    for (const TensorType& type : outputs_) {
      results_.push_back(Tensor::zeros(type));
      out_.push_back(results_.back().raw());
    }
    scratch_ = Tensor::zeros(
        {DType::kU8, {static_cast<Dim>(kernel_->scratch_bytes())}});
  }
  void run() override {
    kernel_->run({in_.data(), out_.data(), scratch_.raw()});
  }
  std::string says() const override { return says_; }

 private:
  const OpDef& op_;
  Attributes attributes_;
  std::vector<TensorType> inputs_, outputs_;
  std::vector<Tensor> operands_, results_;
  std::vector<void*> in_, out_;
  Tensor scratch_;
  std::unique_ptr<PreparedKernel> kernel_;
  std::string says_;
};

// One step of separate ops: for each gate a product with x and one with h.
class OpsWay : public Way {
 public:
  explicit OpsWay(Problem problem)
      : all_(problem.steps), steps_(std::min(problem.steps, kMostUnrolled)) {
    problem.steps = steps_;
    FunctionBuilder builder("layer");
    const TensorType state{DType::kF32, {problem.batch, problem.hidden}};
    const TensorType w{DType::kF32, {problem.hidden, problem.hidden}};
    const TensorType b{DType::kF32, {problem.hidden}};
    std::vector<Value> x;
    for (std::int64_t t = 0; t < steps_; ++t) x.push_back(take(builder, state));
    Value h = take(builder, state);
    Value c = problem.cell == Cell::kLstm ? take(builder, state) : Value();
    std::vector<std::array<Value, 4>> gates;
    for (std::int64_t k = 0; k < problem.gates(); ++k) {
      gates.push_back({take(builder, w), take(builder, w), take(builder, b),
                       take(builder, b)});
    }
    executable_ = std::make_unique<Executable>(builder.build([&] {
      std::vector<Value> results;
      for (const Value& each : x) {
        h = problem.cell == Cell::kLstm ? lstm_step(each, h, c, gates)
                                        : gru_step(each, h, gates);
        results.push_back(h);
      }
      return results;
    }));
    results_ = executable_->run(arguments_);
  }
  void run() override { executable_->run(arguments_, results_); }
  double sequences() const override {
    return static_cast<double>(steps_) / static_cast<double>(all_);
  }

 private:
  using Gates = std::vector<std::array<Value, 4>>;

  Value take(FunctionBuilder& builder, const TensorType& type) {
    arguments_.push_back(random_tensor(
        type, static_cast<std::uint32_t>(arguments_.size()), 0.05));
    return builder.parameter(type);
  }
  static Value lstm_step(const Value& x, const Value& h, Value& c,
                         const Gates& gates) {
    const auto sum = [&](std::size_t k) {
      return matmul(x, gates[k][0]) + matmul(h, gates[k][1]) + gates[k][2];
    };
    c = sigmoid(sum(1)) * c + sigmoid(sum(0)) * tanh(sum(2));
    return sigmoid(sum(3)) * tanh(c);
  }
  static Value gru_step(const Value& x, const Value& h, const Gates& gates) {
    const auto input = [&](std::size_t k) {
      return matmul(x, gates[k][0]) + gates[k][2];
    };
    const auto state = [&](std::size_t k) {
      return matmul(h, gates[k][1]) + gates[k][3];
    };
    const Value r = sigmoid(input(0) + state(0));
    const Value z = sigmoid(input(1) + state(1));
    const Value n = tanh(input(2) + r * state(2));
    return (1.0 - z) * n + z * h;
  }

  std::int64_t all_, steps_;
  std::vector<Tensor> arguments_, results_;
  std::unique_ptr<Executable> executable_;
};

// oneDNN's primitive, with weights that were reordered once.
class OnednnWay : public Way {
  using memory = dnnl::memory;
  using tag = memory::format_tag;

 public:
  explicit OnednnWay(const Problem& p)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const auto f32 = memory::data_type::f32;
    const memory::desc x({p.steps, p.batch, p.hidden}, f32, tag::tnc);
    const memory::desc h({1, 1, p.batch, p.hidden}, f32, tag::ldnc);
    const bool is_lstm = p.cell == Cell::kLstm;
    const memory::dims w_dims{1, 1, p.hidden, p.gates(), p.hidden};
    const memory::desc w(w_dims, f32, tag::any);
    const memory::desc b({1, 1, is_lstm ? 4 : 4, p.hidden}, f32, tag::ldgo);
    const memory::desc y({p.steps, p.batch, p.hidden}, f32, tag::tnc);
    const auto inference = dnnl::prop_kind::forward_inference;
    const auto left = dnnl::rnn_direction::unidirectional_left2right;
    if (is_lstm) {
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::lstm_forward::primitive_desc d(engine_, inference, left, x, h,
                                                 h, w, w, b, y, h, h);
#else
      const dnnl::lstm_forward::primitive_desc d(
          {inference, left, x, h, h, w, w, b, y, h, h}, engine_);
#endif
      fill(d, w_dims, {x, h, h, b, y, h, h});
      arguments_[DNNL_ARG_SRC_ITER_C] = make(h);
      arguments_[DNNL_ARG_DST_ITER_C] = make(h);
      primitive_ = dnnl::lstm_forward(d);
    } else {
      // The reset gate acts after the product, as in our op.
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::lbr_gru_forward::primitive_desc d(engine_, inference, left, x,
                                                    h, w, w, b, y, h);
#else
      const dnnl::lbr_gru_forward::primitive_desc d(
          {inference, left, x, h, w, w, b, y, h}, engine_);
#endif
      fill(d, w_dims, {x, h, h, b, y, h, h});
      primitive_ = dnnl::lbr_gru_forward(d);
    }
  }
  void run() override {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  memory make(const memory::desc& desc) {
    memory made(desc, engine_);
    auto* floats = static_cast<float*>(made.get_data_handle());
    std::fill_n(floats, desc.get_size() / sizeof(float), 0.01f);
    return made;
  }
  // As `desc` wants it.
  memory weights(const memory::dims& dims, const memory::desc& desc) {
    memory plain = make({dims, memory::data_type::f32, tag::ldigo});
    memory wanted(desc, engine_);
    dnnl::reorder(plain, wanted).execute(stream_, plain, wanted);
    stream_.wait();
    return wanted;
  }
  template <class Descriptor>
  void fill(const Descriptor& d, const memory::dims& w_dims,
            const std::vector<memory::desc>& descs) {
    arguments_[DNNL_ARG_SRC_LAYER] = make(descs[0]);
    arguments_[DNNL_ARG_SRC_ITER] = make(descs[1]);
    arguments_[DNNL_ARG_WEIGHTS_LAYER] =
        weights(w_dims, d.weights_layer_desc());
    arguments_[DNNL_ARG_WEIGHTS_ITER] = weights(w_dims, d.weights_iter_desc());
    arguments_[DNNL_ARG_BIAS] = make(descs[3]);
    arguments_[DNNL_ARG_DST_LAYER] = make(descs[4]);
    arguments_[DNNL_ARG_DST_ITER] = make(descs[5]);
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
};

std::unique_ptr<Way> make_way(const Problem& problem, const std::string& way) {
  if (way == "ops") return std::make_unique<OpsWay>(problem);
  if (way == "onednn") return std::make_unique<OnednnWay>(problem);
  if (way == "library") {
    return std::make_unique<KernelWay>(problem, "onednn+simd:" + problem.op());
  }
  if (way != "loop") {
    throw Error(ErrorCode::kInvalidArgument, "weft-bench", "no way '{}'", way)
        .hint("ops, library, onednn, loop");
  }
  return std::make_unique<KernelWay>(problem, "simd:" + problem.op() + "_loop");
}

// Appends the seconds of each run of a turn. The first is not counted, as it
// finds the caches as others left them.
template <class Run>
void time_turn(std::vector<double>& seconds, Run run) {
  run();
  const Stopwatch turn;
  do {
    const Stopwatch watch;
    run();
    seconds.push_back(watch.seconds());
  } while (turn.seconds() < kSecondsOfTurn);
}

double quantile(std::vector<double>& seconds, double share) {
  std::ranges::sort(seconds);
  return seconds[static_cast<std::size_t>(
      share * static_cast<double>(seconds.size() - 1))];
}

// Runs take turns with the bare reads of as many weights.
Json latencies(Way& way, const Problem& problem) {
  const std::int64_t weights =
      problem.gates() * problem.hidden * problem.hidden;
  const WeightReads reads(weights, weights, problem.steps);
  std::vector<double> seconds, bare;
  const Stopwatch all;
  while (all.seconds() < kSecondsOfLatencies || seconds.size() <= 10) {
    time_turn(seconds, [&] { way.run(); });
    time_turn(bare, [&] { reads.run(); });
  }
  return {{"p50", quantile(seconds, 0.5)},
          {"p99", quantile(seconds, 0.99)},
          {"runs", seconds.size()},
          {"read_p50", quantile(bare, 0.5)},
          {"read_p99", quantile(bare, 0.99)}};
}

Json search(const Problem& problem) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const recurrent::SequenceShape shape{
      problem.cell,         size(problem.steps),  size(problem.batch),
      size(problem.hidden), size(problem.hidden), problem.weights};
  const Stopwatch watch;
  auto timed = recurrent::timed_parameters(shape, thread_count());
  const auto seconds = recurrent::time_candidates(shape, timed);
  const double seconds_of_search = watch.seconds();
  const auto best = timed[static_cast<std::size_t>(
      std::ranges::min_element(seconds) - seconds.begin())];
  // Once more, each of the same runs.
  const auto again = recurrent::time_candidates(
      shape,
      {recurrent::paper_parameters(shape, thread_count()), timed[0], best});
  return {{"seconds", seconds_of_search},
          {"paper", again[0]},
          {"default", again[1]},
          {"best", again[2]},
          {"found", to_string(best)}};
}

}  // namespace

void race_recurrent(const WorkerOptions& options) {
  const std::uint64_t baseline = status_bytes("VmRSS");
  const Problem problem{
      options.model == "lstm" ? Cell::kLstm : Cell::kGru,
      options.integer("hidden"), options.integer("steps"),
      options.integer("batch"),
      dtype_from_string(options.text("weights")).value_or(DType::kF32)};
  const Stopwatch watch;
  const auto way = make_way(problem, options.text("way"));
  const double seconds_to_make = watch.seconds();
  way->run();
  const double least = 0.1;  // seconds of a block
  serve({{"run",
          [&] {
            const Stopwatch block;
            double sequences = 0;
            while (block.seconds() < least) {
              way->run();
              sequences += way->sequences();
            }
            return Json{{"work", sequences}, {"seconds", block.seconds()}};
          }},
         {"latency", [&] { return latencies(*way, problem); }},
         {"search", [&] { return search(problem); }},
         {"about",
          [&] {
            return Json{{"kernel", way->says()},
                        {"seconds_to_make", seconds_to_make}};
          }}},
        baseline);
}

}  // namespace weft::bench
