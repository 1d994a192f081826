#include "weft/gate/state.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 4> kEndNames{"", "steps", "pass",
                                                    "replaced"};

GateEnd end_named(const std::string& name) {
  const auto found = std::ranges::find(kEndNames, name);
  return static_cast<GateEnd>(found - kEndNames.begin());
}

GateLife begun_life(const LedgerRecord& record, const Json& body,
                    const std::optional<GateLife>& before) {
  GateLife life;
  life.number = before ? before->number + 1 : 1;
  life.began = record.time;
  life.config = gate_config_from_json(body.at("config").dump());
  life.key = body.at("key");
  life.pool = body.at("pool");
  life.secret = body.at("secret");
  life.labels = body.at("labels");
  life.old = body.at("old");
  return life;
}

void apply_verdict(GateLife& life, const Json& body) {
  GateSubmission& submission = life.submissions.at(body.at("submission"));
  submission.is_judged = true;
  submission.details = body.at("details");
  if (body.contains("passed"))
    submission.passed = body.at("passed").get<bool>();
  // Where verdicts are hidden, every commit is taken, and the next one is
  // compared with it.
  if (submission.passed.value_or(true)) life.old = submission.predictions;
}

void apply_rotation(GateLife& life, const Json& body) {
  life.key = body.at("key");
  life.secret = body.at("secret");
  life.labels = body.at("labels");
  life.old = body.at("old");
  const auto& details = body.at("details");
  for (std::size_t i = 0; i < life.submissions.size(); ++i) {
    life.submissions[i].details = details.at(i);
    life.submissions[i].predictions = body.at("predictions").at(i);
    life.submissions[i].requested = body.at("requested").at(i);
  }
}

void apply_to_life(GateLife& life, const LedgerRecord& record,
                   const Json& body) {
  if (record.kind == "submit") {
    GateSubmission submission;
    submission.key = record.key;
    submission.name = body.at("name");
    submission.time = record.time;
    submission.predictions = body.at("predictions");
    life.submissions.push_back(std::move(submission));
  } else if (record.kind == "request") {
    life.submissions.at(body.at("submission")).requested = body.at("points");
  } else if (record.kind == "labels") {
    life.labels.push_back(body.at("labels"));
  } else if (record.kind == "verdict") {
    apply_verdict(life, body);
  } else if (record.kind == "told") {
    life.submissions.at(body.at("submission")).is_told = true;
  } else if (record.kind == "end") {
    life.end = end_named(body.at("why"));
  } else if (record.kind == "release") {
    life.is_released = true;
  } else if (record.kind == "rotate") {
    apply_rotation(life, body);
  } else {
    throw Error(ErrorCode::kDataLoss, "gate",
                "record {} is of an unknown kind '{}'", record.sequence,
                record.kind);
  }
}

}  // namespace

std::string_view to_string(GateEnd end) {
  return kEndNames[static_cast<std::size_t>(end)];
}

const GateSubmission* GateLife::pending() const {
  const auto found =
      std::ranges::find(submissions, false, &GateSubmission::is_judged);
  return found == submissions.end() ? nullptr : &*found;
}

const GateSubmission* GateLife::find(const std::string& submission_key) const {
  const auto found =
      std::ranges::find(submissions, submission_key, &GateSubmission::key);
  return found == submissions.end() ? nullptr : &*found;
}

std::int64_t GateLife::uses_left() const {
  return end == GateEnd::kNot ? config.terms.steps - std::ssize(submissions)
                              : 0;
}

void GateState::apply(const LedgerRecord& record) {
  try {
    const Json body = Json::parse(record.body);
    if (record.kind == "init") {
      life = begun_life(record, body, life);
    } else if (life) {
      apply_to_life(*life, record, body);
    } else {
      throw Error(ErrorCode::kDataLoss, "gate",
                  "record {} is of a gate that has not begun", record.sequence);
    }
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kDataLoss, "gate",
                "record {} is none of a gate's: {}", record.sequence,
                error.what());
  } catch (const std::out_of_range&) {
    throw Error(ErrorCode::kDataLoss, "gate",
                "record {} is of a submission that is not there",
                record.sequence);
  }
}

}  // namespace weft
