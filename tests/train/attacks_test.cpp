// Rules under each attack there is, in one step.
#include "tests/support/attacks.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/rule_steps.h"

#include "weft/base/philox.h"

namespace weft::attacks_test {
namespace {

using test::Attack;
using test::Gradient;

constexpr int kWorkers = 19;
constexpr int kLiars = 4;
constexpr std::size_t kSize = 400;

// Around 1 in each entry, with a deviation of a half.
std::vector<Gradient> right_ones(std::size_t count, std::uint64_t seed) {
  std::vector<Gradient> result(count, Gradient(kSize));
  for (std::size_t row = 0; row < count; ++row) {
    const RandomStream random{seed, static_cast<std::uint32_t>(row), 0};
    for (std::size_t i = 0; i < kSize; ++i) {
      const auto words = random.block(i);
      result[row][i] = 1 + 0.5f * normal_from(words[0], words[1])[0];
    }
  }
  return result;
}

struct Scene {
  std::vector<Gradient> right = right_ones(kWorkers - kLiars, 1);
  std::vector<Gradient> own = right_ones(kLiars, 2);
  Gradient parameters = Gradient(kSize, 0.0f);

  Gradient combined(const std::string& rule, const Attack& attack) {
    std::vector<Gradient> all = right;
    const auto fresh = [&](std::span<const Gradient> sent) {
      return test::RuleSteps(rule, kWorkers, kSize).mean_of(sent, parameters);
    };
    for (Gradient& lie : attack.lies(
             {.right = right, .own = own, .first = own, .rule = fresh})) {
      all.push_back(std::move(lie));
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(kWorkers));
    return fresh(all);
  }

  // The cosine of the angle to the mean of right workers, and the distance from
  // it over its length.
  std::pair<double, double> cone_of(const Gradient& result) const {
    Gradient mean(kSize, 0.0f);
    for (const Gradient& each : right) {
      for (std::size_t i = 0; i < kSize; ++i) {
        mean[i] += each[i] / static_cast<float>(right.size());
      }
    }
    double product = 0;
    double length = 0;
    double own_length = 0;
    double apart = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      const auto x = static_cast<double>(mean[i]);
      const auto y = static_cast<double>(result[i]);
      product += x * y;
      length += x * x;
      own_length += y * y;
      apart += (x - y) * (x - y);
    }
    return {product / std::sqrt(length * own_length),
            std::sqrt(apart / length)};
  }
};

// Whoever lies, what comes out points where right workers point.
TEST(Attacks, LeaveRobustRulesInACone) {
  Scene scene;
  for (const Attack& attack : test::attacks()) {
    for (const std::string rule :
         {"median", "trimmed_mean(4)", "averaged_median(4)", "phocas(4)",
          "krum(4)", "multi_krum(4)", "bulyan(4)", "byzantine_sgd(v=15)",
          "safeguard"}) {
      // It wants all 4 f + 3.
      if (rule == "bulyan(4)" && attack.name == "mute") continue;
      const auto [cosine, apart] = scene.cone_of(scene.combined(rule, attack));
      EXPECT_GT(cosine, 0.8) << rule << " under " << attack.name;
      EXPECT_LT(apart, 0.75) << rule << " under " << attack.name;
    }
  }
}

// And the mean goes where liars want it.
TEST(Attacks, LeadTheMeanAstray) {
  Scene scene;
  for (const char* name : {"reversed", "noise", "nan", "adaptive", "hidden"}) {
    const auto [cosine, apart] =
        scene.cone_of(scene.combined("mean", test::attack_of(name)));
    EXPECT_FALSE(cosine > 0.8 && apart < 0.75) << name;
  }
  const auto [cosine, apart] =
      scene.cone_of(scene.combined("mean", test::attack_of("none")));
  EXPECT_GT(cosine, 0.99);
  EXPECT_LT(apart, 0.1);
}

}  // namespace
}  // namespace weft::attacks_test
