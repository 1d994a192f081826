// What verbs say of an exported function that they wrote.
#pragma once

#include <string>

namespace weft {
class ExportedFunction;
}

namespace weft::cli {

// Its arguments and results, and how it is run; as one JSON object if wanted:
// file, arguments (each with name and type), results. They are read from the
// file, so that it is known to be good. Throws as ExportedFunction does.
void print_exported(const std::string& file, bool as_json);
// The same of a model of ONNX that was made of `function`, and without how to
// run it here.
void print_onnx(const std::string& file, const ExportedFunction& function,
                bool as_json);

}  // namespace weft::cli
