#include "weft/runtime/profile_totals.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace weft {
namespace {

using Key = std::array<std::string, 3>;

void add(std::map<Key, SpanTotal>& totals, const ProfileEvent& event) {
  const SpanKind& kind = *event.kind;
  SpanTotal& total = totals[{kind.category, kind.name, kind.detail}];
  total.name = kind.name;
  total.category = kind.category;
  total.detail = kind.detail;
  ++total.calls;
  total.seconds += event.end - event.begin;
  total.flops += kind.flops;
  total.bytes += kind.bytes;
}

std::vector<SpanTotal> by_time(std::map<Key, SpanTotal>&& totals) {
  std::vector<SpanTotal> all;
  for (auto& [key, total] : totals) all.push_back(std::move(total));
  std::ranges::stable_sort(all, std::ranges::greater(), &SpanTotal::seconds);
  return all;
}

// What a person reads as one line: a fused loop names all of its ops.
std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 1) + "…";
}

std::string kernel_lines(const ProfileTotals& totals, const MachineRoof& roof,
                         std::size_t most) {
  double all = 0;
  std::size_t count = 0;
  for (const SpanTotal& total : totals.spans) {
    if (total.category != "kernel") continue;
    all += total.seconds;
    ++count;
  }
  if (count == 0) return "";
  std::string text =
      fmt::format("{:<32} {:<28} {:>8} {:>10} {:>6} {:>8} {:>8} {:>6}\n",
                  "step", "kernel", "calls", "ms", "%", "GF/s", "GB/s", "roof");
  std::size_t shown = 0;
  for (const SpanTotal& total : totals.spans) {
    if (total.category != "kernel" || shown++ >= most) continue;
    text += fmt::format(
        "{:<32} {:<28} {:>8} {:>10.3f} {:>6.1f} {:>8.1f} {:>8.1f} {:>4.0f} "
        "%\n",
        shortened(total.name, 32), shortened(total.detail, 28), total.calls,
        1e3 * total.seconds, 100 * total.seconds / all,
        total.flops / total.seconds / 1e9, total.bytes / total.seconds / 1e9,
        100 * share_of_roof(total, roof));
  }
  if (count > most) text += fmt::format("… and {} more\n", count - most);
  return text;
}

}  // namespace

ProfileTotals totals_of(std::span<const ProfileEvent> events) {
  std::map<Key, SpanTotal> spans;
  std::map<Key, SpanTotal> messages;
  ProfileTotals totals;
  double begin = std::numeric_limits<double>::max();
  double end = 0;
  for (const ProfileEvent& event : events) {
    begin = std::min(begin, event.begin);
    end = std::max(end, event.end);
    switch (event.form) {
      case ProfileEvent::Form::kSpan:
        add(spans, event);
        break;
      case ProfileEvent::Form::kMessage:
        add(messages, event);
        break;
      case ProfileEvent::Form::kQuantity: {
        double& most = event.kind->name == "arena" ? totals.arena_bytes
                                                   : totals.most_bytes;
        most = std::max(most, event.value);
        break;
      }
    }
  }
  totals.spans = by_time(std::move(spans));
  totals.messages = by_time(std::move(messages));
  totals.seconds = events.empty() ? 0 : end - begin;
  return totals;
}

double share_of_roof(const SpanTotal& total, const MachineRoof& roof) {
  if (total.seconds <= 0) return 0;
  return std::max(total.flops / roof.flops_per_second,
                  total.bytes / roof.bytes_per_second) /
         total.seconds;
}

std::string above_roof_text(const ProfileTotals& totals,
                            const MachineRoof& roof) {
  // A roof that is measured is itself a few percent off.
  constexpr double kClearly = 1.05;
  const bool is_above =
      std::ranges::any_of(totals.spans, [&](const SpanTotal& total) {
        return total.flops > kClearly * roof.flops_per_second * total.seconds;
      });
  return is_above
             ? "above 100 %: fewer multiplications than the sums that GF/s "
               "counts (simd:winograd)"
             : "";
}

std::string profile_text(const ProfileTotals& totals, const MachineRoof& roof,
                         std::size_t most) {
  std::string text = kernel_lines(totals, roof, most);
  if (const auto above = above_roof_text(totals, roof); !above.empty()) {
    text += above + "\n";
  }
  for (const SpanTotal& total : totals.spans) {
    if (total.category == "kernel") continue;
    text += fmt::format(
        "{:<10} {:<24} {:>8} × {:>10.3f} ms  {:>5.1f} % of the "
        "time\n",
        total.category, total.name, total.calls,
        1e3 * total.seconds / static_cast<double>(total.calls),
        100 * total.seconds / totals.seconds);
  }
  for (const SpanTotal& total : totals.messages) {
    text += fmt::format("{:<10} {:<24} {:>8} × {:>10.3f} ms  {:>8.1f} MB\n",
                        total.category, total.name, total.calls,
                        1e3 * total.seconds / static_cast<double>(total.calls),
                        total.bytes / 1e6);
  }
  if (totals.most_bytes > 0) {
    text += fmt::format(
        "memory     {:.1f} MB held at most, {:.1f} MB of it "
        "the arena of the largest plan\n",
        totals.most_bytes / 1e6, totals.arena_bytes / 1e6);
  }
  text += fmt::format(
      "{:.3f} s in all; the roof here: {:.1f} GF/s in registers, {:.1f} GB/s "
      "of memory\n",
      totals.seconds, roof.flops_per_second / 1e9, roof.bytes_per_second / 1e9);
  return text;
}

}  // namespace weft
