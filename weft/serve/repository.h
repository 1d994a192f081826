// The models of a server by name: loading them, replacing them while requests
// run, and finding the version that is asked for.
//
// A new version is read, warmed up, and only then takes the place of the old
// one, whose queue runs dry meanwhile: no request is dropped. A file that
// cannot be loaded leaves the old version in its place, and the index says why.
//
// Loading happens on one thread, beside the executors: while a model is
// planned, the process computes on as many threads more as one executor has.
//
// Threads: thread-safe. Callbacks come on the loading thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weft/serve/executors.h"

namespace weft::serve {

struct RepositoryOptions {
  ModelOptions model = {};
  // What is warmed up of single models, instead of what `model` says.
  std::map<std::string, std::vector<NamedSizes>> warm_up = {};
  // How often files are looked at; none: they are not.
  std::optional<Duration> watch_every = {};
};

// A line of the repository's index.
struct IndexEntry {
  std::string name;
  std::string version;  // empty while none is loaded, unless its file says it
  bool is_ready = false;
  std::string reason;  // why it is not ready, or why a newer file is not served
};

class Repository {
 public:
  Repository(RepositoryOptions options, Executors& executors, Metrics& metrics);
  ~Repository();

  // Declares models: "digits.weft", "digits=path/to/file.weft", or a folder of
  // *.weft files, which is looked at again when a name is not known; and
  // "digits=path/to/folder", where "3.weft" is version 3 of the model, beside
  // the others there. Loads what is there and starts watching. Throws
  // Error(kInvalidArgument) for a name that is there twice or cannot stand in
  // an address, and for shapes to warm up of a model that is not there, unless
  // it may come to a folder; and what loading throws.
  void open(const std::vector<std::string>& models);

  // Loads a model with all its versions, or its files as they are now: a
  // version whose file is gone goes, unless it is the last. `done` gets
  // nothing, or why one is not served, or its content before goes on. Throws
  // Refusal(kNotFound) for a name without a file.
  using Loaded = std::function<void(std::optional<std::string> error)>;
  void load(const std::string& name, Loaded done);
  // What waits in its queue is still answered. Throws Refusal(kNotFound).
  void unload(const std::string& name);
  // Loads all that are loaded anew.
  void reload_all();
  // Ends with the load that is under way: no callback comes afterwards.
  void end();

  // Throws Refusal(kNotFound) for another name or version than there is, and
  // Refusal(kUnavailable) for a model that is not loaded. An empty version is
  // the newest that is loaded.
  LaneRef find(const std::string& name, const std::string& version) const;
  // The versions of a model that are loaded, the newest last.
  std::vector<std::string> versions(const std::string& name) const;
  // An entry for each file, the newest version of a model last.
  std::vector<IndexEntry> index() const;
  // Whether every model that was not unloaded is loaded; not before open() is
  // done.
  bool is_ready() const;

 private:
  // What tells one content of a file from another.
  struct Stamp {
    std::filesystem::file_time_type time = {};
    std::uintmax_t size = 0;
    bool operator==(const Stamp&) const = default;
  };
  // The model of a file, and the version that the file is called by; 0: loads
  // are counted.
  using Key = std::pair<std::string, int>;
  struct Slot {
    std::filesystem::path path;
    LaneRef lane;  // null while none is loaded
    int loads = 0;
    bool is_wanted = true;
    std::string reason = {};
    std::optional<Stamp> tried =
        {};                          // the file that was loaded last, or failed
    std::optional<Stamp> seen = {};  // when it was looked at last
  };

  static std::optional<Stamp> stamp_of(const std::filesystem::path& path);
  using Slots = std::map<Key, Slot>;

  void declare(const std::string& name, const std::filesystem::path& path);
  // Why a model that was let go is not ready.
  static constexpr const char* kUnloaded = "unloaded";
  bool is_unloaded(const std::string& name) const;
  // Whether another version of the model has a file.
  bool is_one_of_several(const Key& key) const;
  // What was not there before is added to the slots.
  void look_into_folders();
  void look_for_versions();
  void check_warm_up(const std::vector<std::string>& names) const;
  // Those of a model, which may be none.
  std::pair<Slots::const_iterator, Slots::const_iterator> slots_of(
      const std::string& name) const;
  std::vector<Key> keys_of(const std::string& name) const;
  std::optional<std::string> load_now(const Key& key);
  void serve_loads();
  void look_for_changes();

  RepositoryOptions options_;
  Executors& executors_;
  Metrics& metrics_;
  mutable std::mutex mutex_;
  Slots slots_;
  std::vector<std::filesystem::path> folders_;             // of models
  std::map<std::string, std::filesystem::path> versions_;  // by model, folders
  std::condition_variable has_task_;
  std::deque<std::function<void()>> tasks_;
  bool is_open_ = false;
  bool is_ending_ = false;
  std::thread loader_;  // last: it uses the others
};

}  // namespace weft::serve
