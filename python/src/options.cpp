#include "python/src/options.h"

#include "python/src/convert.h"

namespace weft::python {

Options options_from(const py::kwargs& keywords) {
  Options options;
  for (const auto& [key, value] : keywords) {
    const auto name = py::cast<std::string>(key);
    // A bool of Python is an int as well, so it is asked first.
    if (py::isinstance<py::bool_>(value)) {
      options[name] = py::cast<bool>(value);
    } else if (py::isinstance<py::int_>(value)) {
      options[name] = py::cast<std::int64_t>(value);
    } else if (py::isinstance<py::float_>(value)) {
      options[name] = py::cast<double>(value);
    } else if (py::isinstance<py::str>(value)) {
      options[name] = py::cast<std::string>(value);
    } else if (py::isinstance<py::list>(value) ||
               py::isinstance<py::tuple>(value)) {
      const auto list = py::reinterpret_borrow<py::sequence>(value);
      if (!list.empty() && py::isinstance<py::str>(list[0])) {
        options[name] = py::cast<std::vector<std::string>>(value);
      } else {
        options[name] = integers_from(value);
      }
    } else {
      throw Error(
          ErrorCode::kInvalidArgument, name,
          "an option is a number, a text, or a list of integers or texts");
    }
  }
  return options;
}

}  // namespace weft::python
