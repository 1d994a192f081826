// weft.nn: the layers, and modules that are written in Python.
#include "weft/nn/nn.h"

#include <map>
#include <optional>
#include <set>
#include <variant>

#include "python/src/convert.h"
#include "python/src/options.h"
#include "python/src/scope_manager.h"

#include "weft/nn/layer_def.h"
#include "weft/nn/scope.h"

namespace weft::python {
namespace {

using nn::Module;

// Opens what layers of C++ keep to themselves: a module that is written in
// Python takes parameters from outside.
struct Access : Module {
  static nn::ParameterRef add_parameter(Module& module, std::string name,
                                        const Shape& shape, nn::Init init,
                                        nn::Role role) {
    return (module.*&Access::parameter)(std::move(name), shape, init, role);
  }
};

// A module that is written in Python: what its attributes hold is below it,
// also in lists, tuples and dicts, under names like "layers.0". They are looked
// at again at each walk, as lists may have grown.
class PythonModule : public Module {
 public:
  PythonModule() = default;

  // Python reads the variables themselves.
  bool reads_by_value_of() const override { return false; }

 protected:
  std::vector<nn::ParameterRef> own_parameters() const override {
    // Walks begin in C++, which may have released it.
    const py::gil_scoped_acquire gil;
    std::vector<nn::ParameterRef> found = Module::own_parameters();
    // A parameter of this module is often an attribute as well, and one
    // variable may have two names: each counts once.
    std::set<const VariableState*> known;
    for (const auto& own : found) known.insert(own->variable.state().get());
    for_each_below([&](const std::string& name, const py::handle& object) {
      if (!py::isinstance<Variable>(object)) return;
      const VariableRef& state = py::cast<const Variable&>(object).state();
      if (!known.insert(state.get()).second) return;
      found.push_back(std::make_shared<nn::Parameter>(nn::Parameter{
          name, nn::Init::given(),
          state->is_trainable ? nn::Role::kTrainable : nn::Role::kStatistic,
          Variable(state)}));
    });
    return found;
  }

  std::vector<std::shared_ptr<Module>> children() const override {
    const py::gil_scoped_acquire gil;
    std::vector<std::shared_ptr<Module>> found;
    std::set<const Module*> known{this};  // the first name is the one
    for_each_below([&](const std::string& name, const py::handle& object) {
      if (!py::isinstance<Module>(object)) return;
      auto module = py::cast<std::shared_ptr<Module>>(object);
      if (!known.insert(module.get()).second) return;
      module->set_name(name);
      found.push_back(std::move(module));
    });
    return found;
  }

 private:
  using Visitor =
      std::function<void(const std::string& name, const py::handle& object)>;

  void for_each_below(const Visitor& visitor) const {
    const py::handle self = py::detail::get_object_handle(
        this, py::detail::get_type_info(typeid(Module)));
    if (!self) return;  // Python has dropped it, with its attributes
    // Attributes that are not to be named say so.
    const py::object named = py::hasattr(self, "_named_parts")
                                 ? self.attr("_named_parts")()
                                 : py::object(self.attr("__dict__"));
    for (const auto& [name, object] : py::reinterpret_borrow<py::dict>(named)) {
      visit(py::str(name), object, visitor);
    }
  }

