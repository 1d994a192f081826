#include "weft/gate/gate_view.h"

#include <nlohmann/json.hpp>

namespace weft {
std::string plan_json(const GateTerms& terms, const GatePlan& plan) {
  using Json = nlohmann::ordered_json;
  Json clauses = Json::array();
  for (std::size_t i = 0; i < plan.clauses.size(); ++i) {
    const BoundAnswer& answer = plan.clauses[i];
    Json clause{{"clause", to_string(terms.condition.clauses[i])},
                {"points", answer.points},
                {"bound", answer.bound},
                {"why", answer.why}};
    if (answer.filter) {
      clause["filter"] = {{"points", answer.filter->points},
                          {"most", answer.filter->most}};
      clause["points_without"] = answer.points_without;
    }
    for (const BoundAnswer& each :
         answers_for(terms, terms.condition.clauses[i])) {
      clause["bounds"][each.bound] = each.points;
    }
    clauses.push_back(clause);
  }
  return Json{{"condition", to_string(terms.condition)},
              {"reliability", terms.reliability},
              {"mode", to_string(terms.mode)},
              {"adaptivity", to_string(terms.adaptivity)},
              {"steps", terms.steps},
              {"labelled", plan.labelled},
              {"points", plan.points},
              {"baseline", plan.baseline},
              {"labels_differences_only", plan.labels_differences_only},
              {"labels_a_commit",
               plan.labels_a_commit ? Json(*plan.labels_a_commit) : Json()},
              {"clauses", clauses},
              {"hints", plan.hints}}
      .dump();
}

std::string_view verdict_word(const GateSubmission& submission) {
  if (!submission.is_judged) return "waits for labels";
  if (!submission.passed) return "recorded";
  return *submission.passed ? "passed" : "failed";
}

std::string status_json(const std::string& gate, const GateLife& life) {
  using Json = nlohmann::ordered_json;
  Json submissions = Json::array();
  for (const GateSubmission& submission : life.submissions) {
    submissions.push_back({{"model", submission.name},
                           {"time", submission.time},
                           {"verdict", verdict_word(submission)}});
  }
  return Json{{"gate", gate},
              {"condition", to_string(life.config.terms.condition)},
              {"test_set", life.number},
              {"uses_left", life.uses_left()},
              {"alarm", to_string(life.end)},
              {"released", life.is_released},
              {"submissions", submissions}}
      .dump();
}

}  // namespace weft
