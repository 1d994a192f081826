#include "weft/validation/schema_edit.h"

#include <algorithm>
#include <map>
#include <toml++/toml.h>

#include "weft/validation/toml_text.h"

namespace weft::validation {
namespace {

struct TextEdit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

// The text by lines and columns, as the parser counts them: from 1, and
// characters, not bytes.
class TextPlaces {
 public:
  explicit TextPlaces(std::string_view text) : text_(text) {
    begins_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') begins_.push_back(i + 1);
    }
  }

  std::size_t at(const toml::source_position& place) const {
    std::size_t at = line_begin(place.line);
    for (toml::source_index column = 1;
         column < place.column && at < text_.size(); ++column) {
      // Bytes that go on a character begin with the bits 10.
      do ++at;
      while (at < text_.size() &&
             (static_cast<unsigned char>(text_[at]) & 0xc0) == 0x80);
    }
    return at;
  }
  std::size_t line_begin(toml::source_index line) const {
    return begins_[std::min<std::size_t>(line, begins_.size()) - 1];
  }
  // Behind the line's end.
  std::size_t line_end(toml::source_index line) const {
    return line < begins_.size() ? begins_[line] : text_.size();
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> begins_;
};

const toml::table* find_table(const toml::table& root,
                              const std::vector<std::string>& path) {
  const toml::table* table = &root;
  for (const std::string& part : path) {
    const toml::node* node = table->get(part);
    table = node == nullptr ? nullptr : node->as_table();
    if (table == nullptr) return nullptr;
  }
  return table;
}

std::string text_of(const SchemaSection& section) {
  std::string text = "\n" + heading_of(section) + "\n";
  for (const auto& [key, value] : section.keys) {
    text += fmt::format("{} = {}\n", key, value);
  }
  return text;
}

class SchemaEditor {
 public:
  SchemaEditor(std::string_view text, const toml::table& root)
      : text_(text), places_(text), root_(root) {}

  void change(const SchemaSection& from, const SchemaSection& to) {
    const toml::table* table = find_table(root_, to.path);
    WEFT_CHECK(table != nullptr, "a section is nowhere");
    std::map<std::string, std::string> old_keys(from.keys.begin(),
                                                from.keys.end());
    std::string added;
    for (const auto& [key, value] : to.keys) {
      const auto found = old_keys.find(key);
      if (found == old_keys.end()) {
        added += fmt::format("{} = {}\n", key, value);
      } else {
        if (found->second != value) replace(*table, key, value);
        old_keys.erase(found);
      }
    }
    for (const auto& [key, value] : old_keys) remove(*table, key);
    if (!added.empty()) insert(*table, to.path.empty(), added);
  }

  void append(const SchemaSection& section) { appended_ += text_of(section); }

  std::string result() && {
    std::ranges::stable_sort(edits_, std::greater<>(), &TextEdit::begin);
    std::string text(text_);
    for (const TextEdit& edit : edits_) {
      text.replace(edit.begin, edit.end - edit.begin, edit.text);
    }
    if (!text.empty() && text.back() != '\n') text += '\n';
    return text + appended_;
  }

 private:
  void replace(const toml::table& table, const std::string& key,
               const std::string& value) {
    const toml::node& node = *table.get(key);
    if (grow_list(node, value)) return;
    edits_.push_back({places_.at(node.source().begin),
                      places_.at(node.source().end), value});
  }

  // A list that only has more at its end is not written anew, so that what
  // people have written between its items stays.
  bool grow_list(const toml::node& node, const std::string& value) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty()) return false;
    const toml::table parsed = toml::parse("list = " + value);
    // Bounds of one level are no list.
    const toml::array* wanted = parsed["list"].as_array();
    if (wanted == nullptr || wanted->size() <= list->size()) return false;
    std::string more;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      const auto text = (*wanted)[i].value_exact<std::string>();
      if (!text) return false;
      if (i < list->size()) {
        if ((*list)[i].value_exact<std::string>() != text) return false;
      } else {
        more += ", " + toml_string(*text);
      }
    }
    const std::size_t end = places_.at(list->back().source().end);
    edits_.push_back({end, end, std::move(more)});
    return true;
  }

  void remove(const toml::table& table, const std::string& key) {
    const auto found = table.find(key);
    edits_.push_back({places_.line_begin(found->first.source().begin.line),
                      places_.line_end(found->second.source().end.line), ""});
  }

  // Behind the last key of the table, or its heading.
  void insert(const toml::table& table, bool is_root,
              const std::string& lines) {
    toml::source_index line = is_root ? 0 : table.source().begin.line;
    for (const auto& [key, node] : table) {
      if (!node.is_table() || node.as_table()->is_inline()) {
        line = std::max(line, node.source().end.line);
      }
    }
    const std::size_t place = line == 0 ? 0 : places_.line_end(line);
    const bool is_open = place > 0 && text_[place - 1] != '\n';
    edits_.push_back({place, place, (is_open ? "\n" : "") + lines});
  }

  std::string_view text_;
  TextPlaces places_;
  const toml::table& root_;
  std::vector<TextEdit> edits_;
  std::string appended_;
};

}  // namespace

std::string edit_schema(std::string_view text, std::string_view where,
                        const Schema& to) {
  const Schema from = parse_schema(text, where);
  const toml::table root = toml::parse(text);
  const std::vector<SchemaSection> old_sections = sections_of(from);
  SchemaEditor editor(text, root);
  for (const SchemaSection& section : sections_of(to)) {
    const auto before =
        std::ranges::find(old_sections, section.path, &SchemaSection::path);
    if (before != old_sections.end()) {
      editor.change(*before, section);
    } else if (find_table(root, section.path) != nullptr) {
      editor.change({section.path, {}}, section);
    } else {
      editor.append(section);
    }
  }
  std::string edited = std::move(editor).result();
  bool says_it = false;
  try {
    says_it = parse_schema(edited, where) == to;
  } catch (const Error&) {
    // What it says is told below.
  }
  if (says_it) return edited;
  throw Error(ErrorCode::kUnsupported, where,
              "the schema is written in a form that cannot be edited in place")
      .hint("write each feature as a table of its own: [feature.NAME]");
}

}  // namespace weft::validation
