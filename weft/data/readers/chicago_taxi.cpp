// Taxi trips in Chicago (a sample that TensorFlow Extended publishes):
// data.csv. What is told is the fare in dollars, from what is known as a trip
// is ordered: when it starts, from where to where, whose taxi. What is known
// only when it has ended would give the fare away, as a taximeter makes it of
// time and miles, and is left out; so are census tracts, which places and areas
// say as well.
#include "weft/base/file.h"
#include "weft/data/registry.h"
#include "weft/data/table.h"

namespace weft {
namespace {

constexpr std::size_t kMostTaxiBytes = std::size_t{1} << 30;

TableOptions taxi_defaults() {
  return {
      .label = {"fare"},
      .numbers = {"fare"},
      // Numbers that only name something, or go round.
      .categories = {"pickup_community_area", "dropoff_community_area",
                     "trip_start_month", "trip_start_day", "trip_start_hour"},
      .ignore = {"tips", "trip_seconds", "trip_miles", "payment_type",
                 "pickup_census_tract", "dropoff_census_tract"}};
}

DatasetSplits open_taxi(const DataRequest& request) {
  const std::filesystem::path path = request.folder / "data.csv";
  return split_table(read_text(path, kMostTaxiBytes), path.string(),
                     table_options(request.options, taxi_defaults()));
}

bool is_taxi(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / "data.csv", ignored);
}

std::filesystem::path taxi_table(const std::filesystem::path& folder) {
  return folder / "data.csv";
}

}  // namespace

void register_data_chicago_taxi(DatasetRegistry& registry) {
  registry.add(
      {.name = "chicago-taxi",
       .summary = "15,002 taxi trips and their fares",
       .options = table_option_specs(taxi_defaults()),
       .open = open_taxi,
       .is_in = is_taxi,
       .table = taxi_table,
       .sources =
           {{"https://raw.githubusercontent.com/tensorflow/tfx/"
             "b95df4cade22996ab428ac991c2027c23843b0a5/tfx/examples/"
             "chicago_taxi_pipeline/data/simple/data.csv",
             "data.csv",
             "cdaf0b5931442ef47693f408f25a37af710aca23fccb90a78f00930e895"
             "48805",
             1922812}},
       .terms = "City of Chicago, modified, without any claim to accuracy; "
                "repository Apache-2.0"});
}

}  // namespace weft
