#include "weft/runtime/eager.h"

#include <algorithm>
#include <array>
#include <functional>

#include "weft/base/hash.h"
#include "weft/base/profile.h"
#include "weft/graph/collectives.h"
#include "weft/graph/index_check.h"
#include "weft/graph/kernel.h"
#include "weft/graph/variable.h"

namespace weft {
namespace {

// Up to so many addresses lie on the stack: a small op must not pay for an
// allocation.
constexpr std::size_t kMostOperands = 16;

// A kernel prepared for one combination of op, types and attributes.
struct PreparedCall {
  const OpDef* op = nullptr;
  std::vector<TensorType> inputs;
  Attributes given;
  std::vector<TensorType> outputs;
  std::unique_ptr<PreparedKernel> kernel;
  std::optional<IndexCheck> index_check;
  Tensor scratch;
  std::string kernel_name;
  SpanKindRef span_kind;  // once it was profiled

  bool fits(const OpDef& wanted, std::span<const Value* const> operands,
            const Attributes& attributes) const {
    if (op != &wanted || inputs.size() != operands.size()) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!(inputs[i] == operands[i]->tensor().type())) return false;
    }
    return given == attributes;
  }
};

// Calls with one hash share a slot and put each other out, so that all that a
// kernel is prepared for counts: two slices of a tensor differ in nothing but
// their attributes.
std::size_t hash_call(const OpDef& op, std::span<const Value* const> operands,
                      const Attributes& attributes) {
  std::size_t hash = std::hash<const OpDef*>{}(&op);
  if (!attributes.empty()) hash = hash_with(hash, hash_of(attributes));
  for (const Value* operand : operands) {
    const TensorType& type = operand->tensor().type();
    hash = hash_with(hash, static_cast<std::uint64_t>(type.dtype));
    for (const Dim dim : type.shape) {
      hash = hash_with(hash, static_cast<std::uint64_t>(dim));
    }
  }
  return hash;
}

// Direct-mapped: a miss prepares the kernel anew and takes the slot, so the
// cache is bounded and a hit costs one comparison.
class KernelCache {
 public:
  PreparedCall& find(const OpDef& op, std::span<const Value* const> operands,
                     const Attributes& attributes, const Location& location) {
    PreparedCall& slot =
        slots_[hash_call(op, operands, attributes) % slots_.size()];
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
      const OpCall use{op, call.inputs, complete, call.outputs};
      KernelChoice choice = choose_kernel(use);
      call.kernel_name = choice.description();
      call.kernel = std::move(choice.kernel);
      call.index_check = IndexCheck::of(use);
    } catch (Error& error) {
      if (location.is_known()) {
        error.detail("called at: " + to_string(location));
      }
      throw;
    }
    // Attributes are kept as given, without defaults: completing them for each
    // comparison would cost more than the comparison.
    call.given = attributes;
    // The cache belongs to one thread, so its kernels may keep their scratch.
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
  if (Tape::innermost() != nullptr && op.gradient() == nullptr) return true;
  return op.reference() == nullptr &&
         kernel_registry().candidates(op.name()).empty();
}

class EagerContext : public Context {
 public:
  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override {
    if (runs_lowered(op)) {
      return op.gradient() != nullptr && Tape::count_watching(inputs) > 0
                 ? record_lowered(op, inputs, attributes, location)
                 : lower(op, inputs, attributes, location);
    }
    PreparedCall& call = cache().find(op, inputs, attributes, location);
    // A result has an identity only where a tape may ask for it.
    const bool is_recorded = Tape::count_watching(inputs) > 0;
    std::vector<Value> outputs;
    outputs.reserve(call.outputs.size());
    for (const TensorType& type : call.outputs) {
      outputs.emplace_back(Tensor::empty(type),
                           is_recorded ? Value::fresh_id() : -1);
    }
    run(call, inputs, outputs, location);
    if (is_recorded) record(op, inputs, attributes, outputs);
    return outputs;
  }

