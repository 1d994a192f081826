#include "weft/train/sync/shared_model.h"

#include <bit>
#include <charconv>

#include "weft/comm/collective/rooted.h"
#include "weft/train/sync/gather.h"

namespace weft {
namespace {

std::vector<std::size_t> begins_of(std::span<const NamedTensor> trainable) {
  std::vector<std::size_t> begins{0};
  for (const NamedTensor& named : trainable) {
    begins.push_back(begins.back() +
                     static_cast<std::size_t>(named.tensor.size()));
  }
  return begins;
}

std::uintptr_t parse_address(const std::string& text) {
  std::uintptr_t address = 0;
  const auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), address);
  WEFT_CHECK(problem == std::errc() && end == text.data() + text.size());
  return address;
}

}  // namespace

ModelValues model_values(std::span<const NamedTensor> trainable) {
  ModelValues values;
  for (const NamedTensor& named : trainable) {
    values.push_back(named.tensor.span<float>());
  }
  return values;
}

SharedModel::SharedModel(std::span<const NamedTensor> trainable,
                         concurrent::UpdateKind kind)
    : begins_(begins_of(trainable)),
      values_(begins_.back()),
      shared_(values_, kind) {
  write(model_values(trainable));
}

std::unique_lock<concurrent::SpinLock<>> SharedModel::lock() {
  if (shared_.kind() == concurrent::UpdateKind::kLocked) return shared_.lock();
  return {};
}

std::uint64_t SharedModel::read(std::span<const ParameterPart> parts,
                                const ModelValues& view) {
  const auto alone = lock();
  const std::uint64_t updates = updates_->load(std::memory_order_relaxed);
  for (const ParameterPart& part : parts) {
    shared_.read(begins_[part.parameter] + part.begin,
                 part.of(view[part.parameter]));
  }
  return updates;
}

std::uint64_t SharedModel::replace(std::span<const ParameterPart> parts,
                                   const ModelValues& before,
                                   const ModelValues& after) {
  const auto alone = lock();
  concurrent::with_kind(shared_.kind(), [&]<concurrent::UpdateKind kKind>() {
    for (const ParameterPart& part : parts) {
      shared_.template replace<kKind>(begins_[part.parameter] + part.begin,
                                      part.of(before[part.parameter]),
                                      part.of(after[part.parameter]));
    }
  });
  return updates_->fetch_add(1, std::memory_order_relaxed);
}

void SharedModel::write(const ModelValues& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::ranges::copy(
        values[i], values_.begin() + static_cast<std::ptrdiff_t>(begins_[i]));
  }
}

std::shared_ptr<SharedModel> join_shared_model(const SyncContext& context,
                                               concurrent::UpdateKind kind) {
  std::shared_ptr<SharedModel> model;
  if (context.communicator.rank() == 0) {
    model = std::make_shared<SharedModel>(context.trainable, kind);
  }
  std::vector<std::string> addresses;
  const auto run = [&](const std::function<Task<>()>& make) {
    context.network.wait(context.network.submit(make));
  };
  run([&] {
    return gather_texts(
        context.communicator.open({"gather", "the shared model"}),
        fmt::format("{}", std::bit_cast<std::uintptr_t>(&model)), addresses);
  });
  const auto* first = std::bit_cast<const std::shared_ptr<SharedModel>*>(
      parse_address(addresses[0]));
  if (context.communicator.rank() != 0) model = *first;
  // The first rank's pointer must stay until all have it.
  run([&] {
    return barrier(context.communicator.open({"barrier", "the shared model"}));
  });
  return model;
}

std::optional<Refusal> shared_model_declines(const Optimizer& optimizer) {
  constexpr const char* kInstead =
      "optimizer.name = \"sgd\": workers that do not wait for each other act "
      "as momentum by themselves";
  const bool has_slots =
      !optimizer.slots({"weight", {DType::kF32, {2, 2}}}).empty() ||
      !optimizer.shared_slots().empty() || optimizer.has_momentum();
  if (has_slots) {
    return Refusal{"this optimizer",
                   "it remembers something from step to step, which workers "
                   "that add to one model at any moment would tear apart",
                   kInstead};
  }
  if (!optimizer.is_elementwise() || optimizer.sees_all_parameters()) {
    return Refusal{"this optimizer",
                   "what an element becomes depends on others, and workers add "
                   "to them one by one",
                   kInstead};
  }
  return std::nullopt;
}

}  // namespace weft
