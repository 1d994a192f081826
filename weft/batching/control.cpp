#include "weft/batching/control.h"

#include <algorithm>
#include <map>

#include "weft/base/index.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/registry.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/control.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"

namespace weft {
namespace {

using Values = std::vector<Value>;

Values joined(std::initializer_list<std::span<const Value>> parts) {
  Values all;
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The first two axes in each other's place: of steps, and of instances.
Value with_first_axes_swapped(const Value& x) {
  Integers order;
  for (int i = 0; i < x.shape().rank(); ++i) order.push_back(i);
  std::swap(order[0], order[1]);
  return transpose(x, order);
}

// One bool per instance, as a condition for such values.
Value beside(const Value& choice, const Value& like) {
  Shape shape;
  shape.resize(like.shape().rank());
  shape[0] = choice.shape()[0];
  return reshape(choice, shape);
}

Values chosen(const Value& choice, std::span<const Value> a,
              std::span<const Value> b) {
  Values results;
  for (std::size_t i = 0; i < a.size(); ++i) {
    results.push_back(where(beside(choice, a[i]), a[i], b[i]));
  }
  return results;
}

std::string text_of(const Flags& flags) {
  std::string text;
  for (const bool flag : flags) text += flag ? '1' : '0';
  return text;
}

}  // namespace

// One function over many instances, while it is written.
class BatchedControl::Body {
 public:
  Body(BatchedControl& around, Value mask)
      : around_(around),
        differing_(around.differing_),
        size_(around.size_),
        mask_(std::move(mask)) {}

  Values operator()(Instances& instances, const Node& node) {
    const LayerScope layer(node.location.scope);
    Operands operands;
    for (const ValueId id : node.inputs) {
      operands.values.push_back(instances.stacked(id));
      operands.flags.push_back(instances.depends(id));
    }
    const OpDef& op = *node.op;
    if (op == known::while_loop || op == known::scan || op == known::call ||
        op == known::cond) {
      if (!has_any(operands.flags)) {
        return call_all(*node.op, operands.values, node.attributes,
                        node.location);
      }
    }
    if (op == known::while_loop) return run_while(node, operands);
    if (op == known::scan) return run_scan(node, operands);
    return enter(node, operands);
  }

 private:
  struct Operands {
    Values values;
    Flags flags;
  };

  // One of the runs that an op becomes, for some of the instances.
  struct Run {
    Value mask;
    FunctionRef function;
    FunctionRef otherwise = {};  // with a predicate
    Value predicate = {};
    Value activation = {};
    Values given = {};  // the arguments of all phases so far, and the mask
  };
  // What an op has entered.
  struct Entered {
    std::vector<Run> runs;
    Value choice = {};  // per instance, which of two runs has its results
  };

  Value repeated(const Value& value, bool differs) const {
    if (differs) return value;
    return broadcast_to(value, with_leading(size_, value.shape()));
  }

  // --- Loops ---------------------------------------------------------------

  // The operands, with an axis of instances where a loop needs it.
  Values initial(const Operands& operands, const Flags& wanted,
                 std::size_t carried) const {
    Values values = operands.values;
    for (std::size_t i = 0; i < carried; ++i) {
      if (wanted[i]) values[i] = repeated(values[i], operands.flags[i]);
    }
    return values;
  }

  Values run_while(const Node& node, const Operands& operands) {
    const Attributes& attributes = node.attributes;
    const auto carried = at(attributes.integer("carried"));
    const Flags flags =
        differing_.of_loop(*node.op, attributes, operands.flags);
    const FunctionRef& condition = attributes.function("condition");
    const Flags ends = differing_.of_results(condition, flags);
    const Flags kept(flags.begin(),
                     flags.begin() + static_cast<std::ptrdiff_t>(carried));
    const FunctionRef test =
        around_.function(condition, {flags, ends, flags.size()});
    const FunctionRef step = around_.function(attributes.function("body"),
                                              {flags, kept, flags.size()});
    const Values all = initial(operands, flags, carried);
    const auto captures = std::span(all).subspan(carried);
    Values values(all.begin(),
                  all.begin() + static_cast<std::ptrdiff_t>(carried));
    if (!ends[0]) {
      const auto run = [&](const FunctionRef& function, const Values& now) {
        return call(function, joined({now, captures, {&mask_, 1}}));
      };
      return while_loop(
          values, [&](const Values& now) { return run(test, now)[0]; },
          [&](const Values& now) { return run(step, now); }, node.location);
    }
    // Which instances go on is carried behind the values.
    const auto going_on = [&](std::span<const Value> now, const Value& among) {
      return logical_and(among,
                         call(test, joined({now, captures, {&among, 1}}))[0]);
    };
    values.push_back(going_on(values, mask_));
    Values results = while_loop(
        values, [](const Values& now) { return any(now.back()); },
        [&](const Values& now) {
          const auto before = std::span(now).first(carried);
          const Value& among = now.back();
          const Values next =
              call(step, joined({before, captures, {&among, 1}}));
          Values merged = chosen(among, next, before);
          merged.push_back(going_on(merged, among));
          return merged;
        },
        node.location);
    results.pop_back();
    return results;
  }

