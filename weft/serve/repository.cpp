#include "weft/serve/repository.h"

#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <pthread.h>

#include "weft/base/parallel.h"
#include "weft/serve/log.h"

namespace weft::serve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".weft";

// Names stand in addresses, and in labels of metrics.
bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '.' &&
         std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  c == '_' || c == '-' || c == '.';
         });
}

Refusal no_model(const std::string& name) {
  return {Status::kNotFound, name, "there is no model of this name"};
}

}  // namespace

Repository::Repository(RepositoryOptions options, Executors& executors,
                       Metrics& metrics)
    : options_(std::move(options)),
      executors_(executors),
      metrics_(metrics),
      loader_([this] { serve_loads(); }) {}

Repository::~Repository() { end(); }

void Repository::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_task_.notify_all();
  if (loader_.joinable()) loader_.join();
}

std::optional<Repository::Stamp> Repository::stamp_of(const fs::path& path) {
  std::error_code missing;
  const Stamp stamp{fs::last_write_time(path, missing),
                    fs::file_size(path, missing)};
  if (missing) return std::nullopt;
  return stamp;
}

void Repository::declare(const std::string& name, const fs::path& path) {
  if (!is_name(name)) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "'{}' cannot be a model's name", name)
        .hint("letters, digits, '_', '-' and '.': NAME=" + path.string());
  }
  if (!slots_.try_emplace(name, Slot{.path = path, .lane = nullptr}).second) {
    throw Error(ErrorCode::kInvalidArgument, path.string(),
                "another model is called '{}'", name)
        .hint("give one of them another name: NAME=" + path.string());
  }
}

void Repository::look_into_folders() {
  for (const fs::path& folder : folders_) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != kExtension) continue;
      const std::string name = entry.path().stem().string();
      if (is_name(name))
        slots_.try_emplace(name, Slot{.path = entry.path(), .lane = nullptr});
    }
  }
}

void Repository::open(const std::vector<std::string>& models) {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& model : models) {
      const auto equals = model.find('=');
      if (equals != model.npos) {
        declare(model.substr(0, equals), model.substr(equals + 1));
      } else if (fs::is_directory(model)) {
        folders_.emplace_back(model);
      } else {
        declare(fs::path(model).stem().string(), model);
      }
    }
    look_into_folders();
    for (const auto& [name, slot] : slots_) names.push_back(name);
  }
  if (names.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}", fmt::join(models, " ")),
                "there are no models")
        .hint("files that weft export wrote, or a folder of them");
  }
  for (const std::string& name : names) {
    std::promise<std::optional<std::string>> loaded;
    load(name, [&](std::optional<std::string> error) {
      loaded.set_value(std::move(error));
    });
    if (const auto error = loaded.get_future().get()) {
      throw Error(ErrorCode::kUnavailable, name, "it cannot be loaded")
          .detail(*error)
          .hint("weft export CHECKPOINT -o FILE makes a file to serve");
    }
  }
  const std::lock_guard lock(mutex_);
  is_open_ = true;
}

void Repository::load(const std::string& name, Loaded done) {
  {
    const std::lock_guard lock(mutex_);
    if (!slots_.contains(name)) look_into_folders();
    const auto found = slots_.find(name);
    if (found == slots_.end()) throw no_model(name);
    found->second.is_wanted = true;
    tasks_.emplace_back([this, name, done = std::move(done)] {
      auto error = load_now(name);
      if (done) done(std::move(error));
    });
  }
  has_task_.notify_one();
}

void Repository::unload(const std::string& name) {
  LaneRef old;  // it is freed when nobody holds the lock any more
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(name);
  if (found == slots_.end()) throw no_model(name);
  old = std::exchange(found->second.lane, nullptr);
  found->second.is_wanted = false;
  found->second.reason = "unloaded";
}

void Repository::reload_all() {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, slot] : slots_) {
      if (slot.is_wanted) names.push_back(name);
    }
  }
  for (const std::string& name : names) load(name, nullptr);
}

