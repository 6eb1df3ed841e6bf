// Private to the table of derivatives: the rules that stand in files of their own.
#pragma once
#include "transforms/Tangents.h"

namespace tenc::transforms::rules {

// Reductions and scans (TangentsReduce.cpp).
void prod(TangentCall& c);
void extremum(TangentCall& c);
void cumulate(TangentCall& c);
void softmax(TangentCall& c);
void logSoftmax(TangentCall& c);
void logSumExp(TangentCall& c);
void layerNorm(TangentCall& c);
void variance(TangentCall& c);

// Products (TangentsProduct.cpp).
void bilinear(TangentCall& c);

// Attention (TangentsAttention.cpp).
void attention(TangentCall& c);

// Indices, order (TangentsIndexed.cpp).
void scatter(TangentCall& c);
void sort(TangentCall& c);
void topK(TangentCall& c);

// Linear algebra (TangentsLinear.cpp).
void inverse(TangentCall& c);
void solve(TangentCall& c);
void solveTriangular(TangentCall& c);
void cholesky(TangentCall& c);
void pivots(TangentCall& c);
void qr(TangentCall& c);
void eigh(TangentCall& c);
void svd(TangentCall& c);
void singularValues(TangentCall& c);
void lstsq(TangentCall& c);

}  // namespace tenc::transforms::rules
