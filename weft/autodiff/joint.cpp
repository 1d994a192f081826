#include "weft/autodiff/joint.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/inlining.h"

namespace weft {
namespace {

// What one adjoint phase takes and returns: positions in the signature of the
// function that is differentiated.
struct AdjointPhase {
  std::vector<std::size_t> results;     // whose gradients go in
  std::vector<std::size_t> parameters;  // whose gradients come out
};

// They come in the order in which they run: the adjoint of the last phase
// first.
std::vector<AdjointPhase> adjoint_phases(const PhasedFunction& from) {
  const auto& [parameters, results] = *from.function.signature;
  const Phases& phases = from.phases;
  std::vector<AdjointPhase> adjoints;
  for (std::size_t phase = phases.count(); phase-- > 0;) {
    adjoints.push_back(
        {differentiable(results, phases.first_result(phase),
                        static_cast<std::size_t>(phases.results[phase])),
         differentiable(parameters, phases.first_argument(phase),
                        static_cast<std::size_t>(phases.arguments[phase]))});
  }
  return adjoints;
}

}  // namespace

std::vector<std::size_t> differentiable(const std::vector<TensorType>& types,
                                        std::size_t first, std::size_t count) {
  std::vector<std::size_t> positions;
  for (std::size_t i = first; i < first + count; ++i) {
    // Integers and flags have no gradient, so no phase passes one for them.
    if (is_floating(types[i].dtype)) positions.push_back(i);
  }
  return positions;
}

PhasedFunction joint_of(Program& program, const PhasedFunction& from) {
  const auto adjoints = adjoint_phases(from);
  Signature signature = *from.function.signature;
  Phases phases = from.phases;
  for (const AdjointPhase& adjoint : adjoints) {
    for (const std::size_t i : adjoint.results) {
      signature.parameters.push_back(from.function.signature->results[i]);
    }
    for (const std::size_t i : adjoint.parameters) {
      signature.results.push_back(from.function.signature->parameters[i]);
    }
    // The adjoint phases follow the primal ones, in the order in which they
    // run.
    phases.arguments.push_back(
        static_cast<std::int64_t>(adjoint.results.size()));
    phases.results.push_back(
        static_cast<std::int64_t>(adjoint.parameters.size()));
  }
  // A function that calls itself asks for its own joint while that is being
  // built, and then calls it.
  if (const auto* known = program.find_derived(from.function, "joint")) {
    return {*known, phases};
  }
  const Function& body = program.body_of(from.function);
  // It is declared before its body is built, so that the body can refer to it.
  const FunctionRef joint =
      program.declare_derived(from.function, "joint", std::move(signature));
  program.define(joint, [&](const std::vector<Value>& arguments) {
    FunctionBuilder& builder = *current_context().builder();
    const std::size_t own = body.parameters().size();
    std::vector<Value> results =
        inlined_results(builder, body, std::span(arguments).first(own));
    std::vector<Value> roots;
    std::vector<Value> wrt;
    for (const AdjointPhase& adjoint : adjoints) {
      for (const std::size_t i : adjoint.results) roots.push_back(results[i]);
      for (const std::size_t i : adjoint.parameters) {
        wrt.push_back(arguments[i]);
      }
    }
    for (Value& gradient :
         gradients(builder, roots, std::span(arguments).subspan(own), wrt)) {
      results.push_back(std::move(gradient));
    }
    return results;
  });
  return {joint, phases};
}

}  // namespace weft
