#include "weft/compiler/cost_table.h"

#include "weft/compiler/step_bytes.h"

namespace weft {
namespace {

constexpr std::size_t kMostSteps = 65536;

double flops_of(const Function& function, const PlanStep& step) {
  double flops = 0;
  for (const NodeId id : step.nodes) {
    const Node& node = function.node(id);
    if (node.op->cost() == nullptr) continue;
    const std::vector<TensorType> inputs = function.input_types(node);
    const std::vector<TensorType> outputs = function.output_types(node);
    flops +=
        node.op->cost()({*node.op, inputs, node.attributes, outputs}).flops;
  }
  return flops;
}

double bytes_of(const Function& function, const PlanStep& step) {
  if (step.copies.empty()) return moved_bytes(function, step);
  double bytes = 0;
  for (const PartCopy& copy : step.copies) {
    bytes += 2 * static_cast<double>(copy.bytes);
  }
  return bytes;
}

}  // namespace

StepCost& StepCost::operator+=(const StepCost& other) {
  seconds += other.seconds;
  flops += other.flops;
  bytes += other.bytes;
  launches += other.launches;
  return *this;
}

CostTable::CostTable(TimesFile file, Timer timer)
    : file_(std::move(file)), timer_(std::move(timer)) {}

CostTable CostTable::of_machine() {
  return CostTable(times_of_machine("step", 2, kMostSteps));
}

StepCost CostTable::cost(const Function& function, const PlanStep& step,
                         const std::vector<OperandState>& states) {
  return {seconds(function, step, states), flops_of(function, step),
          bytes_of(function, step), 1};
}

double CostTable::seconds(const Function& function, const PlanStep& step,
                          const std::vector<OperandState>& states) {
  const std::string text = step_text(function, step, states);
  const auto known = known_.find(text);
  if (known != known_.end()) return known->second;
  if (const auto* times = file_.find(text, {"median", "least"})) {
    return known_[text] = times->back().seconds;
  }
  const MeasuredTime time = timer_(function, step, states);
  timed_[text] = {{"median", time.median}, {"least", time.least}};
  // What else the machine does only makes a run longer.
  return known_[text] = time.least;
}

void CostTable::keep() {
  if (timed_.empty() || file_.file().empty()) return;
  try {
    file_.make_sure_it_can_be_written();
    file_.add_all(timed_);
  } catch (const Error& error) {
    fmt::print(stderr, "weft: step times: {}\n", error.what());
  }
  timed_.clear();
}

}  // namespace weft
