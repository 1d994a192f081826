// All ops.
#pragma once

#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/conv.h"
#include "weft/ops/index.h"
#include "weft/ops/loss.h"
#include "weft/ops/matmul.h"
#include "weft/ops/norm.h"
#include "weft/ops/pool.h"
#include "weft/ops/random.h"
#include "weft/ops/recurrent.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/sort.h"
#include "weft/ops/unary.h"
