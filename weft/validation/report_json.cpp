#include "weft/validation/report_json.h"

#include <algorithm>
#include <cmath>

#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

// JSON has no other numbers than finite ones.
Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json bound_json(Bound bound) {
  const auto whole = static_cast<std::int64_t>(std::clamp<Bound>(
      bound, -9223372036854775807.0L, 9223372036854775807.0L));
  // Integers stay integers, beyond what a double holds.
  if (static_cast<Bound>(whole) == bound) return whole;
  return finite_or_null(static_cast<double>(bound));
}

Json histogram_json(const Histogram& histogram) {
  Json buckets = Json::array();
  for (const Bucket& bucket : histogram.buckets) {
    buckets.push_back({{"low", finite_or_null(bucket.low)},
                       {"high", finite_or_null(bucket.high)},
                       {"count", bucket.count}});
  }
  return buckets;
}

Json numbers_json(const NumberSummary& numbers) {
  Json json{
      {"finite", numbers.finite},
      {"zeros", numbers.zeros},
      {"nan", numbers.nans},
      {"infinite", numbers.positive_infinities + numbers.negative_infinities}};
  if (numbers.finite == 0) return json;
  json["min"] = bound_json(numbers.least);
  json["max"] = bound_json(numbers.most);
  json["mean"] = finite_or_null(numbers.mean);
  json["std"] = finite_or_null(numbers.std);
  json["median"] = finite_or_null(numbers.median);
  if (numbers.weighted_mean) {
    json["weighted_mean"] = finite_or_null(*numbers.weighted_mean);
    json["weighted_std"] = finite_or_null(*numbers.weighted_std);
  }
  json["histogram"] = histogram_json(numbers.equal_width);
  json["quantiles"] = histogram_json(numbers.quantiles);
  return json;
}

// How many values are times, images and sentences, and in which formats.
Json forms_json(const FeatureSummary& feature) {
  Json json = Json::object();
  for (const auto& [kind, name] :
       {std::pair(FormKind::kTime, "time"),
        std::pair(FormKind::kImage, "image"),
        std::pair(FormKind::kLanguage, "language")}) {
    if (feature.forms.of(kind) == 0) continue;
    Json formats = Json::object();
    for (const std::string& format : formats_of(kind)) {
      const std::uint64_t count = feature.forms.of(kind, format);
      if (count > 0 && !format.empty()) formats[format] = count;
    }
    json[name] = {{"values", feature.forms.of(kind)}};
    if (!formats.empty()) json[name]["formats"] = std::move(formats);
  }
  return json;
}

Json images_json(const ImageCounts& images) {
  Json json{{"decoded", images.decoded}, {"undecoded", images.undecoded}};
  if (images.undecoded > 0) json["reason"] = images.reason;
  for (std::size_t i = 0; i < kImageMeasures && images.decoded > 0; ++i) {
    json[std::string(to_string(static_cast<ImageMeasure>(i)))] = {
        {"min", images.ends[i].least}, {"max", images.ends[i].most}};
  }
  return json;
}

Json feature_json(const FeatureSummary& feature, bool has_weights) {
  Json json{{"name", shown_text(feature.name)},
            {"type", to_string(feature.type)},
            {"present", feature.present},
            {"missing", feature.missing()},
            {"values", feature.values}};
  if (feature.weighted_share) {
    json["weighted_present_share"] = *feature.weighted_share;
  }
  Json lists = Json::array();
  for (const ListSummary& level : feature.levels) {
    lists.push_back({{"min", level.least},
                     {"max", level.most},
                     {"mean", level.mean},
                     {"quantiles", level.quantiles}});
  }
  json["lists"] = std::move(lists);
  if (feature.numbers) json["numbers"] = numbers_json(*feature.numbers);
  if (feature.texts + feature.strings > 0) {
    json["texts"] = {{"count", feature.texts + feature.strings},
                     {"mean_bytes", feature.mean_bytes},
                     {"min_bytes", feature.least_bytes},
                     {"max_bytes", feature.most_bytes},
                     {"invalid_utf8", feature.invalid_utf8}};
  }
  if (Json forms = forms_json(feature); !forms.empty()) {
    json["forms"] = std::move(forms);
  }
  if (feature.words) {
    json["words"] = {{"count", feature.words->words},
                     {"known", feature.words->known},
                     {"coverage", feature.words->coverage()}};
  }
  if (feature.images) json["images"] = images_json(*feature.images);
  json["distinct"] = std::round(feature.distinct);
  json["is_exact"] = feature.is_exact;
  if (!feature.is_exact) json["count_error"] = feature.error;
  Json top = Json::array();
  for (const ValueCount& value : feature.counts) {
    if (top.size() == kTopValues) break;
    Json each{{"value", shown_text(value.text)}, {"count", value.count}};
    if (has_weights) each["weight"] = value.weight;
    top.push_back(std::move(each));
  }
  json["top"] = std::move(top);
  Json ranks = Json::array();
  for (const ValueCount& value : feature.counts) {
    if (ranks.size() == kMostRanks) break;
    ranks.push_back(value.count);
  }
  json["ranks"] = std::move(ranks);
  return json;
}

Json label_json(const StatisticsSummary& summary) {
  Json features = Json::array();
  for (const LabelAssociation& each : summary.associations) {
    Json lifts = Json::array();
    for (const Lift& lift : each.lifts) {
      lifts.push_back({{"value", lift.value},
                       {"label", shown_text(lift.label)},
                       {"lift", lift.lift},
                       {"count", lift.count}});
    }
    features.push_back({{"name", shown_text(each.feature)},
                        {"mutual_information", each.bits},
                        {"by_chance", each.by_chance},
                        {"share", each.share},
                        {"lifts", std::move(lifts)}});
  }
  return {{"name", shown_text(summary.label)},
          {"features", std::move(features)}};
}

}  // namespace

Json to_json(const StatisticsSummary& summary) {
  Json json{{"rows", summary.rows}};
  if (summary.weight) json["weight"] = *summary.weight;
  Json features = Json::array();
  for (const FeatureSummary& feature : summary.features) {
    features.push_back(feature_json(feature, summary.weight.has_value()));
  }
  json["features"] = std::move(features);
  if (!summary.slices.empty()) {
    Json slices = Json::object();
    for (const auto& [key, slice] : summary.slices) {
      slices[shown_text(key)] = to_json(slice);
    }
    json["slices"] = std::move(slices);
  }
  if (!summary.label.empty()) json["label"] = label_json(summary);
  return json;
}

Json to_json(const CheckReport& report) {
  Json anomalies = Json::array();
  for (const Anomaly& anomaly : report.anomalies) {
    anomalies.push_back({{"kind", anomaly.kind},
                         {"severity", to_string(anomaly.severity)},
                         {"feature", shown_text(anomaly.feature)},
                         {"what", anomaly.what},
                         {"detail", anomaly.detail},
                         {"edit", anomaly.edit}});
  }
  Json measurements = Json::array();
  for (const Measurement& each : report.measurements) {
    Json measurement{{"feature", shown_text(each.feature)},
                     {"against", each.against},
                     {"distance", each.distance},
                     {"value", each.value},
                     {"threshold", each.most},
                     {"floor", each.floor}};
    if (!each.where.empty()) measurement["where"] = each.where;
    measurements.push_back(std::move(measurement));
  }
  return {{"has_errors", report.has_errors()},
          {"anomalies", std::move(anomalies)},
          {"measurements", std::move(measurements)}};
}

}  // namespace weft::validation
