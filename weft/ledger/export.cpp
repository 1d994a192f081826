#include "weft/ledger/export.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "weft/base/error.h"

namespace weft {
namespace {

constexpr int kExportFormat = 1;
// A body's quotes and backslashes are escaped.
constexpr std::size_t kMostLineBytes = 2 * kMostBodyBytes + (1 << 16);

Error damaged_line(const std::string& where, std::string_view what) {
  return Error(ErrorCode::kDataLoss, where, "{}", what)
      .hint("weft ledger export writes such files");
}

nlohmann::json object_from(std::string_view line, const std::string& where) {
  auto json = nlohmann::json::parse(line, /*cb=*/nullptr,
                                    /*allow_exceptions=*/false);
  if (!json.is_object()) throw damaged_line(where, "is no object of JSON");
  return json;
}

std::int64_t integer_of(const nlohmann::json& json, const char* key,
                        const std::string& where) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) {
    throw damaged_line(where, fmt::format("has no number '{}'", key));
  }
  return found->get<std::int64_t>();
}

std::string text_of(const nlohmann::json& json, const char* key,
                    const std::string& where) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) {
    throw damaged_line(where, fmt::format("has no text '{}'", key));
  }
  return found->get<std::string>();
}

// False at the end of the file.
bool next_line(std::ifstream& file, std::string& line,
               const std::string& where) {
  line.clear();
  for (int character = file.get(); character != EOF; character = file.get()) {
    if (character == '\n') return true;
    if (line.size() == kMostLineBytes) {
      throw damaged_line(where, "is longer than any record");
    }
    line += static_cast<char>(character);
  }
  return !line.empty();
}

std::string line_place(const std::filesystem::path& path, std::int64_t line) {
  return fmt::format("{}:{}", path.string(), line);
}

std::ifstream opened(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorCode::kUnavailable, path.string(), "cannot be opened");
  }
  return file;
}

}  // namespace

std::string export_heading(const std::string& name) {
  return nlohmann::ordered_json{{"ledger", name}, {"format", kExportFormat}}
      .dump();
}

std::string export_line(const LedgerRecord& record) {
  return nlohmann::ordered_json{{"sequence", record.sequence},
                                {"time", record.time},
                                {"book", record.book},
                                {"kind", record.kind},
                                {"key", record.key},
                                {"body", record.body},
                                {"digest", to_text(record.digest)}}
      .dump();
}

LedgerRecord record_from_line(std::string_view line, const std::string& where) {
  const nlohmann::json json = object_from(line, where);
  LedgerRecord record{{.book = text_of(json, "book", where),
                       .kind = text_of(json, "kind", where),
                       .body = text_of(json, "body", where),
                       .key = text_of(json, "key", where)}};
  record.sequence = integer_of(json, "sequence", where);
  record.time = integer_of(json, "time", where);
  const auto digest = digest_from_text(text_of(json, "digest", where));
  if (!digest) throw damaged_line(where, "has no digest of 64 digits");
  record.digest = *digest;
  return record;
}

LedgerExport::LedgerExport(const std::filesystem::path& path) : path_(path) {
  std::ifstream file = opened(path);
  const std::string where = line_place(path, 1);
  std::string line;
  next_line(file, line, where);
  const nlohmann::json heading = object_from(line, where);
  name_ = text_of(heading, "ledger", where);
  if (integer_of(heading, "format", where) != kExportFormat) {
    throw damaged_line(where, "is of another format");
  }
}

void LedgerExport::read(
    const std::function<bool(LedgerRecord&&)>& visit) const {
  std::ifstream file = opened(path_);
  std::string line;
  for (std::int64_t number = 1;; ++number) {
    const std::string where = line_place(path_, number);
    if (!next_line(file, line, where)) return;
    if (number == 1) continue;
    std::optional<LedgerRecord> record;
    try {
      record = record_from_line(line, where);
    } catch (const Error&) {
      // Lines behind a damaged one are as good as those before it, and its
      // record may stand in another copy.
      continue;
    }
    if (!visit(std::move(*record))) return;
  }
}

}  // namespace weft
