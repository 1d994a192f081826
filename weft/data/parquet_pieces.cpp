#include "weft/data/parquet_pieces.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {
namespace {

constexpr std::int64_t kRowsAtOnce = 4096;

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Adds the rows that `file` has come to, `row` of them being before it. Columns
// stand at `places` of the table, and have numbers where `numbers` says so.
void add_rows(const ParquetFile& file, const std::vector<std::size_t>& places,
              const std::vector<std::size_t>& numbers, std::int64_t row,
              std::int64_t count, Records& records) {
  struct Text {
    std::size_t place;
    ParquetTexts texts;
  };
  std::vector<Text> texts;
  texts.reserve(places.size());
  for (std::size_t c = 0; c < places.size(); ++c) {
    if (std::ranges::binary_search(numbers, places[c])) {
      file.add_numbers(c, records.numbers(places[c]));
    } else {
      file.write_texts(c, texts.emplace_back(places[c]).texts);
    }
  }
  std::vector<std::string_view> fields(records.names().size());
  for (std::int64_t i = 0; i < count; ++i) {
    for (const Text& text : texts) {
      fields[text.place] = text.texts.values[static_cast<std::size_t>(i)];
    }
    records.add(fields, static_cast<std::size_t>(++row));
  }
}

}  // namespace

ParquetPieces::ParquetPieces(const std::vector<std::filesystem::path>& files,
                             std::string where,
                             const std::vector<std::string>& ignore)
    : where_(std::move(where)) {
  for (const std::filesystem::path& file : files) {
    files_.emplace_back(file);
    add_file(files_.size() - 1, ignore);
  }
}

void ParquetPieces::add_file(std::size_t number,
                             const std::vector<std::string>& ignore) {
  const ParquetFile& file = files_[number];
  const std::vector<std::string> names = file.names();
  if (number == 0) {
    // It throws for two columns of one name.
    names_ = Records(file.where(), names).names();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!is_among(ignore, names_[i])) read_.push_back(i);
    }
  }
  std::vector<std::size_t>& columns = columns_.emplace_back();
  for (const std::size_t i : read_) {
    // Files that other programs wrote may have another order of columns.
    const auto found = std::ranges::find(names, names_[i]);
    if (names.size() != names_.size() || found == names.end()) {
      throw Error(ErrorCode::kDataLoss, file.where(),
                  "has other columns than {}", files_[0].where());
    }
    columns.push_back(static_cast<std::size_t>(found - names.begin()));
    try {
      file.check(columns.back());
    } catch (Error& refused) {
      throw std::move(refused.hint("name it in data.ignore"));
    }
    if (file.kind(columns.back()) == files_[0].kind(i)) continue;
    throw Error(ErrorCode::kDataLoss, file.where(),
                "column '{}' is of another type than in {}", names_[i],
                files_[0].where());
  }
  std::int64_t first = 0;
  for (std::size_t group = 0; group < file.groups(); ++group) {
    // A row group without rows is no piece of anything.
    if (file.rows(group) > 0) pieces_.push_back({number, group, first});
    first += file.rows(group);
  }
}

std::int64_t ParquetPieces::rows(std::size_t piece) const {
  const std::lock_guard lock(mutex_);
  return files_[pieces_[piece].file].rows(pieces_[piece].group);
}

void ParquetPieces::with(std::size_t number,
                         std::span<const std::size_t> columns,
                         const Use& use) const {
  const Piece& piece = pieces_[number];
  ParquetFile& file = files_[piece.file];
  // What is looked at and not ignored: places in the table, and in the file.
  std::vector<std::size_t> places;
  std::vector<std::size_t> read;
  for (std::size_t c = 0; c < read_.size(); ++c) {
    if (std::ranges::find(columns, read_[c]) == columns.end()) continue;
    places.push_back(read_[c]);
    read.push_back(columns_[piece.file][c]);
  }
  std::vector<std::size_t> numbers;
  for (std::size_t c = 0; c < places.size(); ++c) {
    if (has_numbers(file.kind(read[c]))) numbers.push_back(places[c]);
  }
  Records records(file.where(), names_, numbers);
  {
    const std::lock_guard lock(mutex_);
    file.begin(piece.group, std::move(read));
    std::int64_t row = piece.first_row;
    while (const std::int64_t count = file.next(kRowsAtOnce)) {
      add_rows(file, places, numbers, row, count, records);
      row += count;
    }
  }
  use(records);
}

TableOptions ParquetPieces::typed(TableOptions options) const {
  for (std::size_t c = 0; c < read_.size(); ++c) {
    const std::string& name = names_[read_[c]];
    if (is_among(options.numbers, name) || is_among(options.categories, name))
      continue;
    switch (files_[0].kind(columns_[0][c])) {
      case ParquetKind::kText:
      case ParquetKind::kBool:
        options.categories.push_back(name);
        break;
      case ParquetKind::kFloat:
      case ParquetKind::kDouble:
        options.numbers.push_back(name);
        break;
      // Whole numbers may be those of classes, which their values tell.
      default:
        break;
    }
  }
  return options;
}

}  // namespace weft
