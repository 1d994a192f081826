#include "tests/support/attacks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/base/philox.h"

namespace weft::test {
namespace {

constexpr double kReversed = 10;  // times what is right, backwards
constexpr double kNoise = 100;    // deviations
constexpr double kEmpire = 1.1;   // times the mean, taken off it
constexpr int kTrials = 16;       // of the rule, by one who adapts

Gradient mean_of(std::span<const Gradient> gradients) {
  Gradient mean(gradients[0].size(), 0.0f);
  for (const Gradient& each : gradients) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += each[i] / static_cast<float>(gradients.size());
    }
  }
  return mean;
}

// The deviation of each entry over the workers.
Gradient deviation_of(std::span<const Gradient> gradients,
                      const Gradient& mean) {
  Gradient deviation(mean.size(), 0.0f);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double squares = 0;
    for (const Gradient& each : gradients) {
      squares += std::pow(static_cast<double>(each[i] - mean[i]), 2);
    }
    deviation[i] = static_cast<float>(
        std::sqrt(squares / static_cast<double>(gradients.size())));
  }
  return deviation;
}

Gradient sum_of(const Gradient& a, double times, const Gradient& b) {
  Gradient sum = a;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] += static_cast<float>(times * static_cast<double>(b[i]));
  }
  return sum;
}

double squared(const Gradient& a, const Gradient& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  }
  return sum;
}

std::vector<Gradient> all_send(const AttackScene& scene, const Gradient& lie) {
  return std::vector<Gradient>(scene.own.size(), lie);
}

std::vector<Gradient> nothing_wrong(const AttackScene& scene) {
  return {scene.own.begin(), scene.own.end()};
}

std::vector<Gradient> reversed(const AttackScene& scene) {
  std::vector<Gradient> lies = nothing_wrong(scene);
  for (Gradient& each : lies) {
    for (float& value : each) value *= static_cast<float>(-kReversed);
  }
  return lies;
}

Gradient normals(const AttackScene& scene, std::uint32_t stream) {
  const RandomStream random{scene.seed, stream,
                            static_cast<std::uint32_t>(scene.step)};
  Gradient result(scene.right[0].size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto words = random.block(i);
    result[i] = normal_from(words[0], words[1])[0];
  }
  return result;
}

std::vector<Gradient> noise(const AttackScene& scene) {
  const double length = std::sqrt(
      squared(mean_of(scene.right), Gradient(scene.right[0].size(), 0.0f)) /
      static_cast<double>(scene.right[0].size()));
  std::vector<Gradient> lies;
  for (std::size_t liar = 0; liar < scene.own.size(); ++liar) {
    lies.push_back(sum_of(Gradient(scene.right[0].size(), 0.0f),
                          kNoise * length,
                          normals(scene, static_cast<std::uint32_t>(liar))));
  }
  return lies;
}

std::vector<Gradient> no_numbers(const AttackScene& scene) {
  std::vector<Gradient> lies = nothing_wrong(scene);
  for (std::size_t liar = 0; liar < lies.size(); ++liar) {
    const float lie = liar % 2 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                    : std::numeric_limits<float>::infinity();
    for (std::size_t i = liar; i < lies[liar].size(); i += 3) {
      lies[liar][i] = lie;
    }
  }
  return lies;
}

// Xie, Koyejo and Gupta, "Fall of Empires", UAI 2019.
std::vector<Gradient> empire(const AttackScene& scene) {
  const Gradient mean = mean_of(scene.right);
  return all_send(scene, sum_of(mean, -kEmpire, mean));
}

// The share of a normal below which so many right workers are that liars are
// with a majority.
double little_factor(const AttackScene& scene) {
  const auto right = static_cast<double>(scene.right.size());
  const double all = right + static_cast<double>(scene.own.size());
  const double needed =
      std::floor(all / 2 + 1) - static_cast<double>(scene.own.size());
  const double share = (right - needed) / right;
  // The quantile, by halving.
  double low = -6;
  double high = 6;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return low;
}

