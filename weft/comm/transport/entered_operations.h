// What operations a rank has entered, so that ranks which disagree find out.
//
// Each collective is entered under a number that all ranks of its group count
// alike. A rank that waits too long sends its entry to whom it waits for; that
// rank looks up what it entered under the same number.
//
// Threads: caller synchronises.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

// One operation that a rank has entered.
struct EnteredOperation {
  std::uint32_t context = 0;  // which group of ranks
  std::uint32_t number = 0;   // the how manieth operation of it
  // What it is: equal on all ranks. "all_reduce(ring) of f32[64] 'conv1'"
  std::string text;
};

class EnteredOperations {
 public:
  void record(std::shared_ptr<const EnteredOperation> entry);
  // Forgets the operations of a group that is no more.
  void forget(std::uint32_t context) { entries_.erase(context); }
  // The text of an operation entered here, unless it is too long ago.
  const std::string* find(std::uint32_t context, std::uint32_t number) const;

  // An entry as text, and back; nothing for what is none.
  static std::string to_text(const EnteredOperation& entry);
  static std::optional<EnteredOperation> from_text(std::string_view text);

 private:
  static constexpr std::size_t kRemembered = 1024;  // operations per group

  std::map<std::uint32_t, std::deque<std::shared_ptr<const EnteredOperation>>>
      entries_;
};

}  // namespace weft
