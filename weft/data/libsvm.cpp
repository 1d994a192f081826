#include "weft/data/libsvm.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "weft/base/error.h"
#include "weft/base/libraries/gzip.h"
#include "weft/base/read_double.h"

namespace weft {
namespace {

constexpr std::size_t kMostLibsvmBytes = std::size_t{1} << 34U;
// A line may be as long as the file, and an error should still be readable.
constexpr std::size_t kMostQuotedLibsvm = 60;

// Reads the words of a line one after the other.
class LineReader {
 public:
  explicit LineReader(std::string_view line)
      : at_(line.data()), end_(line.data() + line.size()) {}

  bool is_at_end() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
    return at_ == end_;
  }
  // Whether a number was there; a '+' before it is taken, as "+1" is a class.
  template <class T>
  bool take(T& number) {
    if (at_ != end_ && *at_ == '+') ++at_;
    const auto [after, problem] = std::from_chars(at_, end_, number);
    if (problem != std::errc()) return false;
    at_ = after;
    return true;
  }
  // What is nearer to 0 than any float is 0.
  bool take(float& number) {
    if (take<float>(number)) return true;
    double wide = 0;
    const auto [after, problem] = read_double(at_, end_, wide);
    if (problem != std::errc() || std::abs(wide) > 1) return false;
    at_ = after;
    number = 0;
    return true;
  }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool is_at_blank() const {
    return at_ == end_ || *at_ == ' ' || *at_ == '\t';
  }

 private:
  const char* at_;
  const char* end_;
};

// Adds the example; returns what is wrong with it, if anything is.
const char* parse_example(std::string_view line, concurrent::SparseRows& rows) {
  LineReader reader(line);
  float target = 0;
  if (reader.is_at_end() || !reader.take(target) || !reader.is_at_blank() ||
      !std::isfinite(target))
    return "a line begins with a finite target";
  std::uint32_t last = 0;
  while (!reader.is_at_end()) {
    std::uint32_t index = 0;
    float value = 0;
    if (!reader.take(index) || !reader.take(':') || !reader.take(value) ||
        !reader.is_at_blank() || !std::isfinite(value))
      return "behind it come pairs index:value of finite numbers";
    if (index <= last) return "indices begin at 1 and ascend";
    if (index > kMostLibsvmIndex) return "indices are at most 2^30";
    last = index;
    if (value == 0) continue;
    rows.columns.push_back(index - 1);
    rows.values.push_back(value);
    rows.width = std::max(rows.width, index);
  }
  rows.targets.push_back(target);
  rows.begin.push_back(rows.columns.size());
  return nullptr;
}

}  // namespace

concurrent::SparseRows parse_libsvm(std::string_view text,
                                    const std::string& where) {
  concurrent::SparseRows rows;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    line = line.substr(0, line.find('#'));
    // Some files come with the line ends of another system.
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (LineReader(line).is_at_end()) continue;
    if (const char* wrong = parse_example(line, rows)) {
      throw Error(ErrorCode::kDataLoss, fmt::format("{}:{}", where, number),
                  "no example: '{}'", line.substr(0, kMostQuotedLibsvm))
          .hint(wrong);
    }
  }
  if (rows.rows() == 0) {
    throw Error(ErrorCode::kDataLoss, where, "there is no example in it");
  }
  return rows;
}

concurrent::SparseRows read_libsvm(const std::filesystem::path& path) {
  const UnpackedFile file(path, kMostLibsvmBytes);
  return parse_libsvm(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
      path.string());
}

void make_binary(concurrent::SparseRows& rows, const std::string& where) {
  std::set<float> classes;
  for (const float target : rows.targets) {
    classes.insert(target);
    if (classes.size() > 2) break;
  }
  if (classes.size() != 2) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "the targets are {} two classes",
                classes.size() < 2 ? "fewer than" : "more than")
        .hint("the loss 'squared' takes any targets");
  }
  for (float& target : rows.targets) {
    target = target == *classes.begin() ? -1.0f : 1.0f;
  }
}

}  // namespace weft
