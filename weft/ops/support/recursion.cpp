#include "weft/ops/support/recursion.h"

#include "weft/graph/inlining.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/control.h"
#include "weft/ops/index.h"
#include "weft/ops/reduce.h"
#include "weft/ops/rows.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/closures.h"

namespace weft {
namespace {

using Values = std::vector<Value>;

// What `function` returns, computed in the function being built.
Values inlined(const Program& program, const FunctionRef& function,
               const Values& arguments) {
  // The body stands in the loop's function rather than being called: a loop
  // then has one activation for each iteration, not three.
  const Function body = specialize(program.body_of(function),
                                   bind_call(function, types_of(arguments)));
  return inlined_results(*current_context().builder(), body, arguments);
}

void append(Values& values, std::span<const Value> more) {
  values.insert(values.end(), more.begin(), more.end());
}

FunctionRef recursive_while(Program& program, const Attributes& attributes) {
  const FunctionRef& condition = attributes.function("condition");
  const FunctionRef& body = attributes.function("body");
  // One body may be that of loops with several conditions.
  const std::string kind = "while." + condition.name;
  if (const auto* known = program.find_derived(body, kind)) return *known;
  const auto carried = static_cast<std::size_t>(attributes.integer("carried"));
  FunctionRef loop = program.declare_derived(body, kind, *body.signature);
  program.define(loop, [&](const Values& values) {
    return cond(
        inlined(program, condition, values)[0],
        [&] {
          Values next = inlined(program, body, values);
          // Captured values are passed on unchanged, which lets the executor
          // read them in place.
          append(next, std::span(values).subspan(carried));
          return call(loop, next);
        },
        // What is carried is the result; captures end with the loop.
        [&] {
          return Values(values.begin(),
                        values.begin() + static_cast<std::ptrdiff_t>(carried));
        });
  });
  return loop;
}

TensorType with_rows(const TensorType& row, Dim rows) {
  Shape shape{rows};
  for (const Dim dim : row.shape) shape.push_back(dim);
  return {row.dtype, shape};
}

// `stack`, in which one row is zero, with `row` in its place. The executor
// writes it where the stack lies, and the gradient of the stack passes through.
Value with_row(const Value& stack, const Value& at, const Value& row) {
  // Bools have no sum, so the whole stack is chosen anew, at the cost of a
  // copy.
  if (stack.dtype() != DType::kBool) return add_rows(stack, row, at);
  Shape column;
  column.resize(stack.shape().rank());
  column[0] = stack.shape()[0];
  const Value is_there = reshape(equal(iota(column[0]), at), column);
  return where(is_there, reshape(row, with_rows(row.type(), 1).shape), stack);
}

// A dim as a number of the graph.
Value number_of(Dim dim) { return sum(full({DType::kI64, {dim}}, 1)); }

// Where the parts of a scan's operands end.
struct ScanParts {
  std::size_t carried;
  std::size_t scanned;
  std::size_t outputs;
  bool reverse;
};

// One step after another:
// (step, steps, stacks…, values…) -> (carried…, stacks…).
FunctionRef scan_steps(Program& program, const FunctionRef& body,
                       const std::string& kind, const ScanParts& parts,
                       const Signature& scan) {
  // The counter and the number of steps lead, then the stacks as they are so
  // far, then the operands of the scan.
  Signature signature{{{DType::kI64, {}}, {DType::kI64, {}}}, scan.results};
  const auto stacks =
      scan.results.begin() + static_cast<std::ptrdiff_t>(parts.carried);
  signature.parameters.insert(signature.parameters.end(), stacks,
                              scan.results.end());
  signature.parameters.insert(signature.parameters.end(),
                              scan.parameters.begin(), scan.parameters.end());
  FunctionRef loop =
      program.declare_derived(body, kind + ".steps", std::move(signature));
  program.define(loop, [&](const Values& all) {
    const Value& step = all[0];
    const Value& steps = all[1];
    const auto stacked = std::span(all).subspan(2, parts.outputs);
    const auto values = std::span(all).subspan(2 + parts.outputs);
    return cond(
        less(step, steps),
        [&] {
          // A reverse scan counts up too, and reads from the end.
          const Value at = parts.reverse ? steps - step - 1 : step;
          Values arguments(values.begin(), values.end());
          for (std::size_t i = 0; i < parts.scanned; ++i) {
            Value& whole = arguments[parts.carried + i];
            whole = gather(whole, at);
          }
          const Values results = inlined(program, body, arguments);
          Values next{step + 1, steps};
          for (std::size_t i = 0; i < parts.outputs; ++i) {
            next.push_back(
                with_row(stacked[i], at, results[parts.carried + i]));
          }
          append(next, std::span(results).first(parts.carried));
          append(next, values.subspan(parts.carried));
          return call(loop, next);
        },
        [&] {
          Values results(
              values.begin(),
              values.begin() + static_cast<std::ptrdiff_t>(parts.carried));
          append(results, stacked);
          return results;
        });
  });
  return loop;
}

FunctionRef recursive_scan(Program& program, const Attributes& attributes) {
  const FunctionRef& body = attributes.function("body");
  const auto carried = static_cast<std::size_t>(attributes.integer("carried"));
  const ScanParts parts{
      carried, static_cast<std::size_t>(attributes.integer("scanned")),
      body.signature->results.size() - carried, attributes.flag("reverse")};
  // One body may serve scans that divide its parameters differently, so the
  // kind tells how, and each gets a function of its own.
  const std::string kind =
      fmt::format("{}.{}.{}", parts.reverse ? "reverse_scan" : "scan",
                  parts.carried, parts.scanned);
  if (const auto* known = program.find_derived(body, kind)) return *known;
  Signature signature = *body.signature;
  // The number of steps is that of the arguments: one function serves scans of
  // any length.
  const Dim rows = symbol("scan_steps");
  for (std::size_t i = 0; i < parts.scanned; ++i) {
    TensorType& type = signature.parameters[carried + i];
    type = with_rows(type, rows);
  }
  for (std::size_t i = carried; i < signature.results.size(); ++i) {
    signature.results[i] = with_rows(signature.results[i], rows);
  }
  const FunctionRef steps = scan_steps(program, body, kind, parts, signature);
  FunctionRef scan = program.declare_derived(body, kind, signature);
  // The counter starts at 0. The number of steps is computed from the symbol
  // when the function is called.
  program.define(scan, [&](const Values& values) {
    Values arguments{Tensor::scalar<std::int64_t>(0), number_of(rows)};
    for (std::size_t i = carried; i < signature.results.size(); ++i) {
      // Each row is added once to zeros, to negative ones as -0 + x is x for
      // every x. The stack is the loop's alone, so the executor may write into
      // it.
      const TensorType& stack = signature.results[i];
      arguments.push_back(full(stack, is_floating(stack.dtype) ? -0.0 : 0.0));
    }
    append(arguments, values);
    return call(steps, arguments);
  });
  return scan;
}

}  // namespace

bool is_loop(const OpDef& op) {
  return op == known::while_loop || op == known::scan;
}

FunctionRef recursive_form(Program& program, const OpDef& loop,
                           const Attributes& attributes) {
  return loop == known::while_loop ? recursive_while(program, attributes)
                                   : recursive_scan(program, attributes);
}

Graph loops_to_recursion(const Graph& graph) {
  static const OpDef& call = op_registry().get("call");
  // The program is a copy that grows; what it adds is taken over below.
  Program program(graph);
  Graph result = graph;
  // The functions made on the way may hold loops of their own. They are
  // appended to the list that this loop runs over.
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    Function& function = result.functions[i];
    for (std::size_t n = 0; n < function.nodes().size(); ++n) {
      const Node& node = function.nodes()[n];
      if (!is_loop(*node.op)) continue;
      const FunctionRef made =
          recursive_form(program, *node.op, node.attributes);
      function.replace_node(static_cast<NodeId>(n), call, {{"function", made}});
    }
    const Graph grown = program.build();
    for (std::size_t f = result.functions.size(); f < grown.functions.size();
         ++f) {
      result.functions.push_back(grown.functions[f]);
    }
  }
  verify(result);
  return result;
}

}  // namespace weft
