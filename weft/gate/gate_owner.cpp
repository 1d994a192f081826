// What only the owner of a gate does: begin, release, rotate, and look.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/gate/command.h"
#include "weft/gate/gate.h"
#include "weft/gate/id_table.h"

namespace weft {
namespace {

using Json = nlohmann::json;

// The reason why nothing was added to a file; 0 if all was.
int try_to_add(int file, const std::string& line) {
  struct stat before {};
  // The lock goes with the file.
  if (::flock(file, LOCK_EX) != 0 || ::fstat(file, &before) != 0) return errno;
  const ssize_t written = ::write(file, line.data(), line.size());
  if (written == std::ssize(line)) return ::fsync(file) == 0 ? 0 : errno;
  if (written < 0) return errno;
  // A full disk takes a part of it, behind which the next line would stand.
  return ::ftruncate(file, before.st_size) == 0 ? ENOSPC : errno;
}

// A line is there as a whole or not at all, also where others add theirs.
void add_line(const std::filesystem::path& path, const std::string& line) {
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int reason = file < 0 ? errno : try_to_add(file, line);
  if (file >= 0) ::close(file);
  if (reason != 0) {
    throw Error(ErrorCode::kUnavailable, path.string(),
                "the verdict cannot be written: {}",
                std::generic_category().message(reason));
  }
}

}  // namespace

std::string Gate::seal(const Secret& secret) {
  return key().seal(
      Json{{"set", secret.set}, {"spent", secret.spent}}.dump(-1, ' ', true));
}

Gate::Secret Gate::open_secret(const GateLife& life) {
  const Json json = Json::parse(key().open(life.secret));
  return {json.at("set"), json.at("spent")};
}

std::vector<std::string> Gate::spent_after(const GateLife& life) {
  if (life.key != key().id()) {
    throw Error(ErrorCode::kInvalidArgument, file_.path.string(),
                "the gate is sealed with another key ({}, and not {})",
                life.key, key().id())
        .hint("which points are used up can be read with that one only");
  }
  Secret secret = open_secret(life);
  // A set that nothing was submitted to is as good as new.
  if (life.submissions.empty() && !life.is_released) return secret.spent;
  if (life.pool != points().digest()) {
    // Points of another pool may have the same ids as these, and then count as
    // spent: who says so was recorded by id alone.
    throw Error(ErrorCode::kInvalidArgument, file_.path.string(),
                "the points are other ones than when the gate began")
        .hint("a gate of other points has another name");
  }
  for (const std::size_t place : secret.set) {
    secret.spent.push_back(points().ids().at(place));
  }
  return secret.spent;
}

Gate::Secret Gate::draw(std::vector<std::string> spent) {
  const std::set<std::string_view> known(spent.begin(), spent.end());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < points().ids().size(); ++i) {
    if (!known.contains(points().ids()[i])) places.push_back(i);
  }
  const auto needed = static_cast<std::size_t>(plan().points);
  if (places.size() < needed) {
    throw Error(ErrorCode::kUnavailable, file_.path.string(),
                "there are {} points that no verdict has rested on, and the "
                "promise takes {}",
                places.size(), needed)
        .hint(
            "weft gate size says why; more points, a larger tolerance or "
            "fewer steps");
  }
  const auto best = static_cast<std::size_t>(plan().points_at_best);
  const std::size_t count = places.size() >= best ? best : needed;
  // The order is drawn, too: a clause looks at the first so many.
  for (std::size_t i = 0; i < count; ++i) {
    const auto rest = static_cast<std::uint32_t>(places.size() - i);
    std::swap(places[i], places[i + randombytes_uniform(rest)]);
  }
  places.resize(count);
  return {places, std::move(spent)};
}

std::string Gate::labels_beside(const Secret& secret) {
  if (points().labels().empty()) {
    throw Error(ErrorCode::kInvalidArgument, file_.path.string(),
                "labels = \"data\", and no labels stand beside the points")
        .hint("labels = 'folder(\"requests\")' asks people where it is needed");
  }
  Json pairs = Json::array();
  for (std::size_t i = 0; i < secret.set.size(); ++i) {
    pairs.push_back({i, points().labels().at(secret.set[i])});
  }
  return key().seal(pairs.dump(-1, ' ', true));
}

