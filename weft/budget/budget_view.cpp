#include "weft/budget/budget_view.h"

#include <nlohmann/json.hpp>

#include "weft/budget/date_text.h"
#include "weft/ledger/ledger.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const KeptClaim& claim) {
  return {{"claim", claim.entry.claim},
          {"standing", to_string(claim.standing)},
          {"because", claim.because}};
}

}  // namespace

std::string budget_json(const BudgetBooks& books, std::int64_t now) {
  Json blocks = Json::array();
  for (const auto& [name, block] : books.blocks()) {
    blocks.push_back(
        {{"block", name},
         {"epsilon", block.guarantee.epsilon},
         {"delta", block.guarantee.delta},
         {"consumed_epsilon", BudgetBooks::consumed_epsilon(block)},
         {"claims", block.claims},
         {"grants", block.grants},
         {"retires_at", block.retirement.at},
         {"retires_after", block.retirement.grants},
         {"retired", block.gone(now).value_or("")}});
  }
  Json claims = Json::array();
  for (const auto& [name, claim] : books.claims()) {
    Json each = json_of(claim);
    each["job"] = claim.entry.job;
    each["mechanism"] = claim.entry.mechanism;
    each["blocks"] = claim.entry.blocks;
    claims.push_back(std::move(each));
  }
  return Json{{"rules",
               {{"scheduler", books.rules().scheduler},
                {"unlocking", books.rules().unlocking},
                {"period", books.rules().period}}},
              {"blocks", blocks},
              {"claims", claims}}
      .dump();
}

std::string standstill_text(std::int64_t now) {
  constexpr std::int64_t kMinute = 60'000'000;  // clocks differ by less
  if (now - ledger_clock() < kMinute) return {};
  return fmt::format(
      "time stands still in this ledger until {}: a record was dated by a "
      "clock that was ahead of this one",
      date_text(now));
}

std::string claim_json(const KeptClaim& claim) { return json_of(claim).dump(); }

}  // namespace weft