  Values run_scan(const Node& node, const Operands& operands) {
    const Attributes& attributes = node.attributes;
    const auto carried = at(attributes.integer("carried"));
    const auto scanned = at(attributes.integer("scanned"));
    const FunctionRef& body = attributes.function("body");
    const Flags flags =
        differing_.of_loop(*node.op, attributes, operands.flags);
    const Flags stacked = differing_.of_node(
        *node.op, attributes, operands.flags, node.outputs.size());
    const FunctionRef step =
        around_.function(body, {flags, stacked, flags.size()});
    const Values all = initial(operands, flags, carried);
    const auto captures = std::span(all).subspan(carried + scanned);
    Values rows;
    for (std::size_t i = carried; i < carried + scanned; ++i) {
      rows.push_back(flags[i] ? with_first_axes_swapped(all[i]) : all[i]);
    }
    const Values first(all.begin(),
                       all.begin() + static_cast<std::ptrdiff_t>(carried));
    Values results = scan(
        first, rows,
        [&](const Values& now, const Values& slices) {
          return call(step, joined({now, slices, captures, {&mask_, 1}}));
        },
        attributes.flag("reverse"), node.location);
    for (std::size_t i = carried; i < results.size(); ++i) {
      if (stacked[i]) results[i] = with_first_axes_swapped(results[i]);
    }
    return results;
  }

  // --- Calls and branches --------------------------------------------------

  Values enter(const Node& node, const Operands& operands) {
    const Entering entering(*node.op, node.attributes);
    Entered entered;
    if (entering.phase == 0) {
      entered = begin(node, operands, entering);
    } else {
      // A phase is entered once, so nobody else asks for the activation.
      const auto found = entered_.find(node.inputs[0]);
      WEFT_CHECK(found != entered_.end(), "an activation is entered twice");
      entered = std::move(found->second);
      entered_.erase(found);
    }
    std::vector<Values> of_runs;
    for (Run& run : entered.runs) {
      of_runs.push_back(go_on(run, node, operands, entering));
    }
    Values results = entered.choice.is_defined()
                         ? chosen(entered.choice, of_runs[0], of_runs[1])
                         : std::move(of_runs[0]);
    if (entering.leaves_activation()) {
      // Something has to stand for the activation among the values.
      results.push_back(entered.runs[0].activation);
      entered_.emplace(node.outputs.back(), std::move(entered));
    }
    return results;
  }

  Entered begin(const Node& node, const Operands& operands,
                const Entering& entering) {
    const Attributes& attributes = node.attributes;
    const bool is_choice = entering.is_branch && operands.flags[0];
    const auto use = [&](const FunctionRef& of) {
      const std::size_t count = of.signature->parameters.size();
      return Use{entering.parameters(operands.flags, count),
                 differing_.of_functions(entering, attributes, operands.flags),
                 entering.first_count(count)};
    };
    if (!entering.is_branch) {
      const FunctionRef& function = attributes.function("function");
      return {{{mask_, around_.function(function, use(function))}}};
    }
    const FunctionRef& then = attributes.function("then");
    const FunctionRef& otherwise = attributes.function("otherwise");
    if (!is_choice) {
      return {
          {{mask_, around_.function(then, use(then)),
            around_.function(otherwise, use(otherwise)), operands.values[0]}}};
    }
    Entered entered{{}, operands.values[0]};
    // Both branches give complete rows, of which the choice then takes one.
    for (const bool is_then : {true, false}) {
      const FunctionRef& from = is_then ? then : otherwise;
      const Value mine = is_then ? entered.choice : logical_not(entered.choice);
      Run run{logical_and(mask_, mine), around_.function(from, use(from))};
      // Ops alone are cheaper than to ask whether anybody needs them.
      if (around_.has_control(from)) {
        run.otherwise = around_.zeros(run.function);
        // To skip a run that no instance takes is what lets a recursion end.
        run.predicate = any(run.mask);
      }
      entered.runs.push_back(std::move(run));
    }
    return entered;
  }

  // Adds those of the next phase. What went in before goes in again as it was:
  // whoever leaves phases out relies on that (compiler/flat/needed_phases.h).
  void add_arguments(Run& run, const Operands& operands,
                     const Entering& entering) const {
    const bool is_first = entering.phase == 0;
    const std::size_t known = is_first ? 0 : run.given.size() - 1;
    for (std::size_t i = entering.leading + known; i < operands.values.size();
         ++i) {
      const Value& value = operands.values[i];
      // Later phases were analysed as if all their arguments differed
      // (Entering::parameters), so that what is shared must be repeated to fit.
      run.given.push_back(is_first ? value
                                   : repeated(value, operands.flags[i]));
    }
    if (is_first) run.given.push_back(run.mask);
  }

