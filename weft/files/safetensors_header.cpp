// Reading the header: text from anywhere, trusted in nothing.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "weft/files/safetensors.h"

namespace weft {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostHeaderBytes = 100'000'000;  // the format's limit
constexpr std::string_view kMetadata = "__metadata__";

// Fills a header from nlohmann's events, without a tree in between: memory
// stays in proportion to what is kept, and nesting is refused at once.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(ByteSpan file, std::size_t length, std::string_view where)
      : text_(reinterpret_cast<const char*>(file.data()) + kLengthBytes,
              length),
        data_bytes_(file.size() - kLengthBytes - length),
        where_(where) {
    header_.data_begin = kLengthBytes + length;
  }

  SafetensorsHeader take() {
    check_layout();
    return std::move(header_);
  }

  bool start_object(std::size_t) override {
    if (depth_ == 0) return ++depth_;
    if (depth_ != 1) fail("an object where none belongs");
    ++depth_;
    is_metadata_ = name_ == kMetadata;
    // Nothing of the entry before may stand in for what this one lacks.
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
    return true;
  }

  bool end_object() override {
    if (--depth_ == 1 && !is_metadata_) add_entry();
    return true;
  }

  bool key(std::string& text) override {
    if (depth_ == 1) {
      name_ = text;
      // JSON lets a key occur twice, and readers differ in which of the two
      // they take.
      if (!names_.insert(text).second) fail("occurs twice");
    } else {
      // A key of a tensor that comes twice shows when its second value comes.
      key_ = text;
      if (is_metadata_ && header_.metadata.contains(text)) {
        fail("has a key twice");
      }
    }
    return true;
  }

  bool start_array(std::size_t) override {
    const bool is_list = key_ == "shape" || key_ == "data_offsets";
    if (depth_ != 2 || is_metadata_ || !is_list) {
      fail("a list where none belongs");
    }
    ++depth_;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    --depth_;
    auto& target = key_ == "shape" ? shape_ : offsets_;
    if (target) fail("has a key twice");
    target = std::move(numbers_);
    return true;
  }

