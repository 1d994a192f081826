#include "weft/validation/report_chart.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "weft/base/error.h"
#include "weft/base/markup.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

// Charts are drawn on this many units, and scaled to their card.
constexpr double kWidth = 320;
constexpr double kPlotHeight = 90;
constexpr double kBarHeight = 14;
constexpr std::size_t kMostBars = 8;

std::string rectangle(double x, double y, double width, double height,
                      std::string_view style, const std::string& title) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "class=\"{}\"><title>{}</title></rect>",
      x, y, std::max(width, 0.5), std::max(height, 0.5), style, title);
}

std::string label(double x, double y, std::string_view anchor,
                  const std::string& text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y,
      anchor, text);
}

std::string svg(double height, const std::string& content,
                const std::string& name) {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>\n",
      kWidth, height, name, content);
}

std::vector<Bucket> finite_buckets(const NumberSummary& numbers) {
  std::vector<Bucket> buckets = numbers.equal_width.buckets;
  std::erase_if(buckets, [](const Bucket& b) { return std::isinf(b.low); });
  return buckets;
}

struct Extent {
  double low = 0;
  double high = 0;

  // Where a number lies on the chart's width.
  double place(double number) const {
    if (high == low) return kWidth / 2;
    return std::clamp((number / 2 - low / 2) / (high / 2 - low / 2), 0.0, 1.0) *
           kWidth;
  }
};

Extent extent_of(const NumberSummary& numbers, const NumberSummary* other) {
  Extent extent{static_cast<double>(numbers.least),
                static_cast<double>(numbers.most)};
  if (other != nullptr && other->finite > 0) {
    extent.low = std::min(extent.low, static_cast<double>(other->least));
    extent.high = std::max(extent.high, static_cast<double>(other->most));
  }
  return extent;
}

// Bars as high as the density of the share in them, of two rows side by side.
std::string bars(const NumberSummary& numbers, const Extent& extent,
                 double most, bool is_other, bool is_shared) {
  std::string content;
  for (const Bucket& bucket : finite_buckets(numbers)) {
    const double share = bucket.count / static_cast<double>(numbers.finite);
    double left = extent.place(bucket.low);
    double width = extent.place(bucket.high) - left;
    if (bucket.low == bucket.high) {
      left -= 3;
      width = 6;
    }
    if (is_shared) {
      width /= 2;
      if (is_other) left += width;
    }
    const double height = kPlotHeight * share / most;
    content += rectangle(left, kPlotHeight - height, width - 1, height,
                         is_other ? "theirs" : "ours",
                         fmt::format("{} … {}: {:.3g} %", brief(bucket.low),
                                     brief(bucket.high), 100 * share));
  }
  return content;
}

double largest_share(const NumberSummary& numbers) {
  double most = 0;
  for (const Bucket& bucket : finite_buckets(numbers)) {
    most = std::max(most, bucket.count / static_cast<double>(numbers.finite));
  }
  return most;
}

std::string quantile_marks(const NumberSummary& numbers, const Extent& extent,
                           double y, std::string_view style) {
  std::vector<double> ends;
  for (const Bucket& bucket : numbers.quantiles.buckets) {
    if (std::isinf(bucket.low)) continue;
    ends.push_back(bucket.low);
    ends.push_back(bucket.high);
  }
  std::string content;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (i > 0 && ends[i] == ends[i - 1]) continue;
    content +=
        rectangle(extent.place(ends[i]) - 1, y, 2, 10, style, brief(ends[i]));
  }
  if (!ends.empty()) {
    const double left = extent.place(numbers.quantiles.buckets.front().low);
    content += rectangle(left, y + 4.5, extent.place(ends.back()) - left, 1,
                         style, "tenths");
  }
  return content;
}

}  // namespace

std::string html_text(std::string_view text, std::size_t most) {
  return markup_text(shown_text(text, most));
}

std::string brief(double number) { return fmt::format("{:.5g}", number); }

std::string histogram_chart(const NumberSummary& numbers,
                            const NumberSummary* other) {
  if (numbers.finite == 0) return "";
  if (other != nullptr && other->finite == 0) other = nullptr;
  const Extent extent = extent_of(numbers, other);
  double most = largest_share(numbers);
  if (other != nullptr) most = std::max(most, largest_share(*other));
  std::string content = bars(numbers, extent, most, false, other != nullptr);
  if (other != nullptr) content += bars(*other, extent, most, true, true);
  content += fmt::format(
      "<line x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\" class=\"line\"/>", kWidth,
      kPlotHeight, kPlotHeight);
  content += label(0, kPlotHeight + 13, "start", brief(extent.low));
  content += label(kWidth, kPlotHeight + 13, "end", brief(extent.high));
  content += label(kWidth / 2, kPlotHeight + 13, "middle",
                   fmt::format("up to {:.3g} %", 100 * most));
  return svg(kPlotHeight + 18, content, "histogram");
}

std::string quantile_chart(const NumberSummary& numbers,
                           const NumberSummary* other) {
  if (numbers.finite == 0) return "";
  if (other != nullptr && other->finite == 0) other = nullptr;
  const Extent extent = extent_of(numbers, other);
  std::string content = quantile_marks(numbers, extent, 2, "ours");
  if (other != nullptr) content += quantile_marks(*other, extent, 16, "theirs");
  return svg(other == nullptr ? 14 : 28, content, "tenths of the numbers");
}

std::string values_chart(const FeatureSummary& feature,
                         const FeatureSummary* other) {
  if (feature.values == 0) return "";
  if (other != nullptr && other->values == 0) other = nullptr;
  std::unordered_map<std::string, double> theirs;
  if (other != nullptr) {
    for (const ValueCount& value : other->counts) {
      theirs[value.text] =
          static_cast<double>(value.count) / static_cast<double>(other->values);
    }
  }
  const std::size_t count = std::min(feature.counts.size(), kMostBars);
  double most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(feature.counts[i].count) /
                         static_cast<double>(feature.values);
    most = std::max({most, share, theirs[feature.counts[i].text]});
  }
  const double row = kBarHeight + (other == nullptr ? 4 : 9);
  constexpr double kNames = 132;
  const double room = kWidth - kNames - 50;
  std::string content;
  for (std::size_t i = 0; i < count; ++i) {
    const ValueCount& value = feature.counts[i];
    const double y = row * static_cast<double>(i);
    const double share =
        static_cast<double>(value.count) / static_cast<double>(feature.values);
    const std::string title =
        fmt::format("{}: {:.3g} %", html_text(value.text, 80), 100 * share);
    content += label(kNames - 6, y + 11, "end", html_text(value.text, 16));
    content += rectangle(kNames, y + 1, room * share / most, kBarHeight - 3,
                         "ours", title);
    content += label(kNames + room * share / most + 4, y + 11, "start",
                     fmt::format("{:.3g} %", 100 * share));
    if (other != nullptr) {
      content += rectangle(kNames, y + kBarHeight - 1,
                           room * theirs[value.text] / most, 4, "theirs",
                           fmt::format("{:.3g} %", 100 * theirs[value.text]));
    }
  }
  return svg(row * static_cast<double>(count) + 2, content,
             "most frequent values");
}

}  // namespace weft::validation
