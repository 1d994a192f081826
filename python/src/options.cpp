#include "python/src/options.h"

#include "python/src/convert.h"

namespace weft::python {
namespace {

// The first element says of what the list is.
OptionValue list_from(const std::string& name, const py::handle& value) {
  const auto list = py::reinterpret_borrow<py::sequence>(value);
  if (list.empty() || !py::isinstance<py::str>(list[0])) {
    return integers_from(value);
  }
  std::vector<std::string> texts;
  for (const py::handle item : list) {
    if (!py::isinstance<py::str>(item)) {
      throw Error(ErrorCode::kInvalidArgument, name,
                  "a list is one of integers or one of texts");
    }
    texts.push_back(py::cast<std::string>(item));
  }
  return texts;
}

}  // namespace

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
      options[name] = list_from(name, value);
    } else {
      throw Error(
          ErrorCode::kInvalidArgument, name,
          "an option is a number, a text, or a list of integers or texts");
    }
  }
  return options;
}

}  // namespace weft::python
