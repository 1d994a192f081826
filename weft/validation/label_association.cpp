#include "weft/validation/label_association.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

// More different numbers than these go into bins.
constexpr std::size_t kMostNumbers = 32;
constexpr int kBins = 10;
constexpr std::size_t kLifts = 5;  // of the largest, and of the least
// A lift of fewer rows than these is mostly chance.
constexpr double kLeastRows = 10;

// One slice: the rows of a label.
struct Labelled {
  std::string label;
  const Statistics* rows;
};

// n(x, y): for each value, how often it came with each label.
using JointCounts = std::map<std::string, std::vector<double>>;

const FeatureStatistics* find(const Statistics& rows, const std::string& name) {
  const auto found = std::ranges::find(
      rows.features(), name, &std::pair<std::string, FeatureStatistics>::first);
  return found == rows.features().end() ? nullptr : &found->second;
}

void add_to(JointCounts& counts, const std::string& value, std::size_t label,
            std::size_t labels, double count) {
  auto& row = counts[value];
  row.resize(labels);
  row[label] += count;
}

void add_missing(const std::vector<Labelled>& slices, const std::string& name,
                 JointCounts& counts) {
  for (std::size_t y = 0; y < slices.size(); ++y) {
    const FeatureStatistics* feature = find(*slices[y].rows, name);
    const std::uint64_t present = feature == nullptr ? 0 : feature->rows();
    const std::uint64_t missing = slices[y].rows->rows() - present;
    if (missing > 0) {
      add_to(counts, "missing", y, slices.size(), static_cast<double>(missing));
    }
  }
}

JointCounts counts_of_values(const std::vector<Labelled>& slices,
                             const std::string& name) {
  JointCounts counts;
  for (std::size_t y = 0; y < slices.size(); ++y) {
    const FeatureStatistics* feature = find(*slices[y].rows, name);
    if (feature == nullptr) continue;
    for (const ValueCount& value : feature->counts().values()) {
      // Quotes keep a value that is called "missing" apart.
      add_to(counts, "'" + shown_text(value.text) + "'", y, slices.size(),
             static_cast<double>(value.count));
    }
  }
  return counts;
}

std::vector<double> edges_of(const ValueProfile& all) {
  std::vector<double> shares;
  for (int i = 1; i < kBins; ++i) {
    shares.push_back(static_cast<double>(i) / kBins);
  }
  std::vector<double> edges = all.numbers.quantiles(shares);
  const auto repeated = std::ranges::unique(edges);
  edges.erase(repeated.begin(), repeated.end());
  return edges;
}

std::string bin_name(const std::vector<double>& edges, std::size_t bin) {
  if (bin == edges.size()) return fmt::format("> {:.6g}", edges.back());
  if (bin == 0) return fmt::format("≤ {:.6g}", edges[0]);
  return fmt::format("{:.6g} … {:.6g}", edges[bin - 1], edges[bin]);
}

JointCounts counts_of_bins(const std::vector<Labelled>& slices,
                           const std::string& name, const ValueProfile& all) {
  const std::vector<double> edges = edges_of(all);
  JointCounts counts;
  for (std::size_t y = 0; y < slices.size(); ++y) {
    const FeatureStatistics* feature = find(*slices[y].rows, name);
    if (feature == nullptr) continue;
    const ValueProfile profile = feature->profile();
    const auto finite = static_cast<double>(profile.numbers.count());
    const std::uint64_t values =
        profile.integers + profile.floats + profile.texts + profile.strings;
    if (const double others = static_cast<double>(values) - finite;
        others > 0) {
      add_to(counts, "no number", y, slices.size(), others);
    }
    if (finite == 0) continue;
    std::vector<double> ranks = profile.numbers.ranks(edges);
    ranks.push_back(finite);
    for (std::size_t bin = 0; bin < ranks.size(); ++bin) {
      add_to(counts, bin_name(edges, bin), y, slices.size(),
             ranks[bin] - (bin == 0 ? 0 : ranks[bin - 1]));
    }
  }
  return counts;
}

// Where the values are too many texts, nothing.
JointCounts joint_counts(const std::vector<Labelled>& slices,
                         const std::string& name,
                         const FeatureStatistics& all) {
  const ValueProfile profile = all.profile();
  const bool are_numbers =
      2 * profile.numbers.count() >
      profile.integers + profile.floats + profile.texts + profile.strings;
  JointCounts counts;
  if (are_numbers && all.distinct() > kMostNumbers) {
    counts = counts_of_bins(slices, name, profile);
  } else if (all.counts().is_exact()) {
    counts = counts_of_values(slices, name);
  } else {
    return counts;
  }
  add_missing(slices, name, counts);
  return counts;
}

// The larger lifts, and the least.
std::vector<Lift> notable(std::vector<Lift> lifts) {
  std::ranges::stable_sort(lifts, std::greater<>(), &Lift::lift);
  if (lifts.size() > 2 * kLifts) {
    lifts.erase(lifts.begin() + kLifts, lifts.end() - kLifts);
  }
  return lifts;
}

LabelAssociation association_of(const std::string& name,
                                const std::vector<Labelled>& slices,
                                const JointCounts& counts) {
  std::vector<double> by_label(slices.size());
  double all = 0;
  for (const auto& [value, row] : counts) {
    for (std::size_t y = 0; y < row.size(); ++y) {
      by_label[y] += row[y];
      all += row[y];
    }
  }
  LabelAssociation found{.feature = name, .lifts = {}};
  double label_bits = 0;
  std::size_t labels = 0;
  for (const double count : by_label) {
    if (count == 0) continue;
    ++labels;
    label_bits -= count / all * std::log2(count / all);
  }
  for (const auto& [value, row] : counts) {
    double of_value = 0;
    for (const double count : row) of_value += count;
    for (std::size_t y = 0; y < row.size(); ++y) {
      if (of_value == 0 || by_label[y] == 0) continue;
      const double lift = all * row[y] / (of_value * by_label[y]);
      if (row[y] > 0) found.bits += row[y] / all * std::log2(lift);
      if (of_value >= kLeastRows) {
        found.lifts.push_back(
            {value, slices[y].label, lift,
             static_cast<std::uint64_t>(std::lround(row[y]))});
      }
    }
  }
  // Rounding may leave a little less than nothing.
  found.bits = std::max(found.bits, 0.0);
  found.by_chance = static_cast<double>(counts.size() - 1) *
                    static_cast<double>(labels - 1) /
                    (2 * all * std::numbers::ln2);
  found.share = label_bits == 0 ? 0 : std::min(found.bits / label_bits, 1.0);
  found.lifts = notable(std::move(found.lifts));
  return found;
}

}  // namespace

std::vector<LabelAssociation> associate(const Statistics& statistics,
                                        const std::string& label) {
  std::vector<Labelled> slices;
  for (const auto& [key, slice] : statistics.slices()) {
    if (!key.starts_with(label + "=")) continue;
    slices.push_back({key.substr(label.size() + 1), &slice});
  }
  std::vector<LabelAssociation> all;
  for (const auto& [name, feature] : statistics.features()) {
    if (name == label) continue;
    const JointCounts counts = joint_counts(slices, name, feature);
    if (!counts.empty()) {
      all.push_back(association_of(name, slices, counts));
    }
  }
  std::ranges::stable_sort(all, std::greater<>(), &LabelAssociation::bits);
  return all;
}

}  // namespace weft::validation
