#include "weft/gate/gate.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "weft/base/libraries/blake2b.h"
#include "weft/base/stopwatch.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr int kWaitMilliseconds = 200;

// A request by what it asks: the same model in the same life is one request.
std::string request_key(const GateLife& life,
                        const std::vector<std::string>& predictions) {
  const std::string text =
      Json{{"life", life.number}, {"says", predictions}}.dump(-1, ' ', true);
  return blake2b(
      {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

Error used_up(const std::string& where, const GateLife& life) {
  return Error(ErrorCode::kInvalidArgument, where, "the test set is used up{}",
               life.end == GateEnd::kPass
                   ? ": a model has passed, which ends its life"
                   : fmt::format(" by {} verdicts", life.submissions.size()))
      .hint(
          "weft gate init begins with a new one, and weft gate release gives "
          "the old one to developers");
}

const char* truth_text(Truth truth) {
  return truth == Truth::kTrue    ? "true"
         : truth == Truth::kFalse ? "false"
                                  : "unknown";
}

Json clauses_json(const GateTerms& terms, const GateVerdict& verdict) {
  Json clauses = Json::array();
  for (std::size_t i = 0; i < verdict.clauses.size(); ++i) {
    const ClauseVerdict& clause = verdict.clauses[i];
    clauses.push_back(
        {{"clause", to_string(terms.condition.clauses[i])},
         {"truth", truth_text(clause.truth)},
         {"points", clause.points},
         {"estimate", clause.points == 0 ? Json() : Json(clause.estimate)}});
  }
  return clauses;
}

}  // namespace

Gate::Gate(GateFile file, LedgerMode mode)
    : file_(std::move(file)),
      ledger_(Ledger::open(file_.ledger, mode)),
      book_(ledger_, "gate/" + file_.name) {}

const GatePoints& Gate::points() {
  if (points_ == nullptr) points_ = open_points(file_);
  return *points_;
}

const GateKey& Gate::key() {
  if (!key_) key_ = GateKey::load(file_.key);
  return *key_;
}

const GatePlan& Gate::plan() {
  if (!plan_) plan_ = plan_gate(file_.config.terms);
  return *plan_;
}

const GateLife& Gate::checked_life(const GateState& state) {
  const std::string where = file_.path.string();
  if (!state.life) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "the gate '{}' has no test set yet", file_.name)
        .hint("weft gate init begins with one");
  }
  const GateLife& life = *state.life;
  if (!(file_.config == life.config)) {
    const Json ours = Json::parse(to_json(file_.config));
    const Json theirs = Json::parse(to_json(life.config));
    std::vector<std::string> differing;
    for (const auto& [name, value] : ours.items()) {
      if (value != theirs.at(name)) differing.push_back(name);
    }
    throw Error(ErrorCode::kInvalidArgument, where,
                "says otherwise than the ledger does of: {}",
                fmt::join(differing, ", "))
        .hint(
            "what the owner began with counts; weft gate init --replace "
            "begins anew, with other points");
  }
  if (life.key != key().id()) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "the gate is sealed with another key ({}, and not {})",
                life.key, key().id());
  }
  if (life.pool != points().digest()) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "the points are other ones than when the gate began")
        .hint("weft gate init --replace begins anew, with these");
  }
  return life;
}

std::string Gate::seal(const std::vector<std::string>& predictions) {
  // Each class is written once.
  std::vector<std::string> names = predictions;
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  Json places = Json::array();
  for (const std::string& each : predictions) {
    places.push_back(std::ranges::lower_bound(names, each) - names.begin());
  }
  return key().seal(
      Json{{"names", names}, {"says", places}}.dump(-1, ' ', true));
}

std::vector<std::string> Gate::open_predictions(const std::string& sealed) {
  const Json json = Json::parse(key().open(sealed));
  const auto names = json.at("names").get<std::vector<std::string>>();
  std::vector<std::string> predictions;
  for (const auto& place : json.at("says"))
    predictions.push_back(names.at(place));
  return predictions;
}

