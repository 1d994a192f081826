#include "weft/validation/report_page.h"

#include <algorithm>
#include <cmath>

#include "weft/validation/report_chart.h"
#include "weft/validation/report_style.h"

namespace weft::validation {
namespace {

std::string count_text(std::uint64_t count) {
  std::string digits = fmt::format("{}", count);
  for (auto i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

// A line for each change.
std::string edit_text(const std::string& edit) {
  std::string text;
  for (std::size_t begin = 0; begin < edit.size();) {
    const std::size_t end = std::min(edit.find('\n', begin), edit.size());
    text += html_text(edit.substr(begin, end - begin), 2000) + "\n";
    begin = end + 1;
  }
  return text;
}

std::string anomaly_rows(const CheckReport& report) {
  std::string rows;
  for (const Anomaly& anomaly : report.anomalies) {
    rows += fmt::format(
        "<tr><td class=\"{0}\">{0}</td><td>{1}</td><td>{2}<br>"
        "<span class=\"soft\">{3}</span></td><td>{4}<pre>{5}</pre></td></tr>\n",
        to_string(anomaly.severity),
        anomaly.feature.empty() ? "the data" : html_text(anomaly.feature),
        html_text(anomaly.what), anomaly.kind, html_text(anomaly.detail, 600),
        edit_text(anomaly.edit));
  }
  return rows;
}

std::string anomalies_section(const CheckReport& report) {
  if (report.anomalies.empty()) {
    return "<h2>Anomalies</h2><p class=\"note\">There are none.</p>\n";
  }
  return fmt::format(
      "<h2>Anomalies: {}</h2><table><thead><tr><th></th><th>feature</th>"
      "<th>what</th><th>how, and the edit of the schema that would allow it"
      "</th></tr></thead><tbody>\n{}</tbody></table>\n",
      report.anomalies.size(), anomaly_rows(report));
}

std::string distances_section(const CheckReport& report) {
  if (report.measurements.empty()) return "";
  std::string rows;
  for (const Measurement& each : report.measurements) {
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"number{}\">{}</td>"
        "<td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td>"
        "</tr>\n",
        html_text(each.feature), each.against, each.distance,
        each.value > each.most ? " error" : "", brief(each.value),
        brief(each.most), brief(each.floor), html_text(each.where, 80));
  }
  return "<h2>Distances</h2><table><thead><tr><th>feature</th><th>from</th>"
         "<th>distance</th><th class=\"number\">is</th><th class=\"number\">"
         "at most</th><th class=\"number\">by sampling alone</th><th>at</th>"
         "</tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

std::string forms_text(const FeatureSummary& feature) {
  std::string text;
  for (const auto& [kind, name] :
       {std::pair(FormKind::kTime, "times"),
        std::pair(FormKind::kImage, "images"),
        std::pair(FormKind::kLanguage, "sentences")}) {
    const std::uint64_t count = feature.forms.of(kind);
    if (count == 0) continue;
    const std::string format = feature.forms.most_frequent(kind);
    text += fmt::format("<br>{} {}{}{}", count_text(count), name,
                        format.empty() ? "" : ", mostly ", html_text(format));
  }
  return text;
}

std::string images_text(const ImageCounts& images) {
  std::string text;
  for (std::size_t i = 0; i < kImageMeasures && images.decoded > 0; ++i) {
    const ImageCounts::Ends& ends = images.ends[i];
    text += fmt::format("{}{} {}", text.empty() ? "<br>" : " · ",
                        to_string(static_cast<ImageMeasure>(i)),
                        ends.least == ends.most
                            ? fmt::format("{}", ends.least)
                            : fmt::format("{} to {}", ends.least, ends.most));
  }
  if (images.undecoded == 0) return text;
  return text + fmt::format("<br>{} images cannot be decoded: {}",
                            count_text(images.undecoded),
                            html_text(images.reason, 200));
}

std::string facts_of(const FeatureSummary& feature) {
  std::string facts = fmt::format(
      "{} · {} missing ({:.3g} %) · {}{} different", to_string(feature.type),
      count_text(feature.missing()),
      feature.rows == 0 ? 0 : 100 * (1 - feature.present_share()),
      feature.is_exact ? "" : "about ",
      count_text(static_cast<std::uint64_t>(std::llround(feature.distinct))));
  if (feature.numbers && feature.numbers->finite > 0) {
    const NumberSummary& numbers = *feature.numbers;
    facts += fmt::format("<br>mean {} · deviation {} · median {} · {} zeros",
                         brief(numbers.mean), brief(numbers.std),
                         brief(numbers.median), count_text(numbers.zeros));
    const std::uint64_t none = numbers.nans + numbers.positive_infinities +
                               numbers.negative_infinities;
    if (none > 0) facts += fmt::format(" · {} not finite", count_text(none));
  }
  if (feature.type == ValueType::kString && feature.values > 0) {
    facts +=
        fmt::format("<br>{} to {} bytes, {} on average", feature.least_bytes,
                    feature.most_bytes, brief(feature.mean_bytes));
    if (feature.invalid_utf8 > 0) {
      facts += fmt::format(" · {} no UTF-8", count_text(feature.invalid_utf8));
    }
  }
  facts += forms_text(feature);
  if (feature.images) facts += images_text(*feature.images);
  if (feature.words) {
    facts += fmt::format("<br>{} words · {:.3g} % in the vocabulary",
                         count_text(feature.words->words),
                         100 * feature.words->coverage());
  }
  for (const ListSummary& level : feature.levels) {
    if (level.least == 1 && level.most == 1) continue;
    facts += fmt::format("<br>lists of {} to {}, {} on average", level.least,
                         level.most, brief(level.mean));
  }
  return facts;
}

std::string card_of(const FeatureSummary& feature, const ReportPage& page) {
  const FeatureSummary* other =
      page.other == nullptr ? nullptr : page.other->find(feature.name);
  const bool is_bad =
      page.report != nullptr &&
      std::ranges::find(page.report->anomalies, feature.name,
                        &Anomaly::feature) != page.report->anomalies.end();
  std::string charts;
  if (feature.type == ValueType::kString) {
    charts = values_chart(feature, other);
  } else {
    const NumberSummary* others =
        other != nullptr && other->numbers ? &*other->numbers : nullptr;
    charts = histogram_chart(*feature.numbers, others) +
             quantile_chart(*feature.numbers, others);
  }
  return fmt::format(
      "<section class=\"card{}\"><header><h3>{}</h3></header>"
      "<div class=\"facts\">{}</div>{}</section>\n",
      is_bad ? " bad" : "", html_text(feature.name), facts_of(feature), charts);
}

std::string legend_of(const ReportPage& page) {
  if (page.other == nullptr) return "";
  return fmt::format(
      "<p class=\"legend soft\"><span style=\"background:var(--ours)\"></span>"
      "{}<span style=\"background:var(--theirs)\"></span>{}</p>\n",
      html_text(page.title), html_text(page.other_title));
}

std::string features_section(const ReportPage& page,
                             const StatisticsSummary& data,
                             const std::string& heading) {
  std::string text = "<h2>" + heading + "</h2>\n" + legend_of(page) +
                     "<div class=\"cards\">\n";
  for (const FeatureSummary& feature : data.features) {
    text += card_of(feature, page);
  }
  return text + "</div>\n";
}

std::string lifts_text(const LabelAssociation& association) {
  std::string text;
  for (const Lift& each : association.lifts) {
    if (each.lift > 0.8 && each.lift < 1.25) continue;  // says next to nothing
    text += fmt::format("{}{}: {} × {}", text.empty() ? "" : " · ",
                        html_text(each.value, 40), brief(each.lift),
                        html_text(each.label, 24));
  }
  return text;
}

std::string label_section(const StatisticsSummary& data) {
  if (data.associations.empty()) return "";
  std::string rows;
  for (const LabelAssociation& each : data.associations) {
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}"
        "</td><td class=\"number\">{:.1f} %</td><td>{}</td></tr>\n",
        html_text(each.feature), brief(each.bits), brief(each.by_chance),
        100 * each.share, lifts_text(each));
  }
  return fmt::format(
      "<h2>What features say of {}</h2><table><thead><tr><th>feature</th>"
      "<th class=\"number\">bits</th><th class=\"number\">by chance</th>"
      "<th class=\"number\">of all</th><th>values by which the label is more "
      "or less frequent, and how many times</th></tr></thead><tbody>\n{}"
      "</tbody></table>\n",
      html_text(data.label), rows);
}

}  // namespace

std::string html_of(const ReportPage& page) {
  std::string body =
      fmt::format("<h1>{}</h1><p class=\"note\">{} rows, {} features</p>\n",
                  html_text(page.title), count_text(page.data.rows),
                  page.data.features.size());
  if (page.report != nullptr) {
    body += anomalies_section(*page.report) + distances_section(*page.report);
  }
  body += label_section(page.data);
  body += features_section(page, page.data, "Features");
  for (const auto& [key, slice] : page.data.slices) {
    // A slice is compared with the whole, which is what it is for.
    const ReportPage part{.title = key,
                          .data = slice,
                          .other = &page.data,
                          .other_title = "all rows"};
    body += features_section(
        part, slice,
        fmt::format("{}: {} rows", html_text(key), count_text(slice.rows)));
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\">"
      "<title>{}</title><style>{}</style></head>\n<body>{}</body></html>\n",
      html_text(page.title), kReportStyle, body);
}

}  // namespace weft::validation
