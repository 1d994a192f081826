#include "weft/comm/transport/entered_operations.h"

#include <charconv>
#include <fmt/core.h>

namespace weft {
namespace {

// Takes a number and the space behind it off the front of `text`.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

}  // namespace

void EnteredOperations::record(std::shared_ptr<const EnteredOperation> entry) {
  auto& group = entries_[entry->context];
  group.push_back(std::move(entry));
  // Questions are about operations that are under way, or were until now; the
  // memory of a long run must stay bounded.
  if (group.size() > kRemembered) group.pop_front();
}

const std::string* EnteredOperations::find(std::uint32_t context,
                                           std::uint32_t number) const {
  const auto group = entries_.find(context);
  if (group == entries_.end()) return nullptr;
  // It is asked only where a rank waits in vain, so a search through all will
  // do.
  for (const auto& entry : group->second) {
    if (entry->number == number) return &entry->text;
  }
  return nullptr;
}

std::string EnteredOperations::to_text(const EnteredOperation& entry) {
  return fmt::format("{} {} {}", entry.context, entry.number, entry.text);
}

std::optional<EnteredOperation> EnteredOperations::from_text(
    std::string_view text) {
  const auto context = take_number(text);
  if (!context) return std::nullopt;
  const auto number = take_number(text);
  if (!number) return std::nullopt;
  return EnteredOperation{*context, *number, std::string(text)};
}

}  // namespace weft
