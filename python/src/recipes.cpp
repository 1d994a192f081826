#include "python/src/recipes.h"

#include "python/src/convert.h"

namespace weft::python {
namespace {

// A module that is written in Python, as a layer that C++ calls.
class CalledLayer final : public nn::Layer {
 public:
  CalledLayer(std::shared_ptr<nn::Module> module, py::object callable)
      : callable_(share(std::move(callable))) {
    adopt("model", std::move(module));
  }

 protected:
  Value forward(const Value& x) override {
    const py::gil_scoped_acquire gil;
    return value_from(call_python(callable_, py::make_tuple(py::cast(x))));
  }

 private:
  SharedObject callable_;
};

}  // namespace

Recipe recipe_from(const py::object& given, const Overrides& overrides) {
  if (given.is_none()) return recipe_of_objects(overrides);
  const auto source = py::cast<std::string>(given);
  if (source.find('\n') == std::string::npos) {
    return load_recipe(source, overrides);
  }
  return parse_recipe(source, "recipe", overrides);
}

std::shared_ptr<nn::Module> model_from(const py::object& model) {
  if (model.is_none()) return nullptr;
  if (!py::isinstance<nn::Module>(model)) {
    throw Error(ErrorCode::kInvalidArgument, "model",
                "this is no weft.nn.Module");
  }
  auto module = py::cast<std::shared_ptr<nn::Module>>(model);
  // What Python has written has no forward() that C++ could call.
  if (std::dynamic_pointer_cast<nn::Layer>(module) != nullptr ||
      !PyCallable_Check(model.ptr())) {
    return module;
  }
  return std::make_shared<CalledLayer>(std::move(module), model);
}

GivenObjects given_from(const Recipe& recipe, const py::object& model,
                        const py::object& data, const py::object& optimizer) {
  return {.model = model_from(model),
          .data = data_from(data, recipe),
          .optimizer = optimizer_from(optimizer)};
}

py::dict from_scores(const Scores& scores) {
  py::dict named;
  for (const auto& [name, value] : scores.all()) named[py::str(name)] = value;
  return named;
}

}  // namespace weft::python
