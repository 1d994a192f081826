#include "weft/runtime/eager.h"

#include <array>
#include <atomic>

#include "weft/graph/collectives.h"
#include "weft/graph/kernel.h"
#include "weft/ops/constant.h"

namespace weft {
namespace {

constexpr std::size_t kMostOperands = 16;

thread_local Tape* innermost_tape = nullptr;

std::int64_t next_id() {
  // Far above the ids of any function, which start at 0.
  static std::atomic<std::int64_t> next{std::int64_t{1} << 40};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// A kernel prepared for one combination of op, types and attributes.
struct PreparedCall {
  const OpDef* op = nullptr;
  std::vector<TensorType> inputs;
  Attributes given;
  std::vector<TensorType> outputs;
  std::unique_ptr<PreparedKernel> kernel;
  Tensor scratch;

  bool fits(const OpDef& wanted, std::span<const Value* const> operands,
            const Attributes& attributes) const {
    if (op != &wanted || inputs.size() != operands.size()) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!(inputs[i] == operands[i]->tensor().type())) return false;
    }
    return given == attributes;
  }
};

std::size_t hash_call(const OpDef& op, std::span<const Value* const> operands) {
  std::size_t hash = reinterpret_cast<std::uintptr_t>(&op) >> 4;
  for (const Value* operand : operands) {
    const TensorType& type = operand->tensor().type();
    hash = hash * 31 + static_cast<std::size_t>(type.dtype);
    for (const Dim dim : type.shape) {
      hash = hash * 0x9E3779B97F4A7C15u + static_cast<std::size_t>(dim);
    }
  }
  return hash ^ (hash >> 29);
}

// Direct-mapped: a miss prepares the kernel anew and takes the slot, so the
// cache is bounded and a hit costs one comparison.
class KernelCache {
 public:
  PreparedCall& find(const OpDef& op, std::span<const Value* const> operands,
                     const Attributes& attributes, const Location& location) {
    PreparedCall& slot = slots_[hash_call(op, operands) % slots_.size()];
    if (!slot.fits(op, operands, attributes)) {
      slot = prepare(op, operands, attributes, location);
    }
    return slot;
  }

 private:
  static PreparedCall prepare(const OpDef& op,
                              std::span<const Value* const> operands,
                              const Attributes& attributes,
                              const Location& location) {
    PreparedCall call;
    call.op = &op;
    for (const Value* operand : operands) {
      call.inputs.push_back(operand->tensor().type());
    }
    try {
      const Attributes complete = op.complete(attributes);
      call.outputs = op.infer_types(call.inputs, complete);
      KernelChoice choice =
          choose_kernel({op, call.inputs, complete, call.outputs});
      call.kernel = std::move(choice.kernel);
    } catch (Error& error) {
      if (location.is_known()) {
        error.detail("called at: " + to_string(location));
      }
      throw;
    }
    call.given = attributes;
    const auto bytes = static_cast<Dim>(call.kernel->scratch_bytes());
    if (bytes > 0) call.scratch = Tensor::empty({DType::kU8, {bytes}});
    return call;
  }

  std::array<PreparedCall, 256> slots_;
};

// Composites without kernels of their own run as what they lower to; under a
// tape so do those without a gradient rule.
bool runs_lowered(const OpDef& op) {
  if (op.lower() == nullptr) return false;
  if (innermost_tape != nullptr && op.gradient() == nullptr) return true;
  return op.reference() == nullptr &&
         kernel_registry().candidates(op.name()).empty();
}

class EagerContext : public Context {
 public:
  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override {
    if (runs_lowered(op)) return lower(op, inputs, attributes, location);
    PreparedCall& call = cache().find(op, inputs, attributes, location);
    std::vector<Value> outputs;
    outputs.reserve(call.outputs.size());
    for (const TensorType& type : call.outputs) {
      outputs.emplace_back(Tensor::empty(type), fresh_id());
    }
    run(call, inputs, outputs);
    if (innermost_tape != nullptr) record(op, inputs, attributes, outputs);
    return outputs;
  }

