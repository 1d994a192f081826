#include "weft/validation/value_counts.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"

namespace weft::validation {

bool ValueCounts::insert(std::size_t place, std::uint64_t hash,
                         std::string_view text, bool is_string, double weight) {
  if (size() == capacity_) return false;
  // A value that gave way leaves its memory to the next one.
  std::size_t at = values_.size();
  if (free_.empty()) {
    values_.emplace_back();
  } else {
    at = free_.back();
    free_.pop_back();
  }
  Kept& value = values_[at];
  value.weight = weight;
  value.text.assign(text.substr(0, kMostKeptBytes));
  value.bytes = text.size();
  value.is_string = is_string;
  slots_[place] = {hash, 1, at};
  // Half of the slots stay empty, so that searches are short.
  if (2 * size() > slots_.size()) grow_slots();
  return true;
}

std::vector<ValueCount> ValueCounts::values() const {
  std::vector<ValueCount> values;
  values.reserve(size());
  for (const Slot& slot : slots_) {
    if (slot.hash == 0) continue;
    const Kept& value = values_[slot.value];
    values.push_back({.hash = slot.hash,
                      .count = slot.count,
                      .weight = value.weight,
                      .text = value.text,
                      .bytes = value.bytes,
                      .is_string = value.is_string});
  }
  std::ranges::sort(values, {}, &ValueCount::hash);
  return values;
}

void ValueCounts::grow_slots() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.hash != 0) put(slot);
  }
}

void ValueCounts::put(const Slot& slot) {
  std::size_t place = slot.hash & mask_;
  while (slots_[place].hash != 0) place = (place + 1) & mask_;
  slots_[place] = slot;
}

void ValueCounts::rebuild(std::vector<ValueCount> all) {
  std::size_t slots = kFirstSlots;
  while (slots < 2 * all.size()) slots *= 2;
  slots_.assign(std::max(slots, slots_.size()), Slot());
  mask_ = slots_.size() - 1;
  free_.clear();
  values_.clear();
  for (ValueCount& value : all) {
    put({value.hash, value.count, values_.size()});
    values_.push_back(
        {std::move(value.text), value.weight, value.bytes, value.is_string});
  }
}

// Takes the median count from all, and forgets what has none left.
void ValueCounts::make_room() {
  std::vector<std::uint64_t> counts;
  counts.reserve(size());
  for (const Slot& slot : slots_) {
    if (slot.hash != 0) counts.push_back(slot.count);
  }
  const auto middle =
      counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  const std::uint64_t less = *middle;
  error_ += less;
  std::vector<Slot> old(slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.hash == 0) continue;
    if (slot.count <= less) {
      free_.push_back(slot.value);
    } else {
      put({slot.hash, slot.count - less, slot.value});
    }
  }
}

const ValueCounts::Slot* ValueCounts::find(std::uint64_t hash) const {
  for (std::size_t place = hash & mask_; slots_[place].hash != 0;
       place = (place + 1) & mask_) {
    if (slots_[place].hash == hash) return &slots_[place];
  }
  return nullptr;
}

bool ValueCounts::merge(const ValueCounts& other) {
  std::size_t more = 0;
  for (const Slot& slot : other.slots_) {
    if (slot.hash != 0 && find(slot.hash) == nullptr) ++more;
  }
  if (size() + more > capacity_) return false;
  merge_frequent(other);
  return true;
}

void ValueCounts::merge_frequent(const ValueCounts& other) {
  // Both in the order of hashes, so that a + b is b + a.
  const std::vector<ValueCount> ours = values();
  const std::vector<ValueCount> theirs = other.values();
  std::vector<ValueCount> all;
  for (std::size_t a = 0, b = 0; a < ours.size() || b < theirs.size();) {
    const bool is_ours = b == theirs.size() ||
                         (a < ours.size() && ours[a].hash <= theirs[b].hash);
    const bool is_theirs = a == ours.size() || (b < theirs.size() &&
                                                theirs[b].hash <= ours[a].hash);
    all.push_back(is_ours ? ours[a] : theirs[b]);
    if (is_ours && is_theirs) {
      all.back().count += theirs[b].count;
      all.back().weight += theirs[b].weight;
    }
    if (is_ours) ++a;
    if (is_theirs) ++b;
  }
  error_ += other.error_;
  capacity_ = std::max(capacity_, other.capacity_);
  // The count behind the last one that finds room is what all lose (Agarwal et
  // al., section 3.2).
  if (all.size() > capacity_) {
    std::vector<std::uint64_t> counts;
    for (const ValueCount& value : all) counts.push_back(value.count);
    std::ranges::nth_element(
        counts, counts.begin() + static_cast<std::ptrdiff_t>(capacity_),
        std::greater<>());
    const std::uint64_t less = counts[capacity_];
    error_ += less;
    std::erase_if(all, [&](const ValueCount& v) { return v.count <= less; });
    for (ValueCount& value : all) value.count -= less;
  }
  rebuild(std::move(all));
}

void ValueCounts::write(StateWriter& out) const {
  out.number<std::uint64_t>(capacity_);
  out.number(error_);
  const std::vector<ValueCount> all = values();
  out.number<std::uint64_t>(all.size());
  for (const ValueCount& value : all) {
    out.number(value.hash);
    out.number(value.count);
    out.number(value.weight);
    out.text(value.text);
    out.number(value.bytes);
    out.number(value.is_string);
  }
}

ValueCounts ValueCounts::read(StateReader& in) {
  ValueCounts counts(in.number<std::uint64_t>());
  counts.error_ = in.number<std::uint64_t>();
  std::vector<ValueCount> all(in.count(41));
  std::uint64_t before = 0;
  for (ValueCount& value : all) {
    value.hash = in.number<std::uint64_t>();
    value.count = in.number<std::uint64_t>();
    value.weight = in.number<double>();
    value.text = in.text();
    value.bytes = in.number<std::uint64_t>();
    value.is_string = in.number<std::uint8_t>() != 0;
    if (value.hash <= before || value.count == 0)
      in.fail("a table is unsorted");
    before = value.hash;
  }
  if (all.size() > counts.capacity_) in.fail("a table is too full");
  counts.rebuild(std::move(all));
  return counts;
}

}  // namespace weft::validation