  // Enters a run in its next phase.
  Values go_on(Run& run, const Node& node, const Operands& operands,
               const Entering& entering) const {
    const bool is_branch = run.predicate.is_defined();
    Values inputs;
    // The operands stand in the order in which `cond_reenter` and its like read
    // them: activation, predicate, arguments, and the mask behind those of the
    // first phase (Use::first).
    if (entering.phase > 0) inputs.push_back(run.activation);
    if (is_branch) inputs.push_back(run.predicate);
    add_arguments(run, operands, entering);
    inputs.insert(inputs.end(), run.given.begin(), run.given.end());
    Attributes attributes;
    if (is_branch) {
      attributes.set("then", run.function);
      attributes.set("otherwise", run.otherwise);
    } else {
      attributes.set("function", run.function);
    }
    std::string name = is_branch ? "cond" : "call";
    if (entering.is_phased) {
      name += entering.phase == 0 ? "_enter" : "_reenter";
      Integers counts = entering.phases.arguments;
      ++counts[0];
      attributes.set("arguments", counts);
      attributes.set("results", entering.phases.results);
      if (entering.phase > 0) {
        attributes.set("phase", static_cast<std::int64_t>(entering.phase));
      }
    }
    Values results =
        call_all(op_registry().get(name), inputs, attributes, node.location);
    if (entering.leaves_activation()) {
      run.activation = std::move(results.back());
      results.pop_back();
    }
    return results;
  }

  BatchedControl& around_;
  const Differing& differing_;
  Dim size_;
  Value mask_;
  std::map<ValueId, Entered> entered_;  // by the activation
};

FunctionRef BatchedControl::function(const FunctionRef& from, const Use& use) {
  // The kind names all that the new function depends on, so that each use is
  // built once, and a call of the function by itself finds the declaration.
  const std::string kind =
      fmt::format("batched.{}.{}.{}", text_of(use.parameters),
                  text_of(use.results), use.first);
  if (const auto* known = program_.find_derived(from, kind)) return *known;
  Signature signature = *from.signature;
  const auto lead = [&](std::vector<TensorType>& types, const Flags& flags) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (flags[i]) types[i].shape = with_leading(size_, types[i].shape);
    }
  };
  lead(signature.parameters, use.parameters);
  lead(signature.results, use.results);
  const auto place = static_cast<std::ptrdiff_t>(use.first);
  signature.parameters.insert(signature.parameters.begin() + place,
                              {DType::kBool, {size_}});
  FunctionRef made = program_.declare_derived(from, kind, std::move(signature));
  program_.define(made, [&](const Values& arguments) {
    Values own = arguments;
    own.erase(own.begin() + place);
    return results(program_.body_of(from), use, own, arguments[use.first]);
  });
  return made;
}

std::vector<Value> BatchedControl::results(const Function& from, const Use& use,
                                           std::span<const Value> arguments,
                                           const Value& mask) {
  // What a body shares or not depends on the parameters that differ in this
  // use, so that each use has a form of its own.
  const InstanceForm form = instance_form(from, use.parameters, &differing_);
  Body body(*this, mask);
  Instances instances(form, *current_context().builder(), size_, std::ref(body),
                      mask);
  const auto& ids = form.function.parameters();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    instances.set_parameter(ids[i], arguments[i]);
  }
  Values results;
  for (std::size_t i = 0; i < use.results.size(); ++i) {
    const ValueId id = form.function.results()[i];
    Value value = instances.stacked(id);
    // Callers were promised an axis of instances here, perhaps for the sake of
    // another branch in which the result does differ.
    if (use.results[i] && !form.depends(id)) {
      value = broadcast_to(value, with_leading(size_, value.shape()));
    }
    results.push_back(std::move(value));
  }
  return results;
}

// What stands for a run that no instance needs.
FunctionRef BatchedControl::zeros(const FunctionRef& like) {
  if (const auto* known = program_.find_derived(like, "zeros")) return *known;
  FunctionRef made = program_.declare_derived(like, "zeros", *like.signature);
  program_.define(made, [&](const Values&) {
    Values results;
    for (const TensorType& type : like.signature->results) {
      results.push_back(full(type, 0));
    }
    return results;
  });
  return made;
}

bool BatchedControl::has_control(const FunctionRef& function) const {
  return std::ranges::any_of(
      program_.body_of(function).nodes(),
      [](const Node& node) { return node.op->has(kControl); });
}

}  // namespace weft
