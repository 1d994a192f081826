#include "weft/graph/kernel.h"

#include <algorithm>

namespace weft {
namespace {

// Runs the op's own definition.
class ReferenceKernel : public PreparedKernel {
 public:
  explicit ReferenceKernel(const OpCall& call)
      : op_(call.op),
        attributes_(call.attributes),
        input_types_(call.inputs.begin(), call.inputs.end()),
        output_types_(call.outputs.begin(), call.outputs.end()) {
    // The views are made once; a run sets their addresses.
    for (const auto& type : input_types_) inputs_.push_back({type, nullptr});
    for (const auto& type : output_types_) outputs_.push_back({type, nullptr});
  }

  void run(const KernelBuffers& buffers) noexcept override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].data = buffers.inputs[i];
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      outputs_[i].data = buffers.outputs[i];
    }
    // An OpCall refers to what its caller holds, so the kernel has copies to
    // make one from.
    op_.reference()({op_, input_types_, attributes_, output_types_}, inputs_,
                    outputs_);
  }

 private:
  const OpDef& op_;
  Attributes attributes_;
  std::vector<TensorType> input_types_;
  std::vector<TensorType> output_types_;
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
};

}  // namespace

void KernelRegistry::add(KernelCandidate candidate) {
  by_op_[candidate.op].push_back(std::move(candidate));
}

void KernelRegistry::add_from(const KernelRegistry& others) {
  for (const auto& [op, candidates] : others.by_op_) {
    for (const KernelCandidate& candidate : candidates) add(candidate);
  }
}

void KernelRegistry::add_to_all(KernelCandidate candidate) {
  for_all_.push_back(std::move(candidate));
}

void KernelRegistry::freeze() {
  for (auto& [op, candidates] : by_op_) {
    // A candidate for all ops is entered for those that have another one; it
    // stands among them by its rank.
    for (const KernelCandidate& candidate : for_all_) {
      candidates.push_back(candidate);
      candidates.back().op = op;
    }
    // Candidates of equal rank stay in the order of registration, which the
    // build fixes.
    std::stable_sort(
        candidates.begin(), candidates.end(),
        [](const auto& a, const auto& b) { return a.rank > b.rank; });
  }
}

const std::vector<KernelCandidate>& KernelRegistry::candidates(
    std::string_view op) const {
  static const std::vector<KernelCandidate> none;
  const auto found = by_op_.find(op);
  return found == by_op_.end() ? none : found->second;
}

std::string KernelChoice::description() const {
  if (implementation.empty()) return name;
  return name + " (" + implementation + ")";
}

namespace {

// Makes `choice` that of the candidate, or notes why it is not.
bool try_candidate(const KernelCandidate& candidate, const OpCall& call,
                   bool is_favourite, KernelChoice& choice) {
  auto reason = candidate.declines ? candidate.declines(call) : std::nullopt;
  if (!reason && !is_favourite && candidate.yields) {
    reason = candidate.yields(call);
  }
  if (!reason) {
    try {
      choice.kernel = candidate.prepare(call);
      // Some libraries tell only here that they cannot: the next candidate is
      // asked, and the reason is shown with the plan.
    } catch (const std::exception& failure) {
      reason = failure.what();
    }
  }
  if (reason) {
    choice.declined.push_back(candidate.name + ": " + *reason);
    return false;
  }
  choice.name = candidate.name;
  choice.implementation = choice.kernel->implementation();
  choice.in_place = candidate.in_place;
  return true;
}

}  // namespace

KernelChoice choose_kernel(const OpCall& call, const KernelRegistry& kernels,
                           std::string_view favourite) {
  KernelChoice choice;
  const auto& candidates = kernels.candidates(call.op.name());
  // A favourite, as the fastest that was measured, goes before all ranks; it
  // may still decline.
  for (const auto& candidate : candidates) {
    if (candidate.name != favourite) continue;
    if (try_candidate(candidate, call, true, choice)) return choice;
  }
  for (const auto& candidate : candidates) {
    if (candidate.name == favourite) continue;
    if (try_candidate(candidate, call, false, choice)) return choice;
  }
  // The op's own definition comes last: it is right everywhere, and slow.
  if (call.op.reference() != nullptr) {
    choice.kernel = std::make_unique<ReferenceKernel>(call);
    choice.name = kReferenceKernel;
    choice.implementation = "scalar";
    return choice;
  }
  Error error(ErrorCode::kUnsupported, call.op.name(),
              "no kernel takes this call");
  for (const auto& type : call.inputs) error.detail(to_string(type));
  for (const auto& reason : choice.declined) error.detail(reason);
  // The op is right, but stands in a function that was taken out of its graph.
  if (call.op.has(kControl)) {
    error.hint("it runs functions of its graph, so the graph has to run whole");
  }
  throw error;
}

}  // namespace weft
