#include "weft/market/transaction.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTransactionContext = "weft market transaction";

Error no_transaction(std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, "transaction", "{}", what);
}

std::int64_t number_from(const Json& json, std::string_view name) {
  if (!json.is_number_unsigned() ||
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(kMostAmount)) {
    throw no_transaction(
        fmt::format("'{}' is no whole number from 0 to {}", name, kMostAmount));
  }
  return json.get<std::int64_t>();
}

std::string text_from(const Json& json, std::string_view name) {
  if (!json.is_string() ||
      json.get_ref<const std::string&>().size() > kMostFieldBytes) {
    throw no_transaction(fmt::format("'{}' is no text of at most {} bytes",
                                     name, kMostFieldBytes));
  }
  return json.get<std::string>();
}

PublicKey hex_from(const Json& json, std::string_view name) {
  return key_from_text(text_from(json, name), name);
}

template <class Read>
auto list_from(const Json& json, std::string_view name, Read&& read) {
  if (!json.is_array() || json.size() > kMostListEntries) {
    throw no_transaction(fmt::format("'{}' is no list of at most {} entries",
                                     name, kMostListEntries));
  }
  std::vector<decltype(read(json, name))> list;
  for (const Json& entry : json) list.push_back(read(entry, name));
  return list;
}

FieldValue field_from(const Json& json, const FieldSpec& spec) {
  switch (spec.kind) {
    case FieldKind::kNumber:
      return number_from(json, spec.name);
    case FieldKind::kText:
      return text_from(json, spec.name);
    case FieldKind::kFlag:
      if (!json.is_boolean()) {
        throw no_transaction("'" + spec.name + "' is neither true nor false");
      }
      return json.get<bool>();
    case FieldKind::kKey:
      return hex_from(json, spec.name);
    case FieldKind::kNumbers:
      return list_from(json, spec.name, number_from);
    case FieldKind::kTexts:
      return list_from(json, spec.name, text_from);
    case FieldKind::kKeys:
      return list_from(json, spec.name, hex_from);
  }
  WEFT_CHECK(false, "a kind of field that there is not");
}

const Json& member_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) {
    throw no_transaction(fmt::format("has no '{}'", name));
  }
  return *found;
}

bool is_common(const std::string& name) {
  return name == "market" || name == "account" || name == "nonce" ||
         name == "do";
}

}  // namespace

Request parse_request(std::string_view text) {
  if (text.size() > kMostTransactionBytes) {
    throw no_transaction(fmt::format("has {} bytes, and {} are the most",
                                     text.size(), kMostTransactionBytes));
  }
  const Json json = Json::parse(text, /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) throw no_transaction("is no object of JSON");
  Request request;
  request.market = hex_from(member_of(json, "market"), "market");
  request.account = hex_from(member_of(json, "account"), "account");
  request.nonce = number_from(member_of(json, "nonce"), "nonce");
  const std::string name = text_from(member_of(json, "do"), "do");
  request.def = &market_transaction_registry().get(name);
  for (const auto& [key, value] : json.items()) {
    if (is_common(key)) continue;
    const auto spec =
        std::ranges::find(request.def->fields, key, &FieldSpec::name);
    if (spec == request.def->fields.end()) {
      throw no_transaction(fmt::format("'{}' is no field of {}", key, name));
    }
    request.fields.set(key, field_from(value, *spec));
  }
  request.fields.complete(request.def->fields, name);
  return request;
}

bool is_signed(const Transaction& transaction, const PublicKey& account) {
  return is_signed_by(account, transaction.signature, kTransactionContext,
                      transaction.text);
}

Transaction make_transaction(const SigningKey& key, const Digest& market,
                             std::int64_t nonce, std::string_view what,
                             Fields fields) {
  const TransactionDef& def = market_transaction_registry().get(what);
  fields.complete(def.fields, what);
  Transaction transaction;
  transaction.text =
      fmt::format(R"({{"market":"{}","account":"{}","nonce":{},"do":"{}"{}}})",
                  to_hex(market), to_hex(key.public_key()), nonce, what,
                  fields.to_json_members(def.fields));
  if (transaction.text.size() > kMostTransactionBytes) {
    throw no_transaction(fmt::format("would have {} bytes, and {} are the most",
                                     transaction.text.size(),
                                     kMostTransactionBytes));
  }
  transaction.signature = key.sign(kTransactionContext, transaction.text);
  return transaction;
}

}  // namespace weft::market
