// The extension module weft._weft, which the package weft wraps.
#include "python/src/bind.h"

#include "weft/base/cpu.h"

PYBIND11_MODULE(_weft, module) {
  using namespace weft::python;
  weft::instruction_set();  // complains of WEFT_CPU before anything is done
  py::options options;
  options.disable_function_signatures();  // the stubs have them
  bind_errors(module);
  bind_types(module);
  bind_tensor(module);
  bind_operators(module);
  bind_variable(module);
  bind_gradient(module);
  bind_control(module);
  bind_nn(module);
  bind_optim(module);
  bind_files(module);
  bind_onnx(module);
  bind_train(module);
  bind_model(module);
  bind_profile(module);
  bind_data(module);
  bind_validation(module);
  bind_books(module);
  bind_jit(module);
  bind_transforms(module);
}
