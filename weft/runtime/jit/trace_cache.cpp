#include "weft/runtime/jit/trace_cache.h"

#include <algorithm>

#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// After so many changes a dim becomes a symbol.
constexpr int kMostChanges = 2;

bool has_symbols(const ArgumentKey& key) {
  const auto places = dim_places(key);
  return std::any_of(places.begin(), places.end(), [&](std::size_t place) {
    return is_symbolic(key.words[place]);
  });
}

// One that the key does not use: the dims of a call inside another function
// may be symbols already.
Dim free_symbol(const ArgumentKey& key) {
  const auto places = dim_places(key);
  for (int i = 0;; ++i) {
    const Dim candidate = symbol(fmt::format("D{}", i));
    const bool is_used = std::any_of(
        places.begin(), places.end(),
        [&](std::size_t place) { return key.words[place] == candidate; });
    if (!is_used) return candidate;
  }
}

// The key with all dims set to zero: equal forms differ in dims alone.
ArgumentKey form_of(const ArgumentKey& key) {
  ArgumentKey form = key;
  for (const std::size_t place : dim_places(key)) form.words[place] = 0;
  return form;
}

}  // namespace

Traced TraceCache::find(const ArgumentKey& key) {
  const std::lock_guard lock(mutex_);
  // Several graphs may have one key, made for other modes.
  const auto [begin, end] = exact_.equal_range(key.hash());
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second->key == key &&
        entry->second->traced.function->is_callable()) {
      return use(entry->second);
    }
  }
  // A key with symbols stands for many, and has no hash by which they would
  // find it. There are few such keys, and most calls have been served by now.
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->has_symbols && entry->traced.function->is_callable() &&
        covers(entry->key, key)) {
      return use(entry);
    }
  }
  return {};
}

Traced TraceCache::use(Entries::iterator entry) {
  // The list is in the order of use, and its end is forgotten first. Iterators
  // into it stay valid.
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->traced;
}

TraceCache::Changes& TraceCache::changes_of(const ArgumentKey& key) {
  const ArgumentKey form = form_of(key);
  for (auto changes = changes_.begin(); changes != changes_.end(); ++changes) {
    if (form_of(changes->last) == form) {
      changes_.splice(changes_.begin(), changes_, changes);
      return changes_.front();
    }
  }
  changes_.push_front({key, {}, false});
  // The list is bounded like the graphs are, or numbers that change at each
  // call would fill memory.
  if (changes_.size() > limit_) changes_.pop_back();
  return changes_.front();
}

ArgumentKey TraceCache::generalise(const ArgumentKey& key) {
  const std::lock_guard lock(mutex_);
  Changes& changes = changes_of(key);
  ArgumentKey general = key;
  std::map<std::int64_t, Dim> symbols;  // equal sizes stay equal
  for (const std::size_t place : dim_places(key)) {
    const std::int64_t dim = key.words[place];
    int& count = changes.count[place];
    if (changes.last.words[place] != dim) ++count;
    if (count < kMostChanges || changes.is_static || is_symbolic(dim)) continue;
    // Two dims that have one size now may not have it next time; but a graph in
    // which they are one symbol is right for this call, and another is traced
    // where they differ.
    const auto known = symbols.find(dim);
    general.words[place] =
        known != symbols.end() ? known->second : free_symbol(general);
    symbols.emplace(dim, general.words[place]);
  }
  changes.last = key;
  return general;
}

void TraceCache::keep_static(const ArgumentKey& key) {
  const std::lock_guard lock(mutex_);
  changes_of(key).is_static = true;
}

void TraceCache::insert(ArgumentKey key, Traced traced) {
  std::string warning;
  {
    const std::lock_guard lock(mutex_);
    erase_useless();
    // It is said once: a program that means it should not be told at each call.
    if (++made_ == warn_after_ && !entries_.empty()) {
      const std::string what = difference(entries_.front().key, key);
      warning = fmt::format(
          "@{} was traced {} times; the last time because {}. Pass numbers "
          "that change as tensors, and say by a signature which dims change",
          traced.function->function().name(), warn_after_,
          what.empty() ? "a layer's mode was changed, or another layer drew "
                         "random numbers in it"
                       : what);
    }
    erase_replaced(key, *traced.function);
    const std::size_t hash = key.hash();
    const bool is_general = has_symbols(key);
    entries_.push_front({std::move(key), is_general, std::move(traced)});
    exact_.emplace(hash, entries_.begin());
    if (entries_.size() > limit_) erase(std::prev(entries_.end()));
  }
  // The lock is free here, as the program's own code is called, which may call
  // the function again.
  if (!warning.empty()) warn_(warning);
}

void TraceCache::erase(Entries::iterator entry) {
  const auto [begin, end] = exact_.equal_range(entry->key.hash());
  for (auto known = begin; known != end; ++known) {
    if (known->second != entry) continue;
    exact_.erase(known);
    break;
  }
  entries_.erase(entry);
}

void TraceCache::erase_useless() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto here = entry++;
    if (here->key.has_dead_objects() ||
        !here->traced.function->has_open_captures()) {
      erase(here);
    }
  }
}

// A function that changes a mode that it reads is found never again.
void TraceCache::erase_replaced(const ArgumentKey& key,
                                const GraphFunction& by) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto here = entry++;
    if (here->key == key &&
        here->traced.function->dependencies() == by.dependencies()) {
      erase(here);
    }
  }
}

std::size_t TraceCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace weft
