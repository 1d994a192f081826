#include "weft/drawing/profile_drawing.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "weft/base/markup.h"

namespace weft::drawing {
namespace {

using Form = ProfileEvent::Form;

// In pixels, as all lengths here.
constexpr double kWidth = 900;
constexpr double kNames = 110;  // of threads, left of their spans
constexpr double kRowHeight = 14;
constexpr double kLaneGap = 8;
constexpr double kSpanLetterWidth = 6;
constexpr std::size_t kMostRows = 15;  // of the table

// What belongs to no category is grey.
const char* colour_of(const std::string& category) {
  static const std::map<std::string, const char*, std::less<>> kColours{
      {"kernel", "#7fb38a"},
      {"loader", "#e0b565"},
      {"network", "#c9806f"},
      {"loop", "#9db8d9"},
      {"memory", "#b59ac4"}};
  const auto found = kColours.find(category);
  return found == kColours.end() ? "#bbbbbb" : found->second;
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string table_of(const ProfileTotals& totals, const MachineRoof& roof) {
  std::string rows;
  const std::size_t count = std::min(kMostRows, totals.spans.size());
  const double most = totals.spans.empty() ? 1 : totals.spans[0].seconds;
  for (const SpanTotal& span : std::span(totals.spans).first(count)) {
    const double of_roof = share_of_roof(span, roof);
    rows += fmt::format(
        "<tr><td style=\"text-align:left\">{}</td>"
        "<td style=\"text-align:left\">{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td style=\"text-align:left\"><div style=\"background:{};"
        "width:{:.0f}px;height:10px\"></div></td></tr>\n",
        markup_text(span.name), markup_text(span.detail), span.calls,
        seconds_text(span.seconds),
        of_roof > 0 ? fmt::format("{:.0f} %", 100 * of_roof) : "",
        colour_of(span.category), 120 * span.seconds / std::max(most, 1e-12));
  }
  std::string more;
  if (totals.spans.size() > count) {
    more = fmt::format("<div>and {} more</div>\n", totals.spans.size() - count);
  }
  if (const auto above = above_roof_text(totals, roof); !above.empty()) {
    more += fmt::format("<div>{}</div>\n", above);
  }
  return fmt::format(
      "<table><tr><th style=\"text-align:left\">what</th>"
      "<th style=\"text-align:left\">by</th><th>calls</th><th>time</th>"
      "<th>of the roof</th><th></th></tr>\n{}</table>\n{}",
      rows, more);
}

// What is drawn in one row: spans of a thread that are as deep in others, or
// messages that do not overlap.
struct Row {
  std::string name;  // of the first row of a lane
  std::vector<const ProfileEvent*> events;
};

// Below the last row that still goes on when the event begins, within its lane.
void add_to(std::vector<Row>& lane, const ProfileEvent& event) {
  std::size_t depth = lane.size();
  while (depth > 0 && (lane[depth - 1].events.empty() ||
                       lane[depth - 1].events.back()->end <= event.begin)) {
    --depth;
  }
  if (depth == lane.size()) lane.emplace_back();
  lane[depth].events.push_back(&event);
}

struct Timeline {
  std::vector<Row> rows;
  std::size_t left_out = 0;
};

Timeline timeline_of(std::span<const ProfileEvent> events) {
  std::vector<const ProfileEvent*> shown;
  for (const ProfileEvent& event : events) {
    if (event.form != Form::kQuantity) shown.push_back(&event);
  }
  const auto length = [](const ProfileEvent* event) {
    return event->begin - event->end;
  };
  Timeline timeline;
  if (shown.size() > kMostSpans) {
    timeline.left_out = shown.size() - kMostSpans;
    std::ranges::nth_element(
        shown, shown.begin() + static_cast<std::ptrdiff_t>(kMostSpans), {},
        length);
    shown.resize(kMostSpans);
  }
  std::ranges::sort(shown, {}, [&](const ProfileEvent* event) {
    return std::pair(event->begin, length(event));
  });
  std::map<std::string, std::vector<Row>> lanes;
  for (const ProfileEvent* event : shown) {
    add_to(
        lanes[event->form == Form::kSpan ? profile::thread_name(event->thread)
                                         : event->kind->category],
        *event);
  }
  for (auto& [name, lane] : lanes) {
    lane[0].name = name;
    for (Row& row : lane) timeline.rows.push_back(std::move(row));
  }
  return timeline;
}

std::string rect_of(const ProfileEvent& event, double x, double width,
                    double y) {
  const std::string& name = event.kind->name;
  std::string text;
  if (kSpanLetterWidth * static_cast<double>(name.size()) < width) {
    text = fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + 2,
                       y + kRowHeight - 4, markup_text(name));
  }
  return fmt::format(
      "<g><title>{}{}\n{}</title><rect x=\"{:.2f}\" y=\"{:.1f}\" "
      "width=\"{:.2f}\" height=\"{}\" fill=\"{}\"/>{}</g>\n",
      markup_text(name),
      event.kind->detail.empty() ? "" : ", " + markup_text(event.kind->detail),
      seconds_text(event.end - event.begin), x, y, width, kRowHeight - 1,
      colour_of(event.kind->category), text);
}

std::string picture_of(std::span<const ProfileEvent> events) {
  const Timeline timeline = timeline_of(events);
  if (timeline.rows.empty()) return "";
  double began = timeline.rows[0].events[0]->begin;
  double ended = began;
  for (const Row& row : timeline.rows) {
    for (const ProfileEvent* event : row.events) {
      began = std::min(began, event->begin);
      ended = std::max(ended, event->end);
    }
  }
  const double scale = (kWidth - kNames) / std::max(ended - began, 1e-9);
  std::string shapes;
  double y = 0;
  for (const Row& row : timeline.rows) {
    if (!row.name.empty()) {
      y += kLaneGap;
      shapes += fmt::format("<text y=\"{:.1f}\">{}</text>\n",
                            y + kRowHeight - 4, markup_text(row.name));
    }
    for (const ProfileEvent* event : row.events) {
      // What is shorter than a hair is seen as one.
      shapes += rect_of(*event, kNames + scale * (event->begin - began),
                        std::max(scale * (event->end - event->begin), 0.3), y);
    }
    y += kRowHeight;
  }
  std::string said =
      fmt::format("{} from left to right", seconds_text(ended - began));
  if (timeline.left_out > 0) {
    said += fmt::format("; {} shorter spans are not drawn", timeline.left_out);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"10\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n"
      "<div>{3}</div>\n",
      kWidth, y + kLaneGap, shapes, said);
}

}  // namespace

std::string profile_html(std::span<const ProfileEvent> events,
                         const ProfileTotals& totals, const MachineRoof& roof) {
  return "<div>\n" + table_of(totals, roof) + picture_of(events) + "</div>\n";
}

}  // namespace weft::drawing