// Baruch, Baruch and Goldberg, "A Little Is Enough", NeurIPS 2019.
std::vector<Gradient> little(const AttackScene& scene) {
  const Gradient mean = mean_of(scene.right);
  return all_send(scene, sum_of(mean, -little_factor(scene),
                                deviation_of(scene.right, mean)));
}

// The largest factor of a direction, of powers of two, by which the rule is
// moved farthest.
Gradient worst_along(const AttackScene& scene, const Gradient& mean,
                     const Gradient& direction) {
  Gradient worst = mean;
  double most = -1;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Gradient lie = sum_of(mean, std::exp2(trial / 2.0 - 3), direction);
    std::vector<Gradient> all(scene.right.begin(), scene.right.end());
    all.insert(all.end(), scene.own.size(), lie);
    const double moved = squared(scene.rule(all), mean);
    if (!(moved > most)) continue;
    most = moved;
    worst = lie;
  }
  return worst;
}

// El Mhamdi, Guerraoui and Rouault, "The Hidden Vulnerability of Distributed
// Learning in Byzantium", ICML 2018: one entry, as far as the rule goes along.
std::vector<Gradient> hidden(const AttackScene& scene) {
  const Gradient mean = mean_of(scene.right);
  Gradient direction(mean.size(), 0.0f);
  double squares = 0;
  for (const Gradient& each : scene.right) squares += squared(each, mean);
  // A factor of 1 is the distance of a right worker from the mean.
  direction[direction.size() / 2] = static_cast<float>(
      -std::sqrt(squares / static_cast<double>(scene.right.size())));
  return all_send(scene, worst_along(scene, mean, direction));
}

std::vector<Gradient> mute(const AttackScene& scene) {
  return all_send(scene, {});
}

// Gradients of steps that are long over: the same all the time.
std::vector<Gradient> replay(const AttackScene& scene) {
  return {scene.first.begin(), scene.first.end()};
}

// As far from the mean as right workers are, in one direction for ever: no
// single step shows it.
std::vector<Gradient> bias(const AttackScene& scene) {
  const Gradient mean = mean_of(scene.right);
  double squares = 0;
  for (const Gradient& each : scene.right) squares += squared(each, mean);
  AttackScene always = scene;
  always.step = 0;
  const Gradient direction = normals(always, 0);
  const double length =
      std::sqrt(squared(direction, Gradient(mean.size(), 0.0f)));
  return all_send(
      scene,
      sum_of(
          mean,
          std::sqrt(squares / static_cast<double>(scene.right.size())) / length,
          direction));
}

std::vector<Gradient> adaptive(const AttackScene& scene) {
  const Gradient mean = mean_of(scene.right);
  return all_send(
      scene,
      worst_along(scene, mean, sum_of(Gradient(mean.size(), 0.0f), -1, mean)));
}

}  // namespace

const std::vector<Attack>& attacks() {
  static const std::vector<Attack> all{
      {"none", "all send what is right", false, nothing_wrong},
      {"reversed", "10 times what is right, backwards", false, reversed},
      {"noise", "normal numbers, 100 times as large", false, noise},
      {"nan", "what is no number, and infinity", false, no_numbers},
      {"empire", "a tenth of the mean, backwards", false, empire},
      {"little", "the mean less some deviations of each entry", false, little},
      {"hidden", "one entry, as far as the rule goes along", false, hidden},
      {"label_flip", "gradients of wrong labels", true, nothing_wrong},
      {"mute", "nothing", false, mute},
      {"replay", "their first gradients, again and again", false, replay},
      {"bias", "one direction, as far off as right ones are", false, bias},
      {"adaptive", "the mean backwards, as far as moves the rule most", false,
       adaptive}};
  return all;
}

const Attack& attack_of(const std::string& name) {
  const auto found = std::ranges::find(attacks(), name, &Attack::name);
  if (found == attacks().end()) {
    throw Error(ErrorCode::kInvalidArgument, "attack", "'{}' is not known",
                name);
  }
  return *found;
}

}  // namespace weft::test
