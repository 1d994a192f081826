#include "weft/market/page_charts.h"

#include <algorithm>
#include <array>

#include "weft/base/markup.h"

namespace weft::market {
namespace {

constexpr double kChartWidth = 720;
constexpr double kChartHeight = 220;
constexpr double kChartLeft = 80;
constexpr double kBarHeight = 18;
constexpr double kBarGap = 8;
constexpr double kBarLeft = 130;
constexpr double kNumberWidth = 80;
constexpr int kGridLines = 4;

constexpr std::array<const char*, 5> kColours{"#1f6feb", "#d1563a", "#2f9e5b",
                                              "#8957c9", "#8a8f98"};

std::string colour_of(std::size_t colour) {
  return kColours[colour % kColours.size()];
}

std::string legend_of(const std::vector<std::string>& names) {
  std::string html = "<p class=\"legend\">";
  for (std::size_t i = 0; i < names.size(); ++i) {
    html += fmt::format("<span><i style=\"background:{}\"></i>{}</span>",
                        colour_of(i), markup_text(names[i]));
  }
  return html + "</p>";
}

// A round number at or above, not far.
Amount round_above(Amount amount) {
  Amount step = 1;
  while (step * 10 <= amount) step *= 10;
  step = std::max<Amount>(1, step / 5);
  return (amount + step - 1) / step * step;
}

}  // namespace

std::string thousands(Amount amount) {
  std::string text = std::to_string(amount);
  for (auto at = std::ssize(text) - 3; at > (amount < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

std::string money_chart(const std::vector<MoneyPoint>& history) {
  const std::vector<std::string> names{"accounts", "escrow of jobs",
                                       "stakes of workers",
                                       "dividends and treasuries"};
  const auto layers_of = [](const MoneyPoint& point) {
    return std::array<Amount, 4>{point.accounts, point.escrow, point.stakes,
                                 point.dividends};
  };
  Amount most = 1;
  for (const MoneyPoint& point : history) {
    const auto layers = layers_of(point);
    most = std::max(most, layers[0] + layers[1] + layers[2] + layers[3]);
  }
  most = round_above(most);
  const auto y_of = [&](Amount amount) {
    return 10 + kChartHeight * (1 - static_cast<double>(amount) /
                                        static_cast<double>(most));
  };
  const double last =
      std::max<double>(1, static_cast<double>(history.back().height));
  const auto x_of = [&](const MoneyPoint& point) {
    return kChartLeft + (kChartWidth - kChartLeft) *
                            static_cast<double>(point.height) / last;
  };
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"where the money "
      "is\">",
      kChartWidth + 10, kChartHeight + 40);
  for (int i = 0; i <= kGridLines; ++i) {
    const Amount amount = most * i / kGridLines;
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" "
        "class=\"grid\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>",
        kChartLeft, kChartWidth, y_of(amount), kChartLeft - 8, y_of(amount) + 4,
        thousands(amount));
  }
  // Areas from the top one to the lowest, each down to the axis.
  for (std::size_t layer = names.size(); layer-- > 0;) {
    std::string line;
    for (const MoneyPoint& point : history) {
      Amount sum = 0;
      for (std::size_t i = 0; i <= layer; ++i) sum += layers_of(point)[i];
      // Between two blocks nothing changes: steps, not slopes.
      line += fmt::format("{}{:.1f},{:.1f} ", line.empty() ? "M" : "H",
                          x_of(point), y_of(sum));
      const auto comma = line.rfind(',');
      if (line.rfind('H') != std::string::npos &&
          line.rfind('H') > line.rfind('M')) {
        line.replace(comma, 1, "V");
      }
    }
    svg += fmt::format("<path d=\"{}V{:.1f}H{:.1f}Z\" fill=\"{}\"/>", line,
                       y_of(0), x_of(history.front()), colour_of(layer));
  }
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\">block {}</text><text x=\"{}\" y=\"{}\" "
      "text-anchor=\"end\">block {}</text></svg>",
      kChartLeft, kChartHeight + 30, history.front().height, kChartWidth,
      kChartHeight + 30, history.back().height);
  return svg + legend_of(names);
}

std::string bar_chart(const std::vector<Bar>& bars,
                      const std::vector<std::string>& legend) {
  Amount most = 1;
  for (const Bar& bar : bars) {
    Amount sum = 0;
    for (const BarPart& part : bar.parts) sum += part.amount;
    most = std::max(most, sum);
  }
  const double scale =
      (kChartWidth - kBarLeft - kNumberWidth) / static_cast<double>(most);
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\">", kChartWidth + 10,
      static_cast<double>(bars.size()) * (kBarHeight + kBarGap) + 4);
  double y = 2;
  for (const Bar& bar : bars) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                       kBarLeft - 8, y + kBarHeight - 5, markup_text(bar.name));
    double x = kBarLeft;
    Amount sum = 0;
    for (const BarPart& part : bar.parts) {
      const double width = scale * static_cast<double>(part.amount);
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" "
          "fill=\"{}\"><title>{}</title></rect>",
          x, y, width, kBarHeight, colour_of(part.colour),
          thousands(part.amount));
      x += width;
      sum += part.amount;
    }
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>", x + 6,
                       y + kBarHeight - 5, thousands(sum));
    y += kBarHeight + kBarGap;
  }
  return svg + "</svg>" + (legend.empty() ? "" : legend_of(legend));
}

}  // namespace weft::market
