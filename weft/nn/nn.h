// All layers.
#pragma once

#include "weft/nn/activation.h"
#include "weft/nn/attention.h"
#include "weft/nn/conv2d.h"
#include "weft/nn/dropout.h"
#include "weft/nn/embedding.h"
#include "weft/nn/linear.h"
#include "weft/nn/norm.h"
#include "weft/nn/pool.h"
#include "weft/nn/recurrent.h"
#include "weft/nn/residual.h"
#include "weft/nn/scope.h"
#include "weft/nn/sequential.h"
#include "weft/nn/transformer.h"
#include "weft/nn/tree.h"