  Value apply_one(const OpDef& op, std::span<const Value* const> inputs,
                  const Attributes& attributes,
                  const Location& location) override {
    if (innermost_tape != nullptr || op.lower() != nullptr) {
      return std::move(apply(op, inputs, attributes, location).front());
    }
    PreparedCall& call = cache().find(op, inputs, attributes, location);
    Value output(Tensor::empty(call.outputs[0]), -1);
    run(call, inputs, {&output, 1});
    return output;
  }

 private:
  static KernelCache& cache() {
    thread_local KernelCache cache;
    return cache;
  }

  static std::int64_t fresh_id() {
    return innermost_tape != nullptr ? next_id() : -1;
  }

  static void run(PreparedCall& call, std::span<const Value* const> inputs,
                  std::span<const Value> outputs) {
    const bool meets_others = meets_other_ranks(*call.op, call.given);
    if (meets_others) require_collectives(*call.op, call.given);
    std::array<void*, kMostOperands> in;
    std::array<void*, kMostOperands> out;
    std::vector<void*> many_in;  // concat takes any number
    void** pointers = in.data();
    if (inputs.size() > kMostOperands) {
      many_in.resize(inputs.size());
      pointers = many_in.data();
    }
    std::vector<void*> many_out;  // split gives any number
    void** results = out.data();
    if (outputs.size() > kMostOperands) {
      many_out.resize(outputs.size());
      results = many_out.data();
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      pointers[i] = inputs[i]->tensor().raw();
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      results[i] = outputs[i].tensor().raw();
    }
    call.kernel->run(
        {pointers, results,
         call.scratch.is_defined() ? call.scratch.raw() : nullptr});
    if (meets_others) current_collectives()->throw_failure();
  }

  static std::vector<Value> lower(const OpDef& op,
                                  std::span<const Value* const> inputs,
                                  const Attributes& attributes,
                                  const Location& location) {
    std::vector<TensorType> types;
    std::vector<Value> arguments;
    for (const Value* input : inputs) {
      types.push_back(input->type());
      arguments.push_back(*input);
    }
    try {
      const Attributes complete = op.complete(attributes);
      op.infer_types(types, complete);
      return op.lower()(complete, arguments);
    } catch (Error& error) {
      if (location.is_known()) {
        error.detail("called at: " + to_string(location));
      }
      throw;
    }
  }

  static void record(const OpDef& op, std::span<const Value* const> inputs,
                     const Attributes& attributes,
                     const std::vector<Value>& outputs) {
    Application application{&op, op.complete(attributes), {}, outputs};
    for (const Value* input : inputs) application.inputs.push_back(*input);
    innermost_tape->record(std::move(application));
  }
};

}  // namespace

Context& eager_context() {
  static EagerContext context;
  return context;
}

Tape::Tape() : outer_(innermost_tape) { innermost_tape = this; }

Tape::~Tape() {
  if (innermost_tape == this) innermost_tape = outer_;
}

void Tape::watch(Value& value) {
  if (value.is_staged()) {
    throw Error(ErrorCode::kInvalidArgument, "tape",
                "a staged value cannot be watched")
        .hint("use gradients() inside the function that is being built");
  }
  if (value.id() < 0) value = Value(value.tensor(), next_id());
}

void Tape::record(Application application) {
  if (outer_ != nullptr) outer_->record(application);
  if (is_recording_) applications_.push_back(std::move(application));
}

std::vector<Value> Tape::gradient(const Value& root,
                                  std::span<const Value> wrt) {
  for (const Value& value : wrt) {
    if (value.id() < 0) {
      throw Error(ErrorCode::kInvalidArgument, "tape",
                  "a value of type {} was not watched", to_string(value.type()))
          .hint("call tape.watch(value) before computing with it");
    }
  }
  is_recording_ = false;  // the walk must not extend what it walks
  const Value seed = ones_like(root);
  auto result = reverse(applications_, {&root, 1}, {&seed, 1}, wrt);
  is_recording_ = true;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!result[i].is_defined()) result[i] = zeros_like(wrt[i]);
  }
  return result;
}

}  // namespace weft
