// Loops over numbers: number theory, random numbers, linear algebra, grids.
#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
  STARTS = 100000,
  PAIRS = 200000,
  DRAWS = 1000000,
  HEIGHT = 120,
  WIDTH = 160,
  STEPS = 200,
  ROWS = 192,
  INNER = 256,
  COLUMNS = 320,
  SIDE = 200,
  LINE = 500000,
  PLATE = 300,
};

void collatz(const int64_t* restrict starts, int64_t* restrict steps) {
  for (int64_t i = 0; i < STARTS; ++i) {
    int64_t n = starts[i], count = 0;
    while (n > 1) {
      n = n % 2 == 0 ? n / 2 : 3 * n + 1;
      ++count;
    }
    steps[i] = count;
  }
}

void gcd(const int64_t* restrict a, const int64_t* restrict b, int64_t* restrict result) {
  for (int64_t i = 0; i < PAIRS; ++i) {
    int64_t x = a[i], y = b[i];
    while (y != 0) {
      int64_t r = x % y;
      x = y;
      y = r;
    }
    result[i] = x;
  }
}

void xorshift(const uint64_t* restrict seed, int64_t* restrict result) {
  uint64_t s = *seed;
  int64_t inside = 0;
  for (int64_t i = 0; i < DRAWS; ++i) {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    double x = (double)(s & 4294967295u) / 4294967296.0, y = (double)(s >> 32) / 4294967296.0;
    if (x * x + y * y < 1.0) ++inside;
  }
  *result = inside;
}

void mandelbrot(const double* restrict corner, int64_t* restrict counts) {
  for (int64_t i = 0; i < HEIGHT; ++i)
    for (int64_t j = 0; j < WIDTH; ++j) {
      double cx = corner[0] + (double)j / 160.0 * 3.0, cy = corner[1] + (double)i / 120.0 * 2.0, x = 0, y = 0;
      int64_t n = 0;
      while (n < STEPS && x * x + y * y <= 4.0) {
        double next = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = next;
        ++n;
      }
      counts[i * WIDTH + j] = n;
    }
}

void mandelbrot_while(const double* restrict corner, int64_t* restrict counts) { mandelbrot(corner, counts); }

void product_ijk(const float* restrict a, const float* restrict b, float* restrict c) {
  for (int64_t i = 0; i < ROWS; ++i)
    for (int64_t j = 0; j < COLUMNS; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < INNER; ++k) sum += a[i * INNER + k] * b[k * COLUMNS + j];
      c[i * COLUMNS + j] = sum;
    }
}

void product_ikj(const float* restrict a, const float* restrict b, float* restrict c) {
  memset(c, 0, sizeof(float) * ROWS * COLUMNS);
  for (int64_t i = 0; i < ROWS; ++i)
    for (int64_t k = 0; k < INNER; ++k)
      for (int64_t j = 0; j < COLUMNS; ++j) c[i * COLUMNS + j] += a[i * INNER + k] * b[k * COLUMNS + j];
}

void lu(const double* restrict start, double* restrict a) {
  memcpy(a, start, sizeof(double) * SIDE * SIDE);
  for (int64_t k = 0; k < SIDE; ++k)
    for (int64_t i = k + 1; i < SIDE; ++i) {
      double factor = a[i * SIDE + k] /= a[k * SIDE + k];
      for (int64_t j = k + 1; j < SIDE; ++j) a[i * SIDE + j] -= factor * a[k * SIDE + j];
    }
}

void gaussian_elimination(const double* restrict start, double* restrict x) {
  enum { M = SIDE + 1 };
  static double a[SIDE * M];
  memcpy(a, start, sizeof a);
  for (int64_t k = 0; k < SIDE; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < SIDE; ++i)
      if (fabs(a[i * M + k]) > fabs(a[pivot * M + k])) pivot = i;
    if (pivot != k)
      for (int64_t j = k; j < M; ++j) {
        double t = a[k * M + j];
        a[k * M + j] = a[pivot * M + j];
        a[pivot * M + j] = t;
      }
    for (int64_t i = k + 1; i < SIDE; ++i) {
      double factor = a[i * M + k] / a[k * M + k];
      for (int64_t j = k; j < M; ++j) a[i * M + j] -= factor * a[k * M + j];
    }
  }
  for (int64_t i = SIDE - 1; i >= 0; --i) {
    double sum = a[i * M + SIDE];
    for (int64_t j = i + 1; j < SIDE; ++j) sum -= a[i * M + j] * x[j];
    x[i] = sum / a[i * M + i];
  }
}

void tridiagonal(const double* restrict a, const double* restrict b, const double* restrict c, const double* restrict d,
                 double* restrict x) {
  static double upper[LINE];
  upper[0] = c[0] / b[0];
  x[0] = d[0] / b[0];
  for (int64_t i = 1; i < LINE; ++i) {
    double m = b[i] - a[i] * upper[i - 1];
    upper[i] = c[i] / m;
    x[i] = (d[i] - a[i] * x[i - 1]) / m;
  }
  for (int64_t i = LINE - 2; i >= 0; --i) x[i] -= upper[i] * x[i + 1];
}

void jacobi(const float* restrict start, float* restrict u) {
  static float v[PLATE * PLATE];
  memcpy(u, start, sizeof v);
  memcpy(v, start, sizeof v);
  for (int t = 0; t < 10; ++t) {
    for (int64_t i = 1; i < PLATE - 1; ++i)
      for (int64_t j = 1; j < PLATE - 1; ++j)
        v[i * PLATE + j] =
            0.25f * (u[(i - 1) * PLATE + j] + u[(i + 1) * PLATE + j] + u[i * PLATE + j - 1] + u[i * PLATE + j + 1]);
    for (int64_t i = 1; i < PLATE - 1; ++i)
      for (int64_t j = 1; j < PLATE - 1; ++j) u[i * PLATE + j] = v[i * PLATE + j];
  }
}

void fft(const double* restrict xr, const double* restrict xi, const double* restrict cosines,
         const double* restrict sines, double* restrict out) {
  enum { N = 16384 };
  double* restrict r = out, * restrict im = out + N;
  memcpy(r, xr, sizeof(double) * N);
  memcpy(im, xi, sizeof(double) * N);
  for (int64_t size = 2; size <= N; size *= 2) {
    int64_t half = size / 2, step = N / size;
    for (int64_t start = 0; start < N; start += size)
      for (int64_t k = 0; k < half; ++k) {
        double c = cosines[k * step], s = sines[k * step];
        double tr = r[start + k + half] * c - im[start + k + half] * s;
        double ti = r[start + k + half] * s + im[start + k + half] * c;
        r[start + k + half] = r[start + k] - tr;
        im[start + k + half] = im[start + k] - ti;
        r[start + k] += tr;
        im[start + k] += ti;
      }
  }
}
