#include "weft/compiler/places.h"

#include <algorithm>
#include <limits>
#include <map>

#include "weft/graph/known_ops.h"

namespace weft {

// The order below is that of need: arguments and constants are where they are,
// a donated result has one place that saves a copy, another result has memory
// of the caller, and everything else may be anywhere in the arena.
Places::Places(const Function& function, const std::vector<PlanStep>& steps,
               const Storage& storage, const Donated& donated,
               const CanOverwrite& can_overwrite)
    : function_(function),
      steps_(steps),
      storage_(storage),
      places_(function.value_count()) {
  place_given();
  find_lifetimes();
  place_donated(donated, can_overwrite);
  place_results(donated);
  place_in_arena(can_overwrite);
  find_writers();
}

Place Places::of(ValueId id) const {
  const Storage::Span span = storage_.of(id);
  Place place = places_[at(span.whole)];
  place.offset = span.offset;
  return place;
}

void Places::place_given() {
  for (std::size_t i = 0; i < function_.parameters().size(); ++i) {
    place(function_.parameters()[i]) = {Place::kArgument, i};
  }
  for (const Node& node : function_.nodes()) {
    if (*node.op != known::constant) continue;
    place(node.outputs[0]) = {Place::kConstant, constants_.size()};
    constants_.push_back(node.attributes.get<Tensor>("value"));
  }
}

// A whole lives from the first byte that is written in it to the last that is
// read.
void Places::find_lifetimes() {
  first_.assign(function_.value_count(),
                std::numeric_limits<std::size_t>::max());
  last_.assign(function_.value_count(), 0);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const ValueId id : steps_[i].outputs) {
      const std::size_t whole = at(storage_.of(id).whole);
      first_[whole] = std::min(first_[whole], i);
      last_[whole] = i;
    }
    for (const ValueId id : steps_[i].inputs) {
      last_[at(storage_.of(id).whole)] = i;
    }
  }
}

// Whether `step` may write `output` over all of `input`, which it is the last
// to read. What is a part of something, or made of parts, stays where it is.
bool Places::may_overwrite(std::size_t step, ValueId input, ValueId output,
                           const CanOverwrite& can_overwrite) const {
  const std::vector<ValueId>& inputs = steps_[step].inputs;
  const std::vector<ValueId>& outputs = steps_[step].outputs;
  const auto target = std::find(outputs.begin(), outputs.end(), output);
  if (target == outputs.end() || first_[at(output)] != step) return false;
  std::vector<std::size_t> readers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (storage_.of(inputs[i]).whole != input) continue;
    if (!storage_.is_whole(inputs[i])) return false;
    readers.push_back(i);
  }
  return can_overwrite(step, readers,
                       static_cast<std::size_t>(target - outputs.begin()));
}

// A donated argument becomes the place of its result if nobody reads the old
// value any more when the new one is written.
void Places::place_donated(const Donated& donated,
                           const CanOverwrite& can_overwrite) {
  for (const auto& [parameter, result] : donated) {
    const ValueId old = function_.parameters()[parameter];
    const ValueId value = storage_.of(function_.results()[result]).whole;
    // It is a parameter or a constant, or the result of an earlier pair.
    if (place(value).kind != Place::kNone) continue;
    const std::size_t last = last_[at(old)];
    const std::size_t written = first_[at(value)];
    // A second argument may be donated to a result of the same step.
    if (last < written || (last == written &&
                           may_overwrite(written, old, value, can_overwrite))) {
      place(value) = {Place::kArgument, parameter};
    }
  }
}

// A result is written in place where that is possible, else copied at the end
// of the run. A donated result's place is its argument's, which may still be
// read when the result is computed: such a one waits in the arena.
void Places::place_results(const Donated& donated) {
  std::map<std::size_t, std::size_t> donor;        // result -> argument
  std::map<std::size_t, std::size_t> overwritten;  // argument -> result
  for (const auto& [parameter, result] : donated) {
    donor[result] = parameter;
    overwritten[parameter] = result;
  }
  for (std::size_t j = 0; j < function_.results().size(); ++j) {
    const ValueId value = storage_.of(function_.results()[j]).whole;
    const std::size_t bytes = function_.type(value).bytes();
    Place& current = place(value);
    if (current.kind == Place::kNone && donor.contains(j)) {
      current = {Place::kArena, buffers_.size()};
      // The copy is made when all steps have run, so the buffer lives until
      // then.
      buffers_.push_back({bytes, first_[at(value)], steps_.size()});
    }
    if (current.kind == Place::kNone) {
      current = {Place::kResult, j};
      continue;
    }
    if (function_.is_parameter(value) && overwritten.contains(current.index) &&
        overwritten.at(current.index) != j) {
      throw Error(ErrorCode::kUnsupported, "@" + function_.name(),
                  "the result {} is the parameter '{}', whose memory was "
                  "donated to another result",
                  j, function_.value(value).name)
          .hint("do not donate that parameter");
    }
    copies_.push_back({current, j, bytes});
  }
}

// The operand of a step whose bytes become those of its output `id`, because it
// dies there: its buffer, or nothing.
std::optional<std::size_t> Places::dying_operand(
    std::size_t step, ValueId id, const CanOverwrite& can_overwrite) const {
  for (const ValueId input : steps_[step].inputs) {
    const ValueId source = storage_.of(input).whole;
    const Place& candidate = places_[at(source)];
    if (candidate.kind != Place::kArena) continue;
    const Lifetime& buffer = buffers_[candidate.index];
    const auto is_there = [&](ValueId other) {
      const Place& place = places_[at(other)];
      return place.kind == Place::kArena && place.index == candidate.index;
    };
    const auto& outputs = steps_[step].outputs;
    if (buffer.last == step && buffer.bytes == function_.type(id).bytes() &&
        std::none_of(outputs.begin(), outputs.end(), is_there) &&
        may_overwrite(step, source, id, can_overwrite)) {
      return candidate.index;
    }
  }
  return std::nullopt;
}

void Places::place_in_arena(const CanOverwrite& can_overwrite) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const ValueId id : steps_[i].outputs) {
      // The first part of a whole takes the memory for all of it.
      const ValueId whole = storage_.of(id).whole;
      const std::size_t bytes = function_.type(whole).bytes();
      if (place(whole).kind != Place::kNone) continue;
      unshared_bytes_ += bytes;
      const auto operand =
          whole == id ? dying_operand(i, id, can_overwrite) : std::nullopt;
      if (operand) {
        buffers_[*operand].last = last_[at(whole)];
      } else {
        buffers_.push_back({bytes, i, last_[at(whole)]});
      }
      place(whole) = {Place::kArena, operand.value_or(buffers_.size() - 1)};
    }
  }
  memory_ = plan_memory(buffers_);
}

void Places::find_writers() {
  writers_.assign(function_.results().size(), steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const ValueId id : steps_[i].outputs) {
      const Place to = of(id);
      // Parts of a result may be written by several steps.
      if (to.kind == Place::kResult) writers_[to.index] = i;
    }
  }
}

}  // namespace weft
