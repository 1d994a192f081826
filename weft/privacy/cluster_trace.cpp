#include "weft/privacy/cluster_trace.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/file.h"

namespace weft::privacy {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

class TraceReader {
 public:
  explicit TraceReader(const std::filesystem::path& path)
      : path_(path), text_(read_text(path, kMostBytes)) {}

  std::vector<ClusterJob> jobs() {
    std::vector<std::string_view> lines = split(text_, '\n');
    if (lines.back().empty()) lines.pop_back();
    if (lines.empty()) throw fail("the file is empty");
    names_ = split(lines[0], ',');
    std::vector<ClusterJob> jobs;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      line_ = i + 1;
      cells_ = split(lines[i], ',');
      if (cells_.size() != names_.size())
        throw fail(fmt::format("{} cells below {} names", cells_.size(),
                               names_.size()));
      const double created = number("creation_time");
      jobs.push_back({.created = created,
                      .runtime = number("deletion_time") - created,
                      .memory = number("memory_mib"),
                      .gpus = number("num_gpu") * number("gpu_milli") / 1000});
      if (jobs.back().runtime < 0) throw fail("it ends before it begins");
    }
    return jobs;
  }

 private:
  Error fail(const std::string& what) const {
    return Error(ErrorCode::kDataLoss,
                 fmt::format("{}:{}", path_.string(), line_), "{}", what)
        .hint(
            "openb_pod_list_default.csv of github.com/alibaba/clusterdata, "
            "cluster-trace-gpu-v2023, is such a file");
  }

  double number(std::string_view name) const {
    const auto column = std::find(names_.begin(), names_.end(), name);
    if (column == names_.end())
      throw fail(fmt::format("there is no column {}", name));
    const std::string_view cell =
        cells_[static_cast<std::size_t>(column - names_.begin())];
    double value = 0;
    const auto [end, error] =
        std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() ||
        !(value >= 0 && value < 1e15))
      throw fail(fmt::format("'{}' is no {}", cell, name));
    return value;
  }

  std::filesystem::path path_;
  std::string text_;
  std::size_t line_ = 1;
  std::vector<std::string_view> names_;
  std::vector<std::string_view> cells_;
};

}  // namespace

std::vector<ClusterJob> read_cluster_trace(const std::filesystem::path& path) {
  return TraceReader(path).jobs();
}

}  // namespace weft::privacy
