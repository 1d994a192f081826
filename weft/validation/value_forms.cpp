#include "weft/validation/value_forms.h"

#include <algorithm>

#include "weft/validation/image_text.h"
#include "weft/validation/time_text.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

std::vector<ValueForm> make_forms() {
  std::vector<ValueForm> forms;
  for (const TimeFormat& each : time_formats()) {
    forms.push_back({FormKind::kTime, each.name, each.is_of_integers});
  }
  for (const std::string& each : image_formats()) {
    forms.push_back({FormKind::kImage, each});
  }
  forms.push_back({FormKind::kLanguage, ""});
  return forms;
}

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_letter(char c) {
  // Bytes of characters beyond ASCII count as parts of letters.
  return (c | 32) >= 'a' ? (c | 32) <= 'z'
                         : static_cast<unsigned char>(c) > 127;
}

}  // namespace

const std::vector<ValueForm>& value_forms() {
  static const std::vector<ValueForm> forms = make_forms();
  return forms;
}

std::vector<std::string> formats_of(FormKind kind) {
  std::vector<std::string> formats;
  for (const ValueForm& form : value_forms()) {
    if (form.kind == kind) formats.push_back(form.format);
  }
  return formats;
}

bool is_language(std::string_view text) {
  constexpr std::size_t kLooked = 100;
  constexpr std::size_t kLeastWords = 3;
  constexpr double kLeastLength = 2.5;
  constexpr double kMostLength = 8;
  text = text.substr(0, kLooked);
  std::size_t words = 0;
  std::size_t characters = 0;
  std::size_t bytes = 0;
  std::size_t letters = 0;
  bool is_in_word = false;
  for (const char c : text) {
    if (is_blank(c)) {
      is_in_word = false;
      continue;
    }
    words += is_in_word ? 0 : 1;
    is_in_word = true;
    ++bytes;
    letters += is_letter(c) ? 1 : 0;
    // Bytes that go on a character begin with the bits 10.
    characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  }
  if (words < kLeastWords || 2 * letters <= bytes) return false;
  const double length =
      static_cast<double>(characters) / static_cast<double>(words);
  return length >= kLeastLength && length <= kMostLength;
}

bool has_form(FormKind kind, std::string_view format, std::string_view text,
              bool is_string) {
  FormCounts one;
  const ParsedValue value = parse_value(text);
  if (!is_string && value.kind == ValueKind::kInt) {
    one.add_integer(value.integer, 1);
  } else {
    one.add_text(text, 1);
  }
  return (format.empty() ? one.of(kind) : one.of(kind, format)) > 0;
}

std::vector<std::string> form_examples(FormKind kind, std::string_view format,
                                       bool is_of_integers) {
  switch (kind) {
    case FormKind::kTime: {
      const std::string_view written = !format.empty()  ? format
                                       : is_of_integers ? "unix_seconds"
                                                        : "%Y-%m-%d";
      // Some day, a leap day, and the first and last moments of all formats.
      std::vector<std::string> times;
      for (const std::int64_t seconds : {1700000000, 951782400, 631152000}) {
        times.push_back(time_text(written, seconds));
      }
      times.push_back(time_text(written, 4102444799));
      return times;
    }
    case FormKind::kImage: {
      if (!format.empty()) return {std::string(pixel_text(format))};
      std::vector<std::string> images;
      for (const std::string& each : image_formats()) {
        images.emplace_back(pixel_text(each));
      }
      return images;
    }
    case FormKind::kLanguage:
      return {"all is well", "Größe ist nicht alles, sagte sie.",
              "a line\tand \"more\", with commas"};
  }
  return {};
}

FormCounts::FormCounts() : counts_(value_forms().size()) {}

void FormCounts::add_text(std::string_view text, std::uint64_t count) {
  const TimeFormatsOf times = time_formats_of(text);
  for (std::size_t i = 0; i < times.count; ++i) add(times.places[i], count);
  if (times.count > 0) return add_any(FormKind::kTime, count);
  const std::size_t image = image_format_of(text);
  if (image < image_formats().size()) {
    add(time_formats().size() + image, count);
    return add_any(FormKind::kImage, count);
  }
  if (!is_language(text)) return;
  add(counts_.size() - 1, count);
  add_any(FormKind::kLanguage, count);
}

void FormCounts::add_integer(std::int64_t value, std::uint64_t count) {
  const TimeFormatsOf times = time_formats_of(value);
  if (times.count == 0) return;
  add(times.places[0], count);
  add_any(FormKind::kTime, count);
}

void FormCounts::merge(const FormCounts& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
  }
  for (std::size_t i = 0; i < any_.size(); ++i) any_[i] += other.any_[i];
}

std::uint64_t FormCounts::of(FormKind kind, std::string_view format) const {
  const std::vector<ValueForm>& forms = value_forms();
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].kind == kind && forms[i].format == format) return counts_[i];
  }
  return 0;
}

std::string FormCounts::most_frequent(FormKind kind) const {
  const std::vector<ValueForm>& forms = value_forms();
  std::uint64_t most = 0;
  std::string format;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].kind != kind || counts_[i] <= most) continue;
    most = counts_[i];
    format = forms[i].format;
  }
  return format;
}

void FormCounts::write(StateWriter& out) const {
  out.list(counts_);
  for (const std::uint64_t count : any_) out.number(count);
}

FormCounts FormCounts::read(StateReader& in) {
  FormCounts read;
  std::vector<std::uint64_t> counts = in.list<std::uint64_t>();
  if (counts.size() != read.counts_.size()) {
    in.fail("they know other forms of values");
  }
  read.counts_ = std::move(counts);
  for (std::uint64_t& count : read.any_) count = in.number<std::uint64_t>();
  return read;
}

}  // namespace weft::validation
