// Statistics and anomalies for people: one HTML page that needs no network and
// no script, with a chart for each feature.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "weft/validation/check.h"

namespace weft::validation {

struct ReportPage {
  std::string title;  // what the data are called
  const StatisticsSummary& data;
  const StatisticsSummary* other = nullptr;  // drawn behind, to compare with
  std::string other_title = {};
  const CheckReport* report = nullptr;  // anomalies and distances, if checked
};

// A whole document, light or dark as the reader's system is. Whatever stands in
// the data is shown as text.
std::string html_of(const ReportPage& page);

}  // namespace weft::validation
