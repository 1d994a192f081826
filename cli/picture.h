// Draws a small image in the terminal.
#pragma once

#include <string>

#include "weft/data/image.h"

namespace weft::cli {

// With `has_colour`, two rows of pixels per line of half blocks in 24-bit
// colour; else one character of a ramp from dark to bright for each pixel,
// doubled in width. Larger images are scaled down to `columns`.
std::string draw_picture(const Image& image, bool has_colour, int columns);

}  // namespace weft::cli
