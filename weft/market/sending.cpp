#include "weft/market/sending.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/market/challenge.h"

namespace weft::market {

Fields fields_from_words(const TransactionDef& def,
                         const std::vector<std::string>& words) {
  Fields fields;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto spec = std::ranges::find(def.fields, name, &FieldSpec::name);
    if (equals == std::string::npos || spec == def.fields.end()) {
      std::vector<std::string> known;
      for (const auto& field : def.fields) known.push_back(field.name);
      const std::string near = nearest(name, known);
      throw Error(ErrorCode::kInvalidArgument, def.name,
                  "'{}' sets no field of it", word)
          .hint(near.empty()
                    ? "weft market transactions " + def.name + " lists them"
                    : "did you mean " + near + "=…?");
    }
    fields.set(name, field_from_words(*spec, word.substr(equals + 1)));
  }
  return fields;
}

Transaction next_transaction(Market& market, const SigningKey& key,
                             std::string_view what, Fields fields) {
  const State& state = market.current();
  const auto found = state.accounts.find(key.public_key());
  const std::int64_t nonce =
      found == state.accounts.end() ? 0 : found->second.nonce;
  if (what == "submit_job" && fields.find("checks") != nullptr &&
      fields.number("checks") > 0 && fields.find("commitment") == nullptr) {
    fields.set("commitment", first_commitment(key, state.market, nonce));
  }
  return make_transaction(key, state.market, nonce, what, std::move(fields));
}

Transaction next_reveal(Market& market, const SigningKey& payer,
                        std::int64_t job) {
  Fields fields;
  fields.set("job", job);
  fields.set("secret", next_secret(payer, market.current(), job));
  return next_transaction(market, payer, "reveal", std::move(fields));
}

Market::Outcome send_alone(Market& market, const Transaction& transaction) {
  Market::Outcome outcome = market.commit({transaction});
  if (outcome.refused.empty()) return outcome;
  throw Error(ErrorCode::kInvalidArgument, "market",
              "the transaction is refused")
      .detail(outcome.refused[0].why);
}

}  // namespace weft::market
