// One Python function for each entry of the op registry, made from the entry:
// operands by position, attributes by keyword.
#include "python/src/operators.h"

#include <algorithm>
#include <optional>

#include "python/src/convert.h"

#include "weft/graph/context.h"
#include "weft/graph/registry.h"

namespace weft::python {
namespace {

// What a face without graphs of its own can call: no functions as attributes.
bool is_callable(const OpDef& op) {
  if (op.has(kControl) || op.has(kHost)) return false;
  return std::none_of(op.attribute_schema().begin(),
                      op.attribute_schema().end(), [](const auto& each) {
                        return std::holds_alternative<FunctionRef>(each.value);
                      });
}

Attributes attributes_from(const OpDef& op, const py::kwargs& keywords) {
  Attributes attributes;
  for (const auto& [key, object] : keywords) {
    const auto name = py::cast<std::string>(key);
    const auto& schema = op.attribute_schema();
    const auto known =
        std::find_if(schema.begin(), schema.end(),
                     [&](const auto& each) { return each.name == name; });
    // complete() says what is wrong with one that is not known.
    attributes.set(name, known == schema.end()
                             ? Attribute(true)
                             : attribute_from(object, known->value));
  }
  return attributes;
}

py::object call_op(const OpDef& op, const py::args& arguments,
                   const py::kwargs& keywords) {
  std::vector<py::handle> objects;
  // Any number of operands may come as one sequence too.
  const bool is_list = op.is_variadic() && op.input_names().size() == 1 &&
                       arguments.size() == 1 &&
                       (py::isinstance<py::list>(arguments[0]) ||
                        py::isinstance<py::tuple>(arguments[0]));
  if (is_list) {
    for (const auto each : arguments[0]) objects.push_back(each);
  } else {
    for (const auto each : arguments) objects.push_back(each);
  }
  const bool is_pair = op.has(kElementwise) && objects.size() == 2;
  return from_results(
      run_op(op, is_pair ? pair_from(objects) : operands_from(objects),
             attributes_from(op, keywords)));
}

py::dict description(const OpDef& op) {
  py::dict entry;
  entry["name"] = op.name();
  entry["summary"] = op.summary();
  entry["signature"] = op.signature();
  py::list inputs;
  for (const std::string& name : op.input_names()) inputs.append(name);
  entry["inputs"] = inputs;
  py::list outputs;
  for (const std::string& name : op.output_names()) outputs.append(name);
  entry["outputs"] = outputs;
  entry["min_inputs"] = op.min_inputs();
  entry["is_variadic"] = op.is_variadic();
  py::list attributes;
  for (const auto& each : op.attribute_schema()) {
    attributes.append(
        py::make_tuple(each.name, std::string(kind_of(each.value)),
                       each.is_required, from_attribute(each.value)));
  }
  entry["attributes"] = attributes;
  return entry;
}

Value cast_to(const Value& x, DType dtype) {
  return run_op_one("cast", std::vector{x}, {{"dtype", dtype}});
}

}  // namespace

std::vector<Value> run_op(const OpDef& op, std::span<const Value> operands,
                          const Attributes& attributes) {
  std::vector<const Value*> inputs;
  for (const Value& operand : operands) inputs.push_back(&operand);
  return run_ops([&](const Location& where) {
    return current_context().apply(op, inputs, attributes, where);
  });
}

Value run_op_one(std::string_view op, std::span<const Value> operands,
                 const Attributes& attributes) {
  return std::move(run_op(op_registry().get(op), operands, attributes).front());
}

std::vector<Value> operands_from(std::span<const py::handle> objects) {
  std::vector<Value> operands(objects.size());
  std::optional<DType> of_tensors;
  DType of_numbers = DType::kBool;
  bool has_fractions = false;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (is_number(objects[i])) {
      const DType own = default_dtype(objects[i]);
      // A float among them makes all of them floats, wherever it stands.
      if (own != DType::kBool && !is_floating(of_numbers)) of_numbers = own;
      if (own == DType::kF64) of_numbers = own;
      continue;
    }
    operands[i] = value_from(objects[i]);
    const DType dtype = operands[i].dtype();
    // A mask has no say in what numbers become.
    if (!of_tensors && dtype != DType::kBool) of_tensors = dtype;
    has_fractions = has_fractions || is_floating(dtype);
  }
  // Integers beside a fraction are no integers any more. Beside tensors of
  // fractions they may be indices, which stay what they are.
  if (of_tensors && !has_fractions && is_floating(of_numbers)) {
    of_tensors = of_numbers;
    for (Value& operand : operands) {
      if (operand.is_defined() && operand.dtype() != DType::kBool) {
        operand = cast_to(operand, of_numbers);
      }
    }
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!is_number(objects[i])) continue;
    operands[i] = number_from(objects[i], of_tensors.value_or(of_numbers));
  }
  return operands;
}

std::vector<Value> pair_from(std::span<const py::handle> objects) {
  std::vector<Value> operands = operands_from(objects);
  for (std::size_t i = 0; i < 2; ++i) {
    const DType other = operands[1 - i].dtype();
    if (operands[i].dtype() == DType::kBool && other != DType::kBool) {
      operands[i] = cast_to(operands[i], other);
    }
  }
  return operands;
}

py::object from_results(std::vector<Value> results) {
  if (results.size() == 1) return py::cast(std::move(results.front()));
  py::tuple all(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    all[i] = py::cast(std::move(results[i]));
  }
  return all;
}

void bind_operators(py::module_& module) {
  module.def("registry", [] {
    py::list entries;
    for (const OpDef& op : op_registry().all()) {
      if (is_callable(op)) entries.append(description(op));
    }
    return entries;
  });
  module.def("operator", [](const std::string& name, const std::string& doc) {
    const OpDef& op = op_registry().get(name);
    py::options options;
    options.disable_function_signatures();  // `doc` has its own
    return py::cpp_function(
        [&op](const py::args& arguments, const py::kwargs& keywords) {
          return call_op(op, arguments, keywords);
        },
        py::name(op.name().c_str()), py::doc(doc.c_str()));
  });
}

}  // namespace weft::python