// The loading thread alone calls this, so that two loads never meet.
std::optional<std::string> Repository::load_now(const std::string& name) {
  fs::path path;
  int number = 0;
  {
    const std::lock_guard lock(mutex_);
    path = slots_.at(name).path;
    number = slots_.at(name).loads + 1;
  }
  const auto stamp = stamp_of(path);
  LaneRef lane;
  std::optional<std::string> error;
  try {
    ModelOptions options = options_.model;
    const auto listed = options_.warm_up.find(name);
    if (listed != options_.warm_up.end()) options.warm_up = listed->second;
    auto model = std::make_shared<ServedModel>(name, std::to_string(number),
                                               path, options);
    model->warm_up(static_cast<std::size_t>(executors_.count()));
    lane = executors_.open(std::move(model));
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  LaneRef old;
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_.at(name);
  slot.tried = slot.seen = stamp;
  ModelMetrics& metrics = metrics_.of(name);
  if (error) {
    metrics.failed_loads += 1;
    slot.reason = slot.lane == nullptr
                      ? *error
                      : fmt::format(
                            "version {} goes on, as the file cannot be "
                            "loaded: {}",
                            slot.lane->model().version(), *error);
    log("{}: {}", name, slot.reason);
    return slot.reason;
  }
  metrics.loads += 1;
  slot.loads = number;
  // It may have been unloaded meanwhile.
  if (!slot.is_wanted) return std::nullopt;
  old = std::exchange(slot.lane, lane);
  slot.reason.clear();
  const ServedModel& model = lane->model();
  log("{}: version {} from {}{}", name, number, path.string(),
      model.alone_because()
          ? "; requests run one by one: " + *model.alone_because()
          : fmt::format("; up to {} rows run together", model.most_rows()));
  return std::nullopt;
}

void Repository::serve_loads() {
  pthread_setname_np(pthread_self(), "weft-load");
  set_thread_count(executors_.team());
  std::unique_lock lock(mutex_);
  while (true) {
    if (is_ending_) return;
    if (!tasks_.empty()) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    } else if (!options_.watch_every) {
      has_task_.wait(lock);
    } else if (has_task_.wait_for(lock, *options_.watch_every) ==
               std::cv_status::timeout) {
      look_for_changes();
    }
  }
}

// A file that has changed, and has not changed since the last look, is whole.
void Repository::look_for_changes() {
  for (auto& [name, slot] : slots_) {
    if (!slot.is_wanted || !slot.tried) continue;
    const auto now = stamp_of(slot.path);
    const bool is_settled = now && now == slot.seen;
    slot.seen = now;
    if (!is_settled || now == slot.tried) continue;
    tasks_.emplace_back([this, model = name] { load_now(model); });
  }
}

LaneRef Repository::find(const std::string& name,
                         const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto found = slots_.find(name);
  if (found == slots_.end()) throw no_model(name);
  const LaneRef& lane = found->second.lane;
  if (lane == nullptr) {
    throw Refusal(Status::kUnavailable, name, "it is not loaded: {}",
                  found->second.reason);
  }
  if (!version.empty() && version != lane->model().version()) {
    throw Refusal(Status::kNotFound, name,
                  "there is no version {}; version {} is served", version,
                  lane->model().version());
  }
  return lane;
}

std::vector<IndexEntry> Repository::index() const {
  const std::lock_guard lock(mutex_);
  std::vector<IndexEntry> entries;
  for (const auto& [name, slot] : slots_) {
    entries.push_back({name,
                       slot.lane == nullptr ? "" : slot.lane->model().version(),
                       slot.lane != nullptr, slot.reason});
  }
  return entries;
}

bool Repository::is_ready() const {
  const std::lock_guard lock(mutex_);
  return is_open_ && std::ranges::all_of(slots_, [](const auto& each) {
           return !each.second.is_wanted || each.second.lane != nullptr;
         });
}

}  // namespace weft::serve