std::vector<std::optional<std::string>> Gate::open_labels(
    const GateLife& life) {
  std::vector<std::optional<std::string>> labels(open_secret(life).set.size());
  for (const std::string& sealed : life.labels) {
    const Json json = Json::parse(key().open(sealed));
    for (const auto& pair : json) {
      labels.at(pair.at(0)) = pair.at(1).get<std::string>();
    }
  }
  return labels;
}

GatePredictions Gate::predictions_on_set(const GateLife& life,
                                         const GateSubmission& submission) {
  const Secret secret = open_secret(life);
  const auto on_set = [&](const std::string& sealed) {
    std::vector<std::string> picked;
    if (sealed.empty()) return picked;
    const auto all = open_predictions(sealed);
    for (const std::size_t place : secret.set) picked.push_back(all.at(place));
    return picked;
  };
  return {on_set(submission.predictions), on_set(life.old)};
}

std::vector<std::size_t> Gate::missing_labels(
    const GateLife& life, const GateSubmission& submission) {
  const GatePredictions predictions = predictions_on_set(life, submission);
  const GateJudge judge(file_.config.terms, plan(), predictions);
  const auto labels = open_labels(life);
  std::vector<std::size_t> missing;
  for (const std::size_t place : judge.needed_labels()) {
    if (!labels[place]) missing.push_back(place);
  }
  return missing;
}

void Gate::judge_pending(BookWriter<GateState>& writer) {
  const GateLife& life = *writer.state().life;
  const GateSubmission& submission = *life.pending();
  const auto number = &submission - life.submissions.data();
  const GateTerms& terms = life.config.terms;
  const GatePredictions predictions = predictions_on_set(life, submission);
  const GateJudge judge(terms, plan(), predictions);
  const GateVerdict verdict = judge.judge(open_labels(life));

  GateEnd end = GateEnd::kNot;
  // In this mode the set was sized for developers who learn of nothing but
  // failures.
  if (terms.adaptivity == Adaptivity::kFirstChange && verdict.passed) {
    end = GateEnd::kPass;
  } else if (std::ssize(life.submissions) >= terms.steps) {
    end = GateEnd::kSteps;
  }
  const Json details{{"gate", file_.name},
                     {"life", life.number},
                     {"submission", number + 1},
                     {"model", submission.name},
                     {"passed", verdict.passed},
                     {"clauses", clauses_json(terms, verdict)},
                     {"labels", judge.needed_labels().size()},
                     {"differences", judge.differences()},
                     {"uses_left", terms.steps - std::ssize(life.submissions)},
                     {"alarm", to_string(end)}};
  Json body{{"submission", number},
            {"details", key().seal(details.dump(-1, ' ', true))}};
  // Where developers must not learn it, the verdict stands in what is sealed
  // alone: anybody can read the ledger.
  if (terms.adaptivity != Adaptivity::kNone) body["passed"] = verdict.passed;
  writer.append("verdict", body.dump());
  if (end != GateEnd::kNot) {
    writer.append("end", Json{{"why", to_string(end)}}.dump());
  }
}

Gate::Taken Gate::take_in(BookWriter<GateState>& writer,
                          const std::string& request, const std::string& name,
                          const std::vector<std::string>& predictions) {
  const GateLife& life = checked_life(writer.state());
  // Another life may have begun meanwhile.
  if (request != request_key(life, predictions)) return Taken::kLater;
  if (life.find(request) != nullptr) return Taken::kYes;
  if (life.pending() != nullptr) return Taken::kLater;
  if (life.end != GateEnd::kNot) throw used_up(file_.path.string(), life);
  if (life.old.empty()) check_needs_no_old_model(life.config.terms.condition);
  // The use is spent before anything is looked at. A file may be called by
  // bytes that are no UTF-8, which JSON has to be.
  writer.append("submit",
                Json{{"name", name}, {"predictions", seal(predictions)}}.dump(
                    -1, ' ', true, Json::error_handler_t::replace),
                request);
  const auto source = make_label_source(life.config.labels, file_.folder());
  const auto missing = missing_labels(life, life.submissions.back());
  if (missing.empty() && (source == nullptr || !source->takes_time())) {
    judge_pending(writer);
  } else {
    writer.append("request", Json{{"submission", life.submissions.size() - 1},
                                  {"points", key().seal(Json(missing).dump())}}
                                 .dump());
  }
  return Taken::kYes;
}