  bool string(std::string& text) override {
    if (depth_ == 2 && is_metadata_) {
      header_.metadata.emplace(key_, text);
    } else if (depth_ == 2 && key_ == "dtype" && !dtype_) {
      dtype_ = parse_dtype(text);
    } else {
      fail("a string where none belongs");
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 3) fail("a number where none belongs");
    // Dims and offsets are i64 from here on.
    if (value >
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail("a number is too large");
    }
    // Lists are held to their length while they are read, so that no file makes
    // them grow.
    if (key_ == "shape" && numbers_.size() == Shape::kMaxRank) {
      throw Error(ErrorCode::kUnsupported, where_,
                  "byte {}: '{}' has more than {} dims", offset(), name_,
                  Shape::kMaxRank);
    }
    if (key_ == "data_offsets" && numbers_.size() == 2) {
      fail("more than two offsets");
    }
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  // nlohmann calls this for negative numbers alone.
  bool number_integer(number_integer_t) override {
    return fail("a negative number");
  }
  bool number_float(number_float_t, const std::string&) override {
    return fail("a fraction where an integer belongs");
  }
  bool null() override { return fail("null"); }
  bool boolean(bool) override { return fail("a boolean"); }
  bool binary(binary_t&) override { return fail("binary data"); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // Behind nlohmann's own prefix stands the reason.
    const std::string_view text = error.what();
    const std::size_t colon = text.find(": ");
    throw Error(
        ErrorCode::kDataLoss, where_, "byte {}: the header is no JSON: {}",
        // nlohmann counts what it has read, so the culprit is one before.
        kLengthBytes + (position > 0 ? position - 1 : 0),
        colon == std::string_view::npos ? text : text.substr(colon + 2));
  }

 private:
  // It never returns the bool, which lets handlers return what it gives. The
  // name is cut, as that of a damaged file may be as long as the header.
  [[noreturn]] bool fail(std::string_view reason) const {
    throw Error(ErrorCode::kDataLoss, where_, "byte {}: header: '{}': {}",
                offset(), name_.substr(0, 80), reason);
  }

  // Where the current tensor's name stands in the file: near enough.
  std::size_t offset() const {
    const std::size_t found = text_.find('"' + name_ + '"');
    return kLengthBytes + (found == std::string_view::npos ? 0 : found);
  }

  DType parse_dtype(const std::string& text) const {
    static constexpr std::pair<std::string_view, DType> kNames[] = {
        {"F64", DType::kF64},   {"F32", DType::kF32}, {"F16", DType::kF16},
        {"BF16", DType::kBF16}, {"I64", DType::kI64}, {"I32", DType::kI32},
        {"I16", DType::kI16},   {"I8", DType::kI8},   {"U8", DType::kU8},
        {"BOOL", DType::kBool}};
    for (const auto& [name, dtype] : kNames) {
      if (name == text) return dtype;
    }
    throw Error(ErrorCode::kUnsupported, where_,
                "byte {}: '{}' has dtype '{}', which Weft has not", offset(),
                name_.substr(0, 80), text.substr(0, 20));
  }

  void add_entry() {
    if (!dtype_ || !shape_ || !offsets_) {
      fail("lacks dtype, shape or data_offsets");
    }
    if (offsets_->size() != 2) fail("needs two offsets");
    // Neither is negative: number_unsigned() lets only such numbers in. It has
    // bounded the dims of the shape, too.
    const auto begin = static_cast<std::size_t>((*offsets_)[0]);
    const auto end = static_cast<std::size_t>((*offsets_)[1]);
    if (begin > end || end > data_bytes_) {
      fail(fmt::format("offsets {} to {} are not inside the {} bytes of data",
                       begin, end, data_bytes_));
    }
    const TensorType type{*dtype_, Shape(*shape_)};
    if (!has_bytes(type, end - begin)) {
      fail(fmt::format("{} does not take {} bytes", to_string(type),
                       end - begin));
    }
    header_.entries.push_back({name_, type, begin});
  }

  // True if a tensor of `type` takes exactly `bytes`; never overflows.
  static bool has_bytes(const TensorType& type, std::size_t bytes) {
    const bool is_empty =
        std::find(type.shape.begin(), type.shape.end(), 0) != type.shape.end();
    if (is_empty) return bytes == 0;
    std::size_t need = size_of(type.dtype);
    for (const Dim dim : type.shape) {
      // No dim is 0 here, so that it can be divided by.
      const auto size = static_cast<std::size_t>(dim);
      // Dividing cannot overflow, where the product may pass any integer.
      if (need > bytes / size) return false;
      need *= size;
    }
    return need == bytes;
  }

  // Every byte of data belongs to exactly one tensor.
  void check_layout() {
    if (depth_ != 0) fail("the header ends too early");
    auto& entries = header_.entries;
    // An empty tensor may begin where the next one does, and comes before it.
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) {
                       return std::pair(a.begin, a.type.bytes()) <
                              std::pair(b.begin, b.type.bytes());
                     });
    std::size_t next = 0;
    for (const auto& entry : entries) {
      // fail() tells the name of what is being looked at.
      name_ = entry.name;
      if (entry.begin < next) fail("overlaps the tensor before it");
      if (entry.begin > next) fail("leaves a gap before it");
      next = entry.begin + entry.type.bytes();
    }
    if (next != data_bytes_) {
      throw Error(ErrorCode::kDataLoss, where_,
                  "byte {}: {} bytes behind the last tensor",
                  header_.data_begin + next, data_bytes_ - next);
    }
  }

  std::string_view text_;
  std::size_t data_bytes_;
  std::string_view where_;
  SafetensorsHeader header_;
  std::size_t depth_ = 0;
  std::set<std::string> names_;
  // The entry that is being read.
  std::string name_;
  std::string key_;
  bool is_metadata_ = false;
  std::optional<DType> dtype_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::optional<std::vector<std::int64_t>> offsets_;
  std::vector<std::int64_t> numbers_;
};

// They are put together one by one, which asks for no alignment.
std::uint64_t little_endian(ByteSpan bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

const SafetensorsEntry* SafetensorsHeader::find(std::string_view name) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(),
                   [&](const auto& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

SafetensorsHeader parse_safetensors(ByteSpan file, std::string_view where) {
  static_assert(std::endian::native == std::endian::little);
  if (file.size() < kLengthBytes) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte {}: a safetensors file begins with 8 bytes, this one "
                "ends",
                file.size());
  }
  const std::uint64_t length = little_endian(file);
  // The difference cannot wrap around, since at least the length itself is
  // there.
  if (length > file.size() - kLengthBytes || length > kMostHeaderBytes) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte 0: a header of {} bytes, but only {} follow", length,
                file.size() - kLengthBytes);
  }
  HeaderReader reader(file, length, where);
  const auto* begin = reinterpret_cast<const char*>(file.data()) + kLengthBytes;
  // nlohmann would skip blanks, which the format does not allow in front.
  if (length == 0 || *begin != '{') {
    throw Error(ErrorCode::kDataLoss, where,
                "byte 8: the header is no JSON object");
  }
  // What it returns says nothing: every handler that does not like what it gets
  // throws.
  nlohmann::json::sax_parse(begin, begin + length, &reader);
  return reader.take();
}

}  // namespace weft