  static void visit(const std::string& name, const py::handle& object,
                    const Visitor& visitor) {
    if (PyDict_Check(object.ptr())) {
      for (const auto& [key, item] : py::reinterpret_borrow<py::dict>(object)) {
        visit(name + "." + std::string(py::str(key)), item, visitor);
      }
    } else if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
      std::size_t index = 0;
      for (const auto item : object) {
        visit(fmt::format("{}.{}", name, index++), item, visitor);
      }
    } else {
      visitor(name, object);
    }
  }
};

// Shares the variable with the module that it belongs to.
std::shared_ptr<Variable> variable_of(const nn::ParameterRef& parameter) {
  return {parameter, &parameter->variable};
}

py::dict variables(const Module& module, bool trainable_only) {
  py::dict by_name;
  for (const auto& [name, parameter] : module.parameters()) {
    if (trainable_only && !parameter->is_trainable()) continue;
    by_name[py::str(name)] = py::cast(variable_of(parameter));
  }
  return by_name;
}

nn::Init init_from(const std::string& kind, double scale) {
  if (kind == "constant") return nn::Init::constant(scale);
  if (kind == "uniform") return nn::Init::uniform(scale);
  if (kind == "normal") return nn::Init::normal(scale);
  throw Error(ErrorCode::kInvalidArgument, "parameter",
              "no way to start called '{}'", kind)
      .hint("constant, uniform or normal, with a scale");
}

template <class Layer>
py::class_<Layer, nn::Layer, std::shared_ptr<Layer>> bind_layer(
    py::module_& module, const char* name) {
  return {module, name};
}

using Layers = ScopeManager<LayerScope, std::string>;
using RandomKey = ScopeManager<RandomKeyScope, Value>;
using Precision = ScopeManager<PrecisionScope, DType>;
using RecurrentWeights = ScopeManager<RecurrentWeightsScope, DType>;

void bind_scopes(py::module_& module) {
  bind_manager<Layers>(module, "_layer_scope",
                       "What runs in its with block belongs to that layer.")
      .def(py::init<std::string>(), py::arg("name"));
  bind_manager<RandomKey>(module, "random_key",
                          "Random layers in its with block draw with this "
                          "key: two integers, seed and step.")
      .def(py::init([](const py::object& key) {
             return std::make_unique<RandomKey>(value_from(key));
           }),
           py::arg("key"));
  bind_manager<Precision>(module, "precision",
                          "Dense and convolutional layers in its with block "
                          "compute in this dtype.")
      .def(py::init([](const py::object& dtype) {
             return std::make_unique<Precision>(dtype_from(dtype));
           }),
           py::arg("dtype"));
  bind_manager<RecurrentWeights>(
      module, "recurrent_weights",
      "Recurrent layers in its with block multiply by weights of this dtype: "
      "f32, or bf16 or i8 to serve a trained model.")
      .def(py::init([](const py::object& dtype) {
             return std::make_unique<RecurrentWeights>(dtype_from(dtype));
           }),
           py::arg("dtype"));
}

void bind_module(py::module_& module) {
  py::class_<Module, PythonModule, std::shared_ptr<Module>>(
      module, "Module",
      "Owns parameters and other modules: those that its attributes hold, "
      "also in lists, tuples and dicts. Subclass it, make children in "
      "__init__, and define __call__.")
      // Every module that Python makes walks its attributes, also one that is
      // no subclass.
      .def(py::init_alias<>())
      .def(
          "parameter",
          [](Module& self, const std::string& name, const py::object& shape,
             const std::string& init, double scale, bool is_trainable) {
            return variable_of(Access::add_parameter(
                self, name, shape_from(shape), init_from(init, scale),
                is_trainable ? nn::Role::kTrainable : nn::Role::kStatistic));
          },
          py::arg("name"), py::arg("shape"), py::arg("init") = "constant",
          py::arg("scale") = 0.0, py::arg("is_trainable") = true,
          "A new variable of this module, f32, without a value until "
          "initialize().")
      .def("parameters", &variables, py::arg("trainable_only") = false,
           "All variables below this module, by full name.")
      .def("initialize", &Module::initialize, py::arg("seed"),
           "Gives every parameter its first value, by the seed and its name; "
           "a weft.Variable keeps the one that it came with.")
      .def("train", &Module::train, py::arg("is_training") = true,
           "Switches dropout and batch statistics on or off.")
      .def_property_readonly("is_training", &Module::is_training)
      .def_property_readonly("parameter_count", &Module::parameter_count)
      .def("_set_name", &Module::set_name)
      // It is of the module alone, where train() reaches all below it.
      .def("_set_training",
           [](const Module& self, bool is_training) {
             self.training_mode().set(is_training);
           })
      .def_property_readonly("name",
                             [](const Module& self) { return self.name(); });
  py::class_<nn::Layer, Module, std::shared_ptr<nn::Layer>>(module, "Layer")
      .def("__call__", [](nn::Layer& self, const py::object& x) {
        const Value value = value_from(x);
        // A layer of C++ calls nothing of Python, so other threads may go on.
        const py::gil_scoped_release nogil;
        return self(value);
      });
}

// Without a padding, "same".
nn::ConvOptions conv_options(std::int64_t stride,
                             std::optional<std::int64_t> padding,
                             std::int64_t dilation, std::int64_t groups,
                             bool bias) {
  return {.stride = stride,
          .padding = padding.value_or(nn::ConvOptions::kSame),
          .dilation = dilation,
          .groups = groups,
          .bias = bias};
}

void bind_attention(py::module_& module) {
  bind_layer<nn::MultiHeadAttention>(module, "MultiHeadAttention")
      .def(py::init([](std::int64_t width, std::int64_t heads, bool causal,
                       bool bias) {
             return std::make_shared<nn::MultiHeadAttention>(
                 width, heads,
                 nn::MultiHeadAttentionOptions{.causal = causal, .bias = bias});
           }),
           py::arg("width"), py::arg("heads"), py::arg("causal") = false,
           py::arg("bias") = true)
      .def(
          "__call__",
          [](nn::MultiHeadAttention& self, const py::object& x,
             const py::object& context, const py::object& mask) {
            const Value rows = value_from(x);
            const Value others = context.is_none() ? rows : value_from(context);
            const Value looks = mask.is_none() ? Value() : value_from(mask);
            const py::gil_scoped_release nogil;
            return self(rows, others, looks);
          },
          py::arg("x"), py::arg("context") = py::none(),
          py::arg("mask") = py::none(),
          "The rows of x look at those of the context, by default their own. "
          "The mask is of bool, broadcasts to [batch, heads, length, context's "
          "length] and is true where a row looks.");
}

// The side of a square, or rows and columns.
using ImageKernel =
    std::variant<std::int64_t, std::pair<std::int64_t, std::int64_t>>;

std::int64_t kernel_size(std::int64_t size) { return size; }

nn::KernelSize kernel_size(const ImageKernel& kernel) {
  if (const auto* side = std::get_if<std::int64_t>(&kernel)) return {*side};
  const auto& [rows, columns] =
      std::get<std::pair<std::int64_t, std::int64_t>>(kernel);
  return {rows, columns};
}

void bind_layers(py::module_& module) {
  bind_layer<nn::Linear>(module, "Linear")
      .def(py::init([](std::int64_t inputs, std::int64_t outputs, bool bias) {
             return std::make_shared<nn::Linear>(
                 inputs, outputs, nn::LinearOptions{.bias = bias});
           }),
           py::arg("inputs"), py::arg("outputs"), py::arg("bias") = true);
  const auto convolution =
      []<class Kernel, class Conv>(
          py::class_<Conv, nn::Layer, std::shared_ptr<Conv>> bound) {
        bound.def(
            py::init([](std::int64_t inputs, std::int64_t outputs,
                        const Kernel& kernel, std::int64_t stride,
                        std::optional<std::int64_t> padding,
                        std::int64_t dilation, std::int64_t groups, bool bias) {
              return std::make_shared<Conv>(
                  inputs, outputs, kernel_size(kernel),
                  conv_options(stride, padding, dilation, groups, bias));
            }),
            py::arg("inputs"), py::arg("outputs"), py::arg("kernel"),
            py::arg("stride") = 1, py::arg("padding") = py::none(),
            py::arg("dilation") = 1, py::arg("groups") = 1,
            py::arg("bias") = true);
      };
  convolution.operator()<std::int64_t>(
      bind_layer<nn::Conv1d>(module, "Conv1d"));
  convolution.operator()<ImageKernel>(bind_layer<nn::Conv2d>(module, "Conv2d"));
  bind_layer<nn::ConvTranspose2d>(module, "ConvTranspose2d")
      .def(py::init([](std::int64_t inputs, std::int64_t outputs,
                       std::int64_t kernel, std::int64_t stride,
                       std::optional<std::int64_t> padding,
                       std::int64_t output_padding, std::int64_t dilation,
                       std::int64_t groups, bool bias) {
             return std::make_shared<nn::ConvTranspose2d>(
                 inputs, outputs, kernel,
                 conv_options(stride, padding, dilation, groups, bias),
                 output_padding);
           }),
           py::arg("inputs"), py::arg("outputs"), py::arg("kernel"),
           py::arg("stride") = 1, py::arg("padding") = py::none(),
           py::arg("output_padding") = 0, py::arg("dilation") = 1,
           py::arg("groups") = 1, py::arg("bias") = true);
  bind_layer<nn::BatchNorm>(module, "BatchNorm")
      .def(py::init([](std::int64_t channels, double epsilon, double momentum) {
             return std::make_shared<nn::BatchNorm>(
                 channels, nn::BatchNormOptions{.epsilon = epsilon,
                                                .momentum = momentum});
           }),
           py::arg("channels"), py::arg("epsilon") = 1e-5,
           py::arg("momentum") = 0.1);
  bind_layer<nn::LayerNorm>(module, "LayerNorm")
      .def(py::init<std::int64_t, double>(), py::arg("width"),
           py::arg("epsilon") = 1e-5);
  bind_layer<nn::RmsNorm>(module, "RmsNorm")
      .def(py::init<std::int64_t, double>(), py::arg("width"),
           py::arg("epsilon") = 1e-5);
  bind_layer<nn::GroupNorm>(module, "GroupNorm")
      .def(py::init<std::int64_t, std::int64_t, double>(), py::arg("groups"),
           py::arg("channels"), py::arg("epsilon") = 1e-5);
  bind_layer<nn::Embedding>(module, "Embedding")
      .def(py::init<std::int64_t, std::int64_t>(), py::arg("words"),
           py::arg("width"));
  bind_layer<nn::Dropout>(module, "Dropout")
      .def(py::init<double>(), py::arg("rate"));
  const auto recurrent =
      []<class Cell>(py::class_<Cell, nn::Layer, std::shared_ptr<Cell>> bound) {
        bound.def(py::init([](std::int64_t inputs, std::int64_t hidden,
                              std::int64_t layers, std::int64_t carried_batch,
                              double dropout) {
                    return std::make_shared<Cell>(
                        inputs, hidden,
                        nn::RecurrentOptions{.layers = layers,
                                             .carried_batch = carried_batch,
                                             .dropout = dropout});
                  }),
                  py::arg("inputs"), py::arg("hidden"), py::arg("layers") = 1,
                  py::arg("carried_batch") = 0, py::arg("dropout") = 0.0);
      };
  recurrent(bind_layer<nn::Lstm>(module, "Lstm"));
  recurrent(bind_layer<nn::Gru>(module, "Gru"));
  recurrent(bind_layer<nn::Sru>(module, "Sru"));
  const auto pool =
      []<class Pool>(py::class_<Pool, nn::Layer, std::shared_ptr<Pool>> bound) {
        bound.def(py::init([](std::int64_t window, std::int64_t stride,
                              std::int64_t padding, bool ceil) {
                    return std::make_shared<Pool>(
                        window, nn::PoolLayerOptions{.stride = stride,
                                                     .padding = padding,
                                                     .ceil = ceil});
                  }),
                  py::arg("window"), py::arg("stride") = 0,
                  py::arg("padding") = 0, py::arg("ceil") = false);
      };
  pool(bind_layer<nn::MaxPool2d>(module, "MaxPool2d"));
  pool(bind_layer<nn::AvgPool2d>(module, "AvgPool2d"));
  bind_layer<nn::AdaptiveAvgPool2d>(module, "AdaptiveAvgPool2d")
      .def(py::init<std::int64_t>(), py::arg("size"));
  bind_layer<nn::GlobalAvgPool>(module, "GlobalAvgPool").def(py::init<>());
  bind_layer<nn::Flatten>(module, "Flatten").def(py::init<>());
  bind_layer<nn::Relu>(module, "Relu").def(py::init<>());
  bind_layer<nn::ResidualBlock>(module, "ResidualBlock")
      .def(py::init<std::int64_t, std::int64_t, std::int64_t>(),
           py::arg("inputs"), py::arg("outputs"), py::arg("stride") = 1);
}

}  // namespace