  Value apply_one(const OpDef& op, std::span<const Value* const> inputs,
                  const Attributes& attributes,
                  const Location& location) override {
    // Most ops run without a tape and give one result, which needs no list.
    if (Tape::innermost() != nullptr || op.lower() != nullptr) {
      return std::move(apply(op, inputs, attributes, location).front());
    }
    PreparedCall& call = cache().find(op, inputs, attributes, location);
    Value output(Tensor::empty(call.outputs[0]), -1);
    run(call, inputs, {&output, 1}, location);
    return output;
  }

  void create(const VariableRef&) override {}

  Value read(const VariableRef& variable) override {
    // What is not trained has no gradient, so no tape need see it.
    if (!variable->is_trainable) return variable->value;
    Tape::watch_on_all(variable->id);
    return {variable->value, variable->id};
  }

  void assign(const VariableRef& variable, const Value& value) override {
    variable->value = value.tensor();
  }

 private:
  // A cache for each thread takes no lock, and its kernels run on one thread at
  // a time.
  static KernelCache& cache() {
    thread_local KernelCache cache;
    return cache;
  }

  // The kernel would clamp an index that lies outside of its axis.
  static void check_indices(const PreparedCall& call,
                            std::span<const Value* const> inputs,
                            const Location& location) {
    if (!call.index_check) return;
    try {
      (*call.index_check)(inputs[call.index_check->input()]->tensor().raw());
    } catch (Error& error) {
      if (location.is_known()) {
        error.detail("called at: " + to_string(location));
      }
      throw;
    }
  }

  static const SpanKindRef& kind_of(PreparedCall& call) {
    if (call.span_kind == nullptr) {
      const Attributes complete = call.op->complete(call.given);
      const CostFunction cost_of = call.op->cost();
      const Cost cost =
          cost_of == nullptr
              ? Cost{}
              : cost_of({*call.op, call.inputs, complete, call.outputs});
      call.span_kind =
          weft::span_kind({call.op->name(), "kernel", call.kernel_name,
                           cost.flops, cost.bytes});
    }
    return call.span_kind;
  }

  static void run(PreparedCall& call, std::span<const Value* const> inputs,
                  std::span<const Value> outputs, const Location& location) {
    check_indices(call, inputs, location);
    const bool meets_others = meets_other_ranks(*call.op, call.given);
    // This is asked before the kernel runs, as other ranks would wait for it.
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
    const KernelBuffers buffers{
        pointers, results,
        call.scratch.is_defined() ? call.scratch.raw() : nullptr};
    if (profile::is_on()) {
      const ProfiledSpan span(kind_of(call));
      call.kernel->run(buffers);
    } else {
      call.kernel->run(buffers);
    }
    if (meets_others) current_collectives()->throw_failure();
    if (call.op->has(kHost)) throw_host_failure();
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

  // The rule of the op itself counts, not those of what it lowers to: these see
  // operands that no tape watches.
  static std::vector<Value> record_lowered(const OpDef& op,
                                           std::span<const Value* const> inputs,
                                           const Attributes& attributes,
                                           const Location& location) {
    std::vector<Value> unwatched;
    std::vector<const Value*> arguments;
    for (const Value* input : inputs)
      unwatched.emplace_back(input->tensor(), -1);
    for (const Value& value : unwatched) arguments.push_back(&value);
    auto outputs = lower(op, arguments, attributes, location);
    for (Value& output : outputs) {
      output = Value(output.tensor(), Value::fresh_id());
    }
    record(op, inputs, attributes, outputs);
    return outputs;
  }

  static void record(const OpDef& op, std::span<const Value* const> inputs,
                     const Attributes& attributes,
                     const std::vector<Value>& outputs) {
    // Gradient rules read attributes that a call may have left out.
    Application application{&op, op.complete(attributes), {}, outputs};
    for (const Value* input : inputs) application.inputs.push_back(*input);
    Tape::record_on_all(application);
  }
};

}  // namespace

Context& eager_context() {
  static EagerContext context;
  return context;
}

}  // namespace weft
