#include "weft/data/tar.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "weft/base/error.h"

namespace weft {
namespace {

constexpr std::size_t kBlock = 512;
// A longer name, or list of pax records, is damage.
constexpr std::size_t kMostNameBytes = std::size_t{1} << 20;

std::string_view text_of(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A field's text up to a zero, as header fields and long names end.
std::string_view until_zero(std::string_view text) {
  return text.substr(0, text.find('\0'));
}

class TarReader {
 public:
  TarReader(ByteSpan archive, std::string_view where)
      : archive_(archive), where_(where) {}

  std::vector<TarMember> read() && {
    check_start();
    // An archive ends with zeros, or with the file.
    while (at_ + kBlock <= archive_.size() && !is_zero()) read_member();
    check_end();
    return std::move(members_);
  }

 private:
  // Members behind a block of zeros, as in archives that were put one behind
  // the other, would be left out.
  void check_end() {
    if (archive_.size() - at_ >= kBlock) {
      const ByteSpan rest = archive_.subspan(at_);
      const auto other = std::ranges::find_if(
          rest, [](std::uint8_t byte) { return byte != 0; });
      if (other == rest.end()) return;
      at_ += static_cast<std::size_t>(other - rest.begin());
      throw damaged("more than zeros behind the archive's end");
    }
    if (at_ < archive_.size()) {
      throw damaged("a header of fewer than 512 bytes");
    }
  }

  Error damaged(std::string_view what) const {
    return {ErrorCode::kDataLoss, where_, "byte {}: {}", at_, what};
  }

  void check_start() const {
    const std::string_view start = text_of(archive_).substr(0, 4);
    if (!start.starts_with("\x1f\x8b") && !start.starts_with("BZh") &&
        !start.starts_with("\xfd"
                           "7zX") &&
        !start.starts_with("\x28\xb5\x2f\xfd")) {
      return;
    }
    throw Error(ErrorCode::kUnsupported, where_,
                "a packed archive, of which no part can be read alone")
        .hint("unpack it once: gunzip, bunzip2, unxz or unzstd");
  }

  std::string_view field(std::size_t begin, std::size_t size) const {
    return text_of(archive_.subspan(at_ + begin, size));
  }

  bool is_zero() const {
    return std::ranges::all_of(field(0, kBlock), [](char c) { return c == 0; });
  }

  // Octal digits, between blanks and zeros; or, where the first bit is set, the
  // bytes of a number, as GNU writes sizes from 8 GiB on.
  std::uint64_t number(std::size_t begin, std::size_t size) const {
    std::string_view text = field(begin, size);
    if ((static_cast<unsigned char>(text[0]) & 0x80) != 0) {
      std::uint64_t value = static_cast<unsigned char>(text[0]) & 0x7f;
      for (const char c : text.substr(1)) {
        if (value >> 56 != 0) throw damaged("a number that is too large");
        value = value << 8 | static_cast<unsigned char>(c);
      }
      return value;
    }
    text = until_zero(text);
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text.empty() ? 0 : parsed(text, 8);
  }

  std::uint64_t parsed(std::string_view text, int base) const {
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw damaged("a number with other signs than digits");
    }
    return value;
  }

  void check_sum() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      // The sum is taken with blanks where it stands itself.
      const bool is_sum = i >= 148 && i < 156;
      sum += is_sum ? ' ' : archive_[at_ + i];
    }
    if (sum != number(148, 8)) {
      throw damaged("a header whose checksum is wrong, or no tar archive");
    }
  }

  void read_member() {
    check_sum();
    const char type = field(156, 1)[0];
    // What stands before a member says more than its header.
    const bool is_extension =
        type == 'x' || type == 'g' || type == 'L' || type == 'K';
    const std::uint64_t size =
        !is_extension && pax_size_ ? *pax_size_ : number(124, 12);
    if (size > archive_.size() - at_ - kBlock) {
      throw damaged(fmt::format(
          "a member of {} bytes, which end behind the archive", size));
    }
    const ByteSpan bytes = archive_.subspan(at_ + kBlock, size);
    if (is_extension) {
      read_extension(type, bytes);
    } else {
      add(type, bytes);
    }
    // Members begin with a block.
    const std::size_t blocks = (size + kBlock - 1) / kBlock;
    at_ = std::min(at_ + kBlock * (1 + blocks), archive_.size());
  }

  void read_extension(char type, ByteSpan bytes) {
    if (bytes.size() > kMostNameBytes) throw damaged("a name that is too long");
    if (type == 'L') long_name_ = until_zero(text_of(bytes));
    if (type == 'x') read_pax(text_of(bytes));
    // 'g' speaks of all members, and says nothing that is asked for; 'K' names
    // what a link leads to.
  }

  // "LENGTH KEY=VALUE\n", with the length of the whole record.
  void read_pax(std::string_view text) {
    while (!text.empty()) {
      const std::size_t blank = std::min(text.find(' '), text.size());
      const std::uint64_t length = parsed(text.substr(0, blank), 10);
      if (length <= blank + 1 || length > text.size() ||
          text[length - 1] != '\n') {
        throw damaged("a pax record of another length than it says");
      }
      const std::string_view record =
          text.substr(blank + 1, length - blank - 2);
      const std::size_t sign = record.find('=');
      if (sign == record.npos) throw damaged("a pax record without '='");
      const std::string_view key = record.substr(0, sign);
      const std::string_view value = record.substr(sign + 1);
      if (key == "path") long_name_ = value;
      if (key == "size") pax_size_ = parsed(value, 10);
      if (key.starts_with("GNU.sparse")) throw other("a sparse file");
      text.remove_prefix(length);
    }
  }

  Error other(std::string_view what) const {
    return {ErrorCode::kUnsupported, where_,
            "byte {}: {}, where only files can be read", at_, what};
  }

  std::string short_name() const {
    std::string name(until_zero(field(0, 100)));
    // Only ustar has a prefix; GNU keeps times there.
    if (field(257, 6) != std::string_view("ustar\0", 6)) return name;
    const std::string prefix(until_zero(field(345, 155)));
    return prefix.empty() ? name : prefix + "/" + name;
  }

  void add(char type, ByteSpan bytes) {
    std::string name =
        long_name_.empty() ? short_name() : std::move(long_name_);
    long_name_.clear();
    pax_size_.reset();
    switch (type) {
      case '0':
      case '7':
      case '\0':
        // Old archives mark folders by their names.
        if (!name.ends_with('/')) members_.push_back({std::move(name), bytes});
        return;
      case '5':
        return;
      case '1':
      case '2':
        throw other(fmt::format("a link, '{}'", name.substr(0, 80)));
      case 'S':
        throw other("a sparse file");
      default:
        throw other(fmt::format("'{}', of another type", name.substr(0, 80)));
    }
  }

  ByteSpan archive_;
  std::string where_;
  std::size_t at_ = 0;
  // They speak of the member that follows.
  std::string long_name_;
  std::optional<std::uint64_t> pax_size_;
  std::vector<TarMember> members_;
};

}  // namespace

std::vector<TarMember> read_tar(ByteSpan archive, std::string_view where) {
  return TarReader(archive, where).read();
}

}  // namespace weft
