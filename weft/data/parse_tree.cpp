#include "weft/data/parse_tree.h"

#include <charconv>

#include "weft/base/error.h"

namespace weft {
namespace {

// A tree has at most this many nodes; no sentence comes near.
constexpr std::size_t kMostNodes = std::size_t{1} << 16;

// Reads one line. Nodes that are open stand on a stack of its own: a damaged
// file may nest as deep as it is long.
class Parser {
 public:
  Parser(std::string_view line, std::string where, std::int32_t classes)
      : line_(line), where_(std::move(where)), classes_(classes) {}

  ParseTree parse() {
    // The first bracket opens the root, and the tree ends where it is closed.
    do {
      skip_spaces();
      if (at_ == line_.size()) fail("the line ends inside the tree");
      if (line_[at_] == '(') {
        open();
      } else if (line_[at_] == ')') {
        close();
      } else {
        leaf();
      }
    } while (!open_.empty());
    skip_spaces();
    if (at_ != line_.size()) fail("something follows the tree");
    return std::move(tree_);
  }

 private:
  struct Open {
    std::int32_t label = 0;
    std::int32_t left = -1;
    std::int32_t right = -1;
    std::string_view word;
  };

  void skip_spaces() {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
  }

  void open() {
    ++at_;
    Open node;
    const char* end = line_.data() + line_.size();
    const auto read = std::from_chars(line_.data() + at_, end, node.label);
    if (read.ec != std::errc() || node.label < 0 || node.label >= classes_) {
      fail(fmt::format("expected a label from 0 to {}", classes_ - 1));
    }
    at_ = static_cast<std::size_t>(read.ptr - line_.data());
    if (at_ < line_.size() && line_[at_] != ' ' && line_[at_] != '(') {
      fail("expected a space or '(' behind the label");
    }
    // Each open node becomes one of the tree.
    if (open_.size() + tree_.nodes.size() >= kMostNodes) {
      fail(fmt::format("a tree of more than {} nodes", kMostNodes));
    }
    open_.push_back(node);
  }

  void leaf() {
    const std::size_t begin = at_;
    at_ = std::min(line_.find_first_of(" ()", at_), line_.size());
    if (open_.empty()) fail("expected '('", begin);
    Open& node = open_.back();
    if (!node.word.empty() || node.left >= 0) {
      fail("a node has one word or two children", begin);
    }
    node.word = line_.substr(begin, at_ - begin);
  }

  void close() {
    if (open_.empty()) fail("expected '('");
    const Open node = open_.back();
    if (node.word.empty() && node.right < 0) {
      fail("a node has one word or two children");
    }
    ++at_;
    open_.pop_back();
    // A node is numbered when it closes: children come before their parents,
    // and the root is last.
    const auto number = static_cast<std::int32_t>(tree_.nodes.size());
    tree_.nodes.push_back(
        {node.label, node.left, node.right, std::string(node.word)});
    if (open_.empty()) return;
    Open& parent = open_.back();
    if (!parent.word.empty() || parent.right >= 0) {
      fail("a node has one word or two children", at_ - 1);
    }
    (parent.left < 0 ? parent.left : parent.right) = number;
  }

  [[noreturn]] void fail(const std::string& what) const { fail(what, at_); }
  [[noreturn]] void fail(const std::string& what, std::size_t column) const {
    throw Error(ErrorCode::kDataLoss, fmt::format("{}:{}", where_, column + 1),
                what);
  }

  std::string_view line_;
  std::string where_;
  std::int32_t classes_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  ParseTree tree_;
};

}  // namespace

std::vector<ParseTree> parse_trees(std::string_view text,
                                   std::string_view where,
                                   std::int32_t classes) {
  std::vector<ParseTree> trees;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // Files that were edited elsewhere have CR LF.
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(' ') == std::string_view::npos) continue;
    trees.push_back(
        Parser(line, fmt::format("{}:{}", where, number), classes).parse());
  }
  return trees;
}

}  // namespace weft
