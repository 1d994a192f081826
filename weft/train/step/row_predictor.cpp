#include "weft/train/step/row_predictor.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "weft/data/csv.h"
#include "weft/data/table.h"

namespace weft {
namespace {

constexpr std::size_t kMostRowBytes = std::size_t{64} << 20;

std::string text_of(const PredictorInput& input) {
  if (input.file->size() > kMostRowBytes) {
    throw Error(ErrorCode::kExhausted, input.text,
                "more than {} bytes of rows at once", kMostRowBytes);
  }
  return {input.file->begin(), input.file->end()};
}

// "age=39,job=baker" as a table of one row.
std::string table_of(const std::string& row) {
  CsvReader reader(row, "row");
  std::vector<std::string> fields;
  std::string names;
  std::string values;
  if (reader.next(fields)) {
    for (const std::string& field : fields) {
      const std::size_t sign = field.find('=');
      if (sign == field.npos) {
        throw Error(ErrorCode::kInvalidArgument, "predict",
                    "'{}' is neither a file nor COLUMN=VALUE", shown(field))
            .hint("a row is written age=39,workclass=State-gov");
      }
      const char* comma = names.empty() ? "" : ",";
      // Quotes keep commas within a value from ending it.
      names += fmt::format("{}\"{}\"", comma, field.substr(0, sign));
      values += fmt::format("{}\"{}\"", comma, field.substr(sign + 1));
    }
  }
  return names + "\n" + values + "\n";
}

// A record's fields in the order of the columns that a model knows.
class RowColumns {
 public:
  RowColumns(const TableColumns& known, const Records& records)
      : known_(known) {
    // Labels and columns that are ignored may be given, and nobody reads them.
    std::vector<std::string> names = known.others();
    for (const TableColumn& column : known.columns()) {
      names.push_back(column.name);
      const auto found = std::ranges::find(records.names(), column.name);
      places_.push_back(found - records.names().begin());
      if (found == records.names().end()) missing_.push_back(column.name);
    }
    for (const std::string& name : records.names()) {
      if (std::ranges::find(names, name) != names.end()) continue;
      const std::string near = nearest(name, names);
      throw Error(
          ErrorCode::kInvalidArgument, records.where(),
          "the data has no column '{}'{}", name,
          near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
    }
  }

  void encode(const Records& records, std::size_t row, float* numbers) const {
    std::vector<std::string_view> fields;
    for (const std::ptrdiff_t place : places_) {
      // find() has given the end for a column that is not there, which stands
      // for a missing value.
      const bool is_there =
          place < static_cast<std::ptrdiff_t>(records.names().size());
      fields.push_back(is_there
                           ? records.field(row, static_cast<std::size_t>(place))
                           : std::string_view());
    }
    known_.encode(fields, numbers, records.place(row));
  }

  // What a person should know of the answers.
  std::vector<std::string> notes() const {
    if (missing_.empty()) return {};
    return {fmt::format("not given, so taken as missing: {}",
                        fmt::join(missing_, ", "))};
  }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  const TableColumns& known_;
  std::vector<std::ptrdiff_t> places_;
  std::vector<std::string> missing_;
};

class RowPredictor final : public Predictor {
 public:
  RowPredictor(const PredictorContext& context,
               std::function<RowAnswer(std::span<const float>)> tell)
      : data_(context.data),
        tell_(std::move(tell)),
        predict_(context.functions(kPredictFunction)) {}

  Prediction predict(const PredictorInput& input) override {
    // What is no file is a row itself.
    const bool is_file = input.file.has_value();
    const Records records(is_file ? text_of(input) : table_of(input.text),
                          is_file ? input.text : "row", {.has_header = true});
    if (records.rows() == 0) {
      throw Error(ErrorCode::kInvalidArgument, records.where(), "no rows");
    }
    const RowColumns columns(data_.table()->columns, records);
    const Tensor rows = Tensor::empty(
        {DType::kF32,
         {static_cast<Dim>(records.rows()), data_.table()->columns.width()}});
    for (std::size_t row = 0; row < records.rows(); ++row) {
      columns.encode(
          records, row,
          rows.data<float>() + row * static_cast<std::size_t>(rows.shape()[1]));
    }
    return told(predict_(std::vector{rows}).at(0), columns, is_file);
  }

 private:
  Prediction told(const Tensor& predictions, const RowColumns& columns,
                  bool is_file) const {
    Prediction result;
    const auto count = static_cast<std::size_t>(predictions.shape()[0]);
    const std::span<const float> numbers = predictions.span<float>();
    const std::size_t width = numbers.size() / count;
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (std::size_t row = 0; row < count; ++row) {
      RowAnswer answer = tell_(numbers.subspan(row * width, width));
      const std::string number = is_file ? fmt::format("{}  ", row + 1) : "";
      result.lines.push_back(number + answer.text);
      rows.push_back(std::move(answer.json));
    }
    for (std::string& note : columns.notes()) {
      result.lines.push_back(std::move(note));
    }
    // Whoever asks for one row gets an object, and not a list of one.
    result.json = is_file ? nlohmann::ordered_json{{"rows", rows}} : rows[0];
    result.json["missing"] = columns.missing();
    return result;
  }

  const DataDescription& data_;
  std::function<RowAnswer(std::span<const float>)> tell_;
  ModelFunction predict_;
};

}  // namespace

std::unique_ptr<Predictor> predict_rows(
    const PredictorContext& context,
    std::function<RowAnswer(std::span<const float> prediction)> tell) {
  if (context.data.table() == nullptr) {
    throw Error(ErrorCode::kUnsupported, "predict",
                "the model of '{}' does not look at rows of a table",
                context.data.name())
        .hint("weft eval measures it on its data");
  }
  return std::make_unique<RowPredictor>(context, std::move(tell));
}

RowAnswer tell_class(const std::vector<std::string>& classes,
                     std::span<const float> probabilities) {
  const auto best = static_cast<std::size_t>(
      std::ranges::max_element(probabilities) - probabilities.begin());
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    all[classes[i]] = probabilities[i];
  }
  return {fmt::format("{}   probability {:.4f}", classes[best],
                      probabilities[best]),
          {{"class", classes[best]},
           {"probability", probabilities[best]},
           {"classes", all}}};
}

}  // namespace weft
