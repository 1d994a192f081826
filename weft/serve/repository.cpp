#include "weft/serve/repository.h"

#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <limits>
#include <pthread.h>

#include "weft/base/parallel.h"
#include "weft/serve/log.h"

namespace weft::serve {
namespace {

namespace fs = std::filesystem;

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

std::pair<Repository::Slots::const_iterator, Repository::Slots::const_iterator>
Repository::slots_of(const std::string& name) const {
  return {slots_.lower_bound({name, 0}),
          slots_.upper_bound({name, std::numeric_limits<int>::max()})};
}

std::vector<Repository::Key> Repository::keys_of(
    const std::string& name) const {
  std::vector<Key> keys;
  const auto [begin, end] = slots_of(name);
  for (auto slot = begin; slot != end; ++slot) keys.push_back(slot->first);
  return keys;
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
    for (const auto& [key, slot] : slots_) {
      if (names.empty() || names.back() != key.first)
        names.push_back(key.first);
    }
    for (const auto& [name, folder] : versions_) {
      if (std::ranges::find(names, name) != names.end()) continue;
      throw Error(ErrorCode::kInvalidArgument, folder.string(),
                  "there is no version of '{}'", name)
          .hint("versions are called 1.weft, 2.weft, …");
    }
  }
  if (names.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}", fmt::join(models, " ")),
                "there are no models")
        .hint("files that weft export wrote, or a folder of them");
  }
  check_warm_up(names);
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

// A name that is mistyped would leave its model without plans.
void Repository::check_warm_up(const std::vector<std::string>& names) const {
  for (const auto& [name, shapes] : options_.warm_up) {
    if (std::ranges::find(names, name) != names.end()) continue;
    if (!folders_.empty()) {
      log("{}: shapes to warm up are given, and there is no such model yet",
          name);
      continue;
    }
    throw Error(ErrorCode::kInvalidArgument, name,
                "shapes to warm up are given, and there is no such model")
        .hint(fmt::format("there are {}", fmt::join(names, ", ")));
  }
}

void Repository::load(const std::string& name, Loaded done) {
  {
    const std::lock_guard lock(mutex_);
    look_for_versions();
    if (keys_of(name).empty()) look_into_folders();
    const std::vector<Key> keys = keys_of(name);
    if (keys.empty()) throw no_model(name);
    for (const Key& key : keys) slots_.at(key).is_wanted = true;
    tasks_.emplace_back([this, keys, done = std::move(done)] {
      std::optional<std::string> error;
      for (const Key& key : keys) {
        auto found = load_now(key);
        if (!error) error = std::move(found);
      }
      if (done) done(std::move(error));
    });
  }
  has_task_.notify_one();
}

void Repository::unload(const std::string& name) {
  std::vector<LaneRef> old;  // freed when nobody holds the lock any more
  const std::lock_guard lock(mutex_);
  const std::vector<Key> keys = keys_of(name);
  if (keys.empty()) throw no_model(name);
  for (const Key& key : keys) {
    Slot& slot = slots_.at(key);
    old.push_back(std::exchange(slot.lane, nullptr));
    slot.is_wanted = false;
    slot.reason = kUnloaded;
  }
}

void Repository::reload_all() {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, slot] : slots_) {
      if (slot.is_wanted && (names.empty() || names.back() != key.first))
        names.push_back(key.first);
    }
  }
  for (const std::string& name : names) load(name, nullptr);
}

// The loading thread alone calls this, so that two loads never meet.
std::optional<std::string> Repository::load_now(const Key& key) {
  const auto& [name, version] = key;
  fs::path path;
  int number = version;
  {
    const std::lock_guard lock(mutex_);
    const auto found = slots_.find(key);
    // A load before this one may have let the version go.
    if (found == slots_.end()) return std::nullopt;
    path = found->second.path;
    if (version == 0) number = found->second.loads + 1;
  }
  // The stamp is older than what is read: a file that is written meanwhile
  // looks changed afterwards, and is loaded again.
  const auto stamp = stamp_of(path);
  LaneRef lane;
  std::optional<std::string> error;
  try {
    ModelOptions options = options_.model;
    const auto listed = options_.warm_up.find(name);
    if (listed != options_.warm_up.end()) options.warm_up = listed->second;
    auto model = std::make_shared<ServedModel>(name, std::to_string(number),
                                               path, options);
    // No request is the first, which would wait for plans.
    model->warm_up(static_cast<std::size_t>(executors_.count()));
    lane = executors_.open(std::move(model));
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  LaneRef old;  // freed as in unload()
  const std::lock_guard lock(mutex_);
  if (error && !stamp && is_one_of_several(key)) {
    old = slots_.extract(key).mapped().lane;
    log("{}: version {} goes, as its file has", name, number);
    return std::nullopt;
  }
  Slot& slot = slots_.at(key);
  slot.seen = stamp;
  // Where there was no file, any file is another one.
  slot.tried = stamp.value_or(Stamp{});
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
  look_for_versions();
  for (auto& [key, slot] : slots_) {
    if (!slot.is_wanted || !slot.tried) continue;
    const auto now = stamp_of(slot.path);
    const bool is_settled = now && now == slot.seen;
    slot.seen = now;
    if (!is_settled || now == slot.tried) continue;
    tasks_.emplace_back([this, file = key] { load_now(file); });
  }
}

LaneRef Repository::find(const std::string& name,
                         const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = slots_of(name);
  if (begin == end) throw no_model(name);
  LaneRef newest;
  std::string served;
  for (auto slot = begin; slot != end; ++slot) {
    const LaneRef& lane = slot->second.lane;
    if (lane == nullptr) continue;
    if (version == lane->model().version()) return lane;
    newest = lane;
    served += (served.empty() ? "" : ", ") + lane->model().version();
  }
  if (newest == nullptr) {
    throw Refusal(Status::kUnavailable, name, "it is not loaded: {}",
                  begin->second.reason);
  }
  if (!version.empty()) {
    throw Refusal(Status::kNotFound, name,
                  "there is no version {}; version {} is served", version,
                  served);
  }
  return newest;
}

std::vector<std::string> Repository::versions(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> loaded;
  const auto [begin, end] = slots_of(name);
  for (auto slot = begin; slot != end; ++slot) {
    const LaneRef& lane = slot->second.lane;
    if (lane != nullptr) loaded.push_back(lane->model().version());
  }
  return loaded;
}

std::vector<IndexEntry> Repository::index() const {
  const std::lock_guard lock(mutex_);
  std::vector<IndexEntry> entries;
  for (const auto& [key, slot] : slots_) {
    const auto& [name, number] = key;
    std::string version = number == 0 ? "" : std::to_string(number);
    if (slot.lane != nullptr) version = slot.lane->model().version();
    entries.push_back(
        {name, std::move(version), slot.lane != nullptr, slot.reason});
  }
  return entries;
}

bool Repository::is_ready() const {
  const std::lock_guard lock(mutex_);
  // A version that cannot be loaded leaves the others of its model.
  std::map<std::string, bool> is_served;
  for (const auto& [key, slot] : slots_) {
    is_served[key.first] |= slot.lane != nullptr || !slot.is_wanted;
  }
  return is_open_ && std::ranges::all_of(is_served, [](const auto& each) {
           return each.second;
         });
}

}  // namespace weft::serve
