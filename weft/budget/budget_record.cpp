#include "weft/budget/budget_record.h"

#include <nlohmann/json.hpp>

#include "weft/base/error.h"

namespace weft {
namespace {

using nlohmann::json;

// A body as an object, whose keys are then all there and of their types.
class BudgetBody {
 public:
  explicit BudgetBody(std::string_view body)
      : object_(json::parse(body, /*cb=*/nullptr, /*allow_exceptions=*/false)) {
    if (!object_.is_object()) throw damaged("is no object");
  }

  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) throw damaged(key);
    return value.get<std::string>();
  }
  double number(const char* key) const {
    const json& value = at(key);
    if (!value.is_number()) throw damaged(key);
    return value.get<double>();
  }
  // A whole number, or 0 where there is none.
  std::int64_t count(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return 0;
    if (!found->is_number_integer()) throw damaged(key);
    const auto count = found->get<std::int64_t>();
    if (count < 0) throw damaged(key);
    return count;
  }
  std::vector<std::string> texts(const char* key) const {
    const json& value = at(key);
    if (!value.is_array()) throw damaged(key);
    std::vector<std::string> texts;
    for (const json& each : value) {
      if (!each.is_string()) throw damaged(key);
      texts.push_back(each.get<std::string>());
    }
    return texts;
  }

 private:
  const json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) throw damaged(key);
    return *found;
  }
  static Error damaged(std::string_view what) {
    return Error(ErrorCode::kDataLoss, "budget",
                 "a record says nothing that can be understood: {}", what);
  }

  json object_;
};

std::string text_from(const json& object) {
  try {
    return object.dump();
  } catch (const json::type_error&) {
    throw Error(ErrorCode::kInvalidArgument, "budget",
                "a name or a reason is no UTF-8 text");
  }
}

}  // namespace

std::string body_of(const BudgetRules& rules) {
  return text_from({{"scheduler", rules.scheduler},
                    {"unlocking", rules.unlocking},
                    {"period", rules.period}});
}

std::string body_of(const BlockEntry& block) {
  return text_from({{"block", block.block},
                    {"epsilon", block.guarantee.epsilon},
                    {"delta", block.guarantee.delta},
                    {"retires_at", block.retirement.at},
                    {"retires_after", block.retirement.grants}});
}

std::string body_of(const RetireEntry& retired) {
  return text_from({{"block", retired.block}, {"because", retired.because}});
}

std::string body_of(const ClaimEntry& claim) {
  return text_from({{"claim", claim.claim},
                    {"job", claim.job},
                    {"mechanism", claim.mechanism},
                    {"blocks", claim.blocks},
                    {"weight", claim.weight}});
}

std::string body_of(const VerdictEntry& verdict) {
  return text_from({{"claim", verdict.claim}, {"because", verdict.because}});
}

BudgetRules rules_from(std::string_view body) {
  const BudgetBody read(body);
  return {read.text("scheduler"), read.text("unlocking"),
          read.number("period")};
}

BlockEntry block_from(std::string_view body) {
  const BudgetBody read(body);
  return {read.text("block"),
          {read.number("epsilon"), read.number("delta")},
          {read.count("retires_at"), read.count("retires_after")}};
}

RetireEntry retire_from(std::string_view body) {
  const BudgetBody read(body);
  return {read.text("block"), read.text("because")};
}

ClaimEntry claim_from(std::string_view body) {
  const BudgetBody read(body);
  return {read.text("claim"), read.text("job"), read.text("mechanism"),
          read.texts("blocks"), read.number("weight")};
}

VerdictEntry verdict_from(std::string_view body) {
  const BudgetBody read(body);
  return {read.text("claim"), read.text("because")};
}

}  // namespace weft
