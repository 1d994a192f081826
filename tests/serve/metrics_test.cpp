#include "weft/serve/metrics.h"

#include <gtest/gtest.h>
#include <thread>

namespace weft::metrics_test {
namespace {

using serve::Histogram;
using serve::Metrics;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, BucketsOfAHistogramAddUp) {
  Histogram histogram({0.5, 1});
  for (const double value : {0.25, 0.5, 0.75, 4.0}) histogram.observe(value);
  std::string text;
  histogram.write(text, "h", "model=\"m\"");
  EXPECT_EQ(text,
            "h_bucket{model=\"m\",le=\"0.5\"} 2\n"
            "h_bucket{model=\"m\",le=\"1\"} 3\n"
            "h_bucket{model=\"m\",le=\"+Inf\"} 4\n"
            "h_sum{model=\"m\"} 5.5\n"
            "h_count{model=\"m\"} 4\n");
}

TEST(Metrics, SaysWhatWasCounted) {
  Metrics metrics;
  metrics.of("a").requests[0] += 3;
  metrics.of("b").waiting += 2;
  metrics.of("a").rows += 7;
  metrics.http_connections += 1;
  const std::string text = metrics.text();
  EXPECT_TRUE(
      has_line(text, R"(weft_requests_total{model="a",status="ok"} 3)"));
  EXPECT_TRUE(has_line(text, R"(weft_waiting_requests{model="b"} 2)"));
  EXPECT_TRUE(has_line(text, R"(weft_rows_total{model="a"} 7)"));
  EXPECT_TRUE(has_line(text, "weft_http_connections 1"));
  EXPECT_TRUE(has_line(text, "# TYPE weft_queue_seconds histogram"));
}

TEST(Metrics, LabelsAreEscaped) {
  Metrics metrics;
  metrics.of("a\"b\\c\nd").rows += 1;
  EXPECT_TRUE(
      has_line(metrics.text(), R"(weft_rows_total{model="a\"b\\c\nd"} 1)"));
}

TEST(Metrics, NoCountIsLost) {
  Metrics metrics;
  serve::ModelMetrics& model = metrics.of("m");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10000; ++k) model.batch_rows.observe(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(
      has_line(metrics.text(), R"(weft_batch_rows_sum{model="m"} 40000)"));
}

}  // namespace
}  // namespace weft::metrics_test
