// The base of everything that owns parameters. A module's parameters and
// children have names; a full name is the path to it: "stage1.0.conv1.weight".
//
// Layers compute with Values, so the same forward() runs eagerly and staged.
// Parameters are variables (graph/variable.h): what forward() changes (running
// statistics) it assigns, and weft::jit or nn/staging.h carry it out.
//
// Copies of a module share its parameters and its mode.
//
// Threads: caller synchronises.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/location.h"
#include "weft/graph/mode.h"
#include "weft/graph/variable.h"
#include "weft/nn/init.h"

namespace weft::nn {

enum class Role {
  kTrainable,
  kFrozen,     // as trainable ones, but kept at its first value
  kMask,       // what a view keeps (view.h): it follows from trained ones alone
  kStatistic,  // changed by forward() while training; kept with the model
  kCarried,    // passed from one batch to the next; zero when an epoch starts
};

struct ViewedParameter;

struct Parameter {
  std::string name;  // within its module
  Init init;
  Role role = Role::kTrainable;
  Variable variable;  // has no value until initialize()
  // How the model sees it (view.h); null: as it is.
  std::shared_ptr<const ViewedParameter> viewed = nullptr;

  const TensorType& type() const { return variable.type(); }
  bool is_trainable() const { return role == Role::kTrainable; }
};

using ParameterRef = std::shared_ptr<Parameter>;

struct NamedParameter {
  std::string name;  // the path from the root
  ParameterRef parameter;
};

class Module {
 public:
  virtual ~Module() = default;

  // All parameters below this module, parents before children, in the order
  // of declaration; what a view keeps of one comes behind it, or in its place.
  // A variable that stands at several places is one parameter, by the name that
  // it has in the first module which declares it.
  std::vector<NamedParameter> parameters() const;
  // The same without regard to views, and with variables that modules merely
  // hold under their names there, too.
  struct Declared {
    std::string name;
    ParameterRef parameter;
    const Module* module;  // that declares it
  };
  std::vector<Declared> declared_parameters() const;
  // Gives every parameter its first value, by `seed` and its full name, unless
  // it came with one.
  void initialize(std::uint64_t seed);
  // Switches dropout and batch statistics on or off, here and below.
  void train(bool is_training);
  bool is_training() const { return is_training_.is_on(); }
  const Mode& training_mode() const { return is_training_; }
  // How many trainable numbers there are.
  std::int64_t parameter_count() const;

  // Whether it takes its parameters from value_of(), so that they may be seen
  // through views.
  virtual bool reads_by_value_of() const { return true; }

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;

  ParameterRef parameter(std::string name, const Shape& shape, Init init,
                         Role role = Role::kTrainable);
  // Takes a module as a child. The reference stays good for copies too: they
  // share the child.
  template <class M>
  M& child(const std::string& name, M module) {
    auto owned = std::make_shared<M>(std::move(module));
    M& result = *owned;
    adopt(name, std::move(owned));
    return result;
  }
  void adopt(std::string name, std::shared_ptr<Module> module);

  // What is directly below. A module that is written in another language may
  // know more than it was given, and tells at each walk.
  virtual std::vector<ParameterRef> own_parameters() const { return own_; }
  virtual std::vector<std::shared_ptr<Module>> children() const {
    return children_;
  }

 private:
  // This module and all below, each once, parents first, with their paths.
  using Visitor =
      std::function<void(const std::string& path, const Module& module)>;
  void visit(const std::string& path, std::set<const Module*>& seen,
             const Visitor& visitor) const;

  std::string name_;
  Mode is_training_{true};
  std::vector<ParameterRef> own_;
  std::vector<std::shared_ptr<Module>> children_;
};

// A module with one input and one output.
class Layer : public Module {
 public:
  // Ops built inside know which layer they belong to.
  Value operator()(const Value& x) {
    const LayerScope scope(name());
    return forward(x);
  }

 protected:
  virtual Value forward(const Value& x) = 0;
};

// The value of a parameter in what is being built, or its own, as layers see
// it: through its view. Throws Error(kInvalidArgument) before initialize().
Value value_of(const ParameterRef& parameter);
// The same without the view: what an optimizer changes.
Value own_value_of(const Parameter& parameter);

// Makes the trainable parameters whose full names fit `pattern`
// (base/wildcard.h) frozen. Before anything was staged.
void freeze(const Module& module, std::string_view pattern);

// The parameter of that full name. Throws Error(kInvalidArgument) with the
// nearest known name.
ParameterRef find_parameter(const Module& module, std::string_view name);

}  // namespace weft::nn