void bind_nn(py::module_& module) {
  py::module_ layers = module.def_submodule("nn");
  bind_module(layers);
  bind_layers(layers);
  bind_attention(layers);
  bind_scopes(layers);
  layers.def(
      "models",
      [] {
        py::dict summaries;
        for (const ModelDef& def : model_registry().all()) {
          summaries[py::str(def.name)] = def.summary;
        }
        return summaries;
      },
      "The models that have a name, and what they are.");
  layers.def(
      "layers",
      [] {
        py::dict summaries;
        for (const LayerDef& def : layer_registry().all()) {
          summaries[py::str(def.name)] = def.summary;
        }
        return summaries;
      },
      "The layers that model(\"sequential\", layers=[\"conv2d(16)\", …]) may "
      "be "
      "made of, and what they are.");
  layers.def(
      "views",
      [] {
        py::dict summaries;
        for (const ParameterViewDef& def : parameter_view_registry().all()) {
          summaries[py::str(def.name)] = def.summary;
        }
        return summaries;
      },
      "What a model may see in place of a parameter, and what each is.");
  layers.def(
      "view_parameters",
      [](const Module& model, const py::dict& views, std::uint64_t seed) {
        std::vector<nn::ViewChoice> choices;
        for (const auto& [parameters, view] : views) {
          choices.push_back(
              {parameters.cast<std::string>(), view.cast<std::string>()});
        }
        nn::view_parameters(model, choices, seed);
      },
      py::arg("model"), py::arg("views"), py::arg("seed") = 1,
      "From now on the model sees the trained parameters that fit a pattern "
      "through its view: {\"*.weight\": \"quantized(bits=4)\"}. What is "
      "trained, and what parameters() has, is what views are made from.");
  layers.def(
      "seen_values",
      [](const Module& model) {
        py::dict by_name;
        for (const auto& declared : model.declared_parameters()) {
          by_name[py::str(declared.name)] = nn::value_of(declared.parameter);
        }
        return by_name;
      },
      py::arg("model"),
      "What the model sees of each parameter, through its view.");
  layers.def(
      "model",
      [](const std::string& name, const py::object& example,
         std::int64_t classes, std::int64_t words, std::int64_t lanes,
         const std::vector<std::int64_t>& categories,
         const py::kwargs& options) -> py::object {
        const ModelDef& def = model_registry().get(name);
        std::shared_ptr<nn::Module> model =
            build_model(def,
                        {.example = shape_from(example),
                         .classes = classes,
                         .words = words,
                         .categories = categories,
                         .lanes = lanes},
                        options_from(options));
        // Python is given the class that it knows best: a layer can be called.
        if (auto layer = std::dynamic_pointer_cast<nn::Layer>(model)) {
          return py::cast(std::move(layer));
        }
        return py::cast(std::move(model));
      },
      py::arg("name"), py::arg("example"), py::arg("classes") = 0,
      py::arg("words") = 0, py::arg("lanes") = 0,
      py::arg("categories") = std::vector<std::int64_t>{},
      "A model by name, for examples of that shape, not initialized. Of rows "
      "of "
      "a table, `categories` says how many each of the last columns has.");
}

}  // namespace weft::python
