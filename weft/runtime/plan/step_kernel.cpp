#include "weft/runtime/plan/step_kernel.h"

#include <mutex>
#include <set>

#include "weft/compiler/chunked_kernel.h"
#include "weft/compiler/part_copies.h"
#include "weft/compiler/step_bytes.h"
#include "weft/graph/kernel_times.h"
#include "weft/graph/registry.h"
#include "weft/graph/text.h"

namespace weft {
namespace {

// An element at a time, on one thread: from so many bytes on somebody waits.
constexpr double kManyBytes = 4 << 20;
constexpr double kManyFlops = 4 << 20;

// Says once for each op that a slow kernel was all there was.
void warn_of_reference(const StepInfo& info) {
  if (info.cost.bytes < kManyBytes && info.cost.flops < kManyFlops) return;
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (!warned.insert(info.name).second) return;
  fmt::print(
      stderr,
      "weft: {} has no fast kernel for its operands: {}; an element at a "
      "time is computed\n",
      info.name, info.text);
}

Cost cost_of(const Function& function, const Node& node) {
  if (node.op->cost() == nullptr) return {};
  const auto inputs = function.input_types(node);
  const auto outputs = function.output_types(node);
  return node.op->cost()({*node.op, inputs, node.attributes, outputs});
}

StepInfo describe(const Function& function, const PlanStep& step) {
  StepInfo info;
  for (const NodeId id : step.nodes) {
    const Node& node = function.node(id);
    info.text += (info.text.empty() ? "" : "\n") + to_string(function, node);
    info.name += (info.name.empty() ? "" : ", ") + node.op->name();
    info.cost.flops += cost_of(function, node).flops;
  }
  return info;
}

void prepare_loop(const Function& function, const PlanStep& step,
                  StepKernel& prepared) {
  StepInfo& info = prepared.info;
  info.name = "loop(" + info.name + ")";
  info.cost.bytes = moved_bytes(function, step);
  auto kernel = std::make_unique<LoopKernel>(*step.loop);
  info.kernel = kernel->is_generated() ? "loop:generated" : "loop:tiles";
  prepared.kernel = std::move(kernel);
}

void prepare_chunks(const Function& function, const PlanStep& step,
                    StepKernel& prepared) {
  StepInfo& info = prepared.info;
  info.name = "chunks(" + info.name + ")";
  info.cost.bytes = moved_bytes(function, step);
  info.chunk = step.chunk;
  info.unchunked_bytes = step.unchunked_bytes;
  ChunkedKernel chunked = chunked_kernel(function, step);
  prepared.kernel = std::move(chunked.kernel);
  prepared.overwrites = std::move(chunked.overwrites);
  info.kernel =
      fmt::format("plan:chunks of {}, {} parts", step.chunk, step.parts.size());
}

// The tensors of operands that are constants of the function; null for others.
std::vector<const Tensor*> known_operands(const Function& function,
                                          const Node& node) {
  static const OpDef& constant = op_registry().get("constant");
  std::vector<const Tensor*> known(node.inputs.size(), nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (function.is_parameter(node.inputs[i])) continue;
    const Node& source = function.node(function.value(node.inputs[i]).node);
    if (source.op != &constant) continue;
    known[i] = &source.attributes.get<Tensor>("value");
  }
  return known;
}

std::vector<std::uint8_t> unread_results(const Readers& readers,
                                         const Node& node) {
  std::vector<std::uint8_t> unread;
  for (const ValueId id : node.outputs) {
    unread.push_back(readers.nodes(id).empty() && !readers.is_result(id));
  }
  return unread;
}

void prepare_node(const Function& function, const Readers& readers,
                  const PlanStep& step, StepKernel& prepared) {
  StepInfo& info = prepared.info;
  const Node& node = function.node(step.nodes.front());
  const auto inputs = function.input_types(node);
  const auto outputs = function.output_types(node);
  const auto known = known_operands(function, node);
  const auto unread = unread_results(readers, node);
  const OpCall call{*node.op, inputs, node.attributes, outputs, known, unread};
  KernelChoice choice = choose_fastest_kernel(call);
  prepared.index_check = IndexCheck::of(call);
  info.kernel = choice.description();
  info.declined = std::move(choice.declined);
  info.times = std::move(choice.times);
  info.cost = cost_of(function, node);
  if (choice.name == kReferenceKernel) warn_of_reference(info);
  prepared.kernel = std::move(choice.kernel);
  if (choice.in_place) prepared.overwrites.emplace_back(0, 0);
}

}  // namespace

StepKernel prepare_kernel(const Function& function, const Readers& readers,
                          const PlanStep& step) {
  StepKernel prepared;
  prepared.info = describe(function, step);
  if (step.loop) {
    prepare_loop(function, step, prepared);
  } else if (!step.parts.empty()) {
    prepare_chunks(function, step, prepared);
  } else if (!step.copies.empty()) {
    for (const PartCopy& part : step.copies) {
      prepared.info.cost.bytes += 2 * static_cast<double>(part.bytes);
    }
    prepared.info.kernel = "plan:copy_parts";
    prepared.kernel = copy_parts(step.copies);
  } else {
    prepare_node(function, readers, step, prepared);
  }
  return prepared;
}

}  // namespace weft
