// Curves over epochs, steps or time: panels side by side, with axes, and a
// legend below.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "weft/train/picture/canvas.h"

namespace weft {

struct Curve {
  std::vector<Point> points;  // in the units of the axes, x ascending
  Stroke stroke;
};

// What a y axis shows.
enum class AxisRange {
  kFromZero,    // a loss
  kShareToOne,  // a share of what is right
  kAsMeasured,
};

struct Panel {
  std::string title;  // what y is
  AxisRange range = AxisRange::kAsMeasured;
  std::vector<Curve> curves;  // the last one is drawn above the others
};

struct LegendEntry {
  std::string label;
  Stroke stroke;
};

struct Chart {
  std::string title;
  std::string x_label;      // with its unit: "epoch", "time, s"
  bool has_whole_x = true;  // x is counted: ticks stand at whole numbers
  std::vector<Panel> panels;
  std::vector<LegendEntry> legend;
};

PictureSize size_of(const Chart& chart);
void draw(const Chart& chart, Canvas& canvas);

}  // namespace weft