void Gate::init(const std::filesystem::path& old, bool replaces) {
  const GateConfig& config = file_.config;
  if (config.terms.adaptivity == Adaptivity::kNone && config.results.empty() &&
      config.notify.empty()) {
    throw Error(ErrorCode::kInvalidArgument, file_.path.string(),
                "nobody would learn of a verdict: adaptivity is \"none\"")
        .hint("results = \"FILE\" or notify = [\"COMMAND\"] names who may");
  }
  const auto source = make_label_source(config.labels, file_.folder());
  check_points(file_);
  std::vector<std::string> old_says;
  if (!old.empty()) old_says = predictions_for(points(), old);
  plan();
  if (state().life) tell_results();
  book_.transact([&](BookWriter<GateState>& writer) {
    std::vector<std::string> spent;
    std::string sealed_old;
    if (const auto& life = writer.state().life) {
      if (life->end == GateEnd::kNot && !replaces) {
        throw Error(ErrorCode::kInvalidArgument, file_.path.string(),
                    "the gate has a test set, for {} more verdicts",
                    life->uses_left())
            .hint("--replace begins with another one all the same");
      }
      spent = spent_after(*life);
      if (life->pool == points().digest()) sealed_old = life->old;
      if (life->end == GateEnd::kNot) {
        writer.append("end",
                      Json{{"why", to_string(GateEnd::kReplaced)}}.dump());
      }
    }
    if (!old_says.empty()) sealed_old = seal(old_says);
    const Secret secret = draw(std::move(spent));
    Json labels = Json::array();
    if (source == nullptr) labels.push_back(labels_beside(secret));
    writer.append("init", Json{{"config", Json::parse(to_json(config))},
                               {"key", key().id()},
                               {"pool", points().digest()},
                               {"secret", seal(secret)},
                               {"labels", labels},
                               {"old", sealed_old}}
                              .dump());
  });
}

std::string Gate::release() {
  const GateLife life = checked_life(book_.current());
  if (life.end == GateEnd::kNot) {
    throw Error(ErrorCode::kInvalidArgument, file_.path.string(),
                "the test set is in use, for {} more verdicts",
                life.uses_left())
        .hint(
            "weft gate init --replace begins with another one; the old one "
            "cannot be released any more then");
  }
  const auto labels = open_labels(life);
  const Secret secret = open_secret(life);
  std::string text = fmt::format("{},{}\n", kIdColumn, kLabelColumn);
  for (std::size_t i = 0; i < secret.set.size(); ++i) {
    text += csv_field(points().ids().at(secret.set[i])) + "," +
            (labels[i] ? csv_field(*labels[i]) : "") + "\n";
  }
  book_.transact([&](BookWriter<GateState>& writer) {
    const GateLife& now = *writer.state().life;
    if (now.number == life.number && !now.is_released) {
      writer.append("release", "{}");
    }
  });
  return text;
}

void Gate::rotate(const GateKey& next) {
  book_.transact([&](BookWriter<GateState>& writer) {
    const GateLife& life = checked_life(writer.state());
    const auto again = [&](const std::string& sealed) {
      return sealed.empty() ? sealed : next.seal(key().open(sealed));
    };
    Json labels = Json::array();
    for (const std::string& sealed : life.labels) {
      labels.push_back(again(sealed));
    }
    Json predictions = Json::array();
    Json requested = Json::array();
    Json details = Json::array();
    for (const GateSubmission& submission : life.submissions) {
      predictions.push_back(again(submission.predictions));
      requested.push_back(again(submission.requested));
      details.push_back(again(submission.details));
    }
    writer.append("rotate", Json{{"key", next.id()},
                                 {"secret", again(life.secret)},
                                 {"labels", labels},
                                 {"old", again(life.old)},
                                 {"predictions", predictions},
                                 {"requested", requested},
                                 {"details", details}}
                                .dump());
  });
  key_ = next;
}

std::vector<std::string> Gate::details() {
  const GateLife& life = checked_life(book_.current());
  std::vector<std::string> all;
  for (const GateSubmission& submission : life.submissions) {
    if (submission.is_judged) all.push_back(key().open(submission.details));
  }
  return all;
}

void Gate::tell_results() {
  const GateLife life = *book_.current().life;
  if (life.config.results.empty() && life.config.notify.empty()) return;
  for (std::size_t i = 0; i < life.submissions.size(); ++i) {
    const GateSubmission& submission = life.submissions[i];
    if (!submission.is_judged || submission.is_told) continue;
    const std::string line = key().open(submission.details) + "\n";
    if (!life.config.results.empty()) {
      add_line(file_.folder() / life.config.results, line);
    }
    if (!life.config.notify.empty()) {
      ask_command(life.config.notify, line, file_.folder());
    }
    book_.transact([&](BookWriter<GateState>& writer) {
      const GateLife& now = *writer.state().life;
      if (now.number != life.number || now.submissions[i].is_told) return;
      writer.append("told", Json{{"submission", i}}.dump());
    });
  }
}

}  // namespace weft