GateAnswer Gate::submit(const std::filesystem::path& model, double patience) {
  const auto predictions = predictions_for(points(), model);
  // Computed here, no other process waits for it, and terms without a plan are
  // refused before a use is spent.
  plan();
  const Stopwatch watch;
  for (;;) {
    const std::string request =
        request_key(checked_life(book_.current()), predictions);
    const bool was_there = state().life->find(request) != nullptr;
    const Taken taken = book_.transact([&](BookWriter<GateState>& writer) {
      return take_in(writer, request, model.filename().string(), predictions);
    });
    if (taken == Taken::kYes) {
      const GateAnswer answer = answer_to(request);
      const auto source =
          make_label_source(file_.config.labels, file_.folder());
      // Whether people were needed at all says something of the set.
      return !was_there && source != nullptr && source->takes_time()
                 ? GateAnswer::kWaiting
                 : answer;
    }
    if (watch.seconds() > patience) {
      throw Error(ErrorCode::kUnavailable, file_.path.string(),
                  "another submission waits for its labels")
          .hint("weft gate labels goes on with it");
    }
    ledger_.wait(book_.head().sequence, kWaitMilliseconds);
  }
}

std::optional<GateAnswer> Gate::proceed() {
  const GateLife& life = checked_life(book_.current());
  const GateSubmission* pending = life.pending();
  if (pending == nullptr) {
    tell_results();
    return std::nullopt;
  }
  return answer_to(std::string(pending->key));
}

const GateSubmission& Gate::submission_of(const GateLife& life,
                                          const std::string& request) const {
  const GateSubmission* submission = life.find(request);
  if (submission != nullptr) return *submission;
  throw Error(ErrorCode::kUnavailable, file_.path.string(),
              "the owner began with another test set meanwhile")
      .hint("submit the model again");
}

GateAnswer Gate::answer_to(const std::string& request) {
  if (!submission_of(*state().life, request).is_judged &&
      !ask_labels(request)) {
    return GateAnswer::kWaiting;
  }
  tell_results();
  const auto passed = submission_of(*state().life, request).passed;
  if (!passed) return GateAnswer::kRecorded;
  return *passed ? GateAnswer::kPassed : GateAnswer::kFailed;
}

bool Gate::ask_labels(const std::string& request) {
  const GateLife& life = *state().life;
  const GateSubmission& submission = submission_of(life, request);
  const auto missing = missing_labels(life, submission);
  const Secret secret = open_secret(life);
  std::vector<std::string> ids;
  for (const std::size_t place : missing) {
    ids.push_back(points().ids().at(secret.set[place]));
  }
  const auto source = make_label_source(life.config.labels, file_.folder());
  std::optional<LabelsOfPoints> answer = LabelsOfPoints();
  if (source != nullptr) {
    answer =
        source->ask({fmt::format("{}-{}-{}", file_.name, life.number,
                                 &submission - life.submissions.data() + 1),
                     ids});
  }
  if (!answer) return false;
  Json pairs = Json::array();
  const auto& classes = points().classes();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string& label = answer->at(ids[i]);
    if (!classes.empty() && std::ranges::count(classes, label) == 0) {
      throw Error(ErrorCode::kDataLoss, life.config.labels,
                  "the label '{}' of point '{}' is no class of these data",
                  label, ids[i]);
    }
    pairs.push_back({missing[i], label});
  }
  book_.transact([&](BookWriter<GateState>& writer) {
    // Another process may have been faster.
    const GateSubmission* pending = writer.state().life->pending();
    if (pending == nullptr || pending->key != request) return;
    writer.append(
        "labels",
        Json{{"labels", key().seal(pairs.dump(-1, ' ', true))}}.dump());
    judge_pending(writer);
  });
  return true;
}

}  // namespace weft
