// Loops over small tensors, as C.
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { TRIPS = 100000, FEW = 8, SOME = 100, ROD = 64, STEPS = 20000, MAP = 50, WEIGHTS = 10 };

void affine_8(const float* restrict start, const float* restrict a, const float* restrict b, float* restrict result) {
  float x[FEW];
  memcpy(x, start, sizeof x);
  for (int64_t t = 0; t < TRIPS; ++t)
    for (int64_t i = 0; i < FEW; ++i) x[i] = x[i] * a[i] + b[i];
  memcpy(result, x, sizeof x);
}

void affine_100(const float* restrict start, const float* restrict a, const float* restrict b, float* restrict result) {
  float x[SOME];
  memcpy(x, start, sizeof x);
  for (int64_t t = 0; t < TRIPS; ++t)
    for (int64_t i = 0; i < SOME; ++i) x[i] = x[i] * a[i] + b[i];
  memcpy(result, x, sizeof x);
}

void heat_64(const float* restrict start, float* restrict result) {
  float u[ROD], next[ROD];
  memcpy(u, start, sizeof u);
  for (int64_t t = 0; t < STEPS; ++t) {
    for (int64_t i = 1; i < ROD - 1; ++i) next[i] = u[i] + 0.2f * (u[i + 1] - 2.0f * u[i] + u[i - 1]);
    memcpy(u + 1, next + 1, (ROD - 2) * sizeof(float));
  }
  memcpy(result, u, sizeof u);
}

static void change(const float* u, float* d) {
  d[0] = 10.0f * (u[1] - u[0]);
  d[1] = u[0] * (12.0f - u[2]) - u[1];
  d[2] = u[0] * u[1] - 2.5f * u[2];
}

void lorenz_3(const float* restrict start, float* restrict result) {
  float u[3], v[3], a[3], b[3], c[3], d[3];
  memcpy(u, start, sizeof u);
  for (int64_t t = 0; t < STEPS; ++t) {
    change(u, a);
    for (int i = 0; i < 3; ++i) v[i] = u[i] + 0.005f * a[i];
    change(v, b);
    for (int i = 0; i < 3; ++i) v[i] = u[i] + 0.005f * b[i];
    change(v, c);
    for (int i = 0; i < 3; ++i) v[i] = u[i] + 0.01f * c[i];
    change(v, d);
    for (int i = 0; i < 3; ++i) u[i] = u[i] + (float)(0.01 / 6.0) * (a[i] + 2.0f * b[i] + 2.0f * c[i] + d[i]);
  }
  memcpy(result, u, sizeof u);
}

void logistic_map_50(const float* restrict start, float* restrict result) {
  float x[MAP];
  memcpy(x, start, sizeof x);
  for (int64_t t = 0; t < TRIPS; ++t)
    for (int64_t i = 0; i < MAP; ++i) x[i] = 3.7f * x[i] * (1.0f - x[i]);
  memcpy(result, x, sizeof x);
}

void adam_10(const float* restrict start, const float* restrict goal, float* restrict result) {
  float x[WEIGHTS], m[WEIGHTS] = {0}, v[WEIGHTS] = {0};
  memcpy(x, start, sizeof x);
  for (int64_t t = 0; t < STEPS; ++t)
    for (int64_t i = 0; i < WEIGHTS; ++i) {
      const float g = x[i] - goal[i];
      m[i] = 0.9f * m[i] + 0.1f * g;
      v[i] = 0.999f * v[i] + 0.001f * g * g;
      x[i] = x[i] - 0.01f * m[i] / (sqrtf(v[i]) + 0.0001f);
    }
  memcpy(result, x, sizeof x);
}

void matvec_8(const float* restrict matrix, const float* restrict start, float* restrict result) {
  float x[FEW], next[FEW];
  memcpy(x, start, sizeof x);
  for (int64_t t = 0; t < TRIPS; ++t) {
    for (int64_t i = 0; i < FEW; ++i) {
      float sum = 0;
      for (int64_t k = 0; k < FEW; ++k) sum += matrix[i * FEW + k] * x[k];
      next[i] = 0.2f * sum + 0.5f;
    }
    memcpy(x, next, sizeof x);
  }
  memcpy(result, x, sizeof x);
}
