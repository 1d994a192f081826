// One version of a model, as it was read from its file: what it takes and
// returns, whether requests may share a run, and the runs.
//
// Rows of requests that share a run are put one behind the other, and rows are
// added until their number is a power of two: a model then has few plans,
// however many sizes its clients send. Results may differ in their last bits
// from those of a run alone, as kernels are chosen by shape.
//
// Threads: thread-safe once it is built; is_serial() says that runs must come
//          one after another.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/files/exported.h"
#include "weft/serve/file_snapshot.h"
#include "weft/serve/request.h"

namespace weft {
class ModelInUse;
}

namespace weft::serve {

// What the symbolic dims are in a run: {{"N", 1}, {"T", 20}}.
using NamedSizes = std::vector<std::pair<std::string, Dim>>;

struct ModelOptions {
  std::int64_t most_rows = 32;  // that share a run
  std::size_t most_plans = 16;  // that each executor keeps of a model
  // Runs that are made before the first request. If none is listed, those of
  // every number of rows that runs may have, where that settles the shapes.
  std::vector<NamedSizes> warm_up = {};
};

// The number of rows of a run with so many of requests: the next power of two.
std::int64_t padded_rows(std::int64_t rows);

// An argument or a result. Dims may be symbols.
struct Port {
  std::string name;
  TensorType type;
};

class ServedModel {
 public:
  // Reads the file, and plans nothing yet. Throws as ExportedFunction does.
  ServedModel(std::string name, std::string version,
              const std::filesystem::path& path, const ModelOptions& options);
  ~ServedModel();

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  // Why each request runs alone; nothing if they may share runs.
  const std::optional<std::string>& alone_because() const {
    return alone_because_;
  }
  // Whether it keeps what it assigned for the next run.
  bool is_serial() const { return is_serial_; }
  // How many rows may share a run: 1 if none may.
  std::int64_t most_rows() const { return most_rows_; }
  // How many rows a run has that is for so many of requests.
  std::int64_t rows_of_run(std::int64_t rows) const {
    return rows_ ? padded_rows(rows) : rows;
  }
  // What the file says of a task and data; null for a function alone. The
  // caller synchronises what it does with it.
  ModelInUse* in_use() const { return opened_.in_use.get(); }

  // Runs listed shapes for `copies` calls at once, on the calling thread.
  // Throws Error(kInvalidArgument) for a dim that the model has not, and as a
  // run does.
  void warm_up(std::size_t copies);

  // Fills rows, elements and group of a request with these inputs. Throws
  // Refusal naming the input that does not fit, and both types.
  void admit(Request& request) const;

  // One outcome for each request, all of one group. An error that one of them
  // causes is its alone: the others run without it. Adds the seconds of
  // computing to `seconds`, and the rows that were run beside theirs to
  // `padding`.
  struct BatchReport {
    double seconds = 0;
    std::int64_t padding = 0;
  };
  std::vector<Outcome> run(std::span<const RequestRef> batch,
                           BatchReport& report);

 private:
  std::vector<Tensor> joined(std::span<const RequestRef> batch,
                             std::int64_t rows) const;
  std::vector<Tensor> samples(const Bindings& bindings) const;
  std::vector<Bindings> warm_up_sizes() const;

  // Both come of one reading, as a reading checks the whole file.
  struct Opened {
    ExportedFunction function;
    std::unique_ptr<ModelInUse> in_use;
  };
  static Opened open(const FileSnapshot& copy,
                     const std::filesystem::path& path,
                     const ModelOptions& options);

  std::string name_;
  std::string version_;
  ModelOptions options_;
  FileSnapshot file_;
  Opened opened_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::optional<Dim> rows_;  // the symbol, where rows may share runs
  std::optional<std::string> alone_because_;
  bool is_serial_ = false;
  std::int64_t most_rows_ = 1;
};

using ModelRef = std::shared_ptr<ServedModel>;
}  // namespace weft::serve
