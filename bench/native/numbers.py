"""The loops of numbers.c for Numba."""
import numba
import numpy as np

njit = numba.njit(error_model="numpy")
QUARTER = np.float32(0.25)
LOW_HALF = np.uint64(4294967295)


@njit
def collatz(starts, steps):
    for i in range(len(starts)):
        n = starts[i]
        count = 0
        while n > 1:
            if n % 2 == 0: n //= 2
            else: n = 3 * n + 1
            count += 1
        steps[i] = count


@njit
def gcd(a, b, result):
    for i in range(len(a)):
        x, y = a[i], b[i]
        while y != 0: x, y = y, x % y
        result[i] = x


@njit
def xorshift(seed, result):
    s = seed[0]
    inside = 0
    for _ in range(1000000):
        s ^= s << np.uint64(13)
        s ^= s >> np.uint64(7)
        s ^= s << np.uint64(17)
        x = (s & LOW_HALF) / 4294967296.0
        y = (s >> np.uint64(32)) / 4294967296.0
        if x * x + y * y < 1.0: inside += 1
    result[0] = inside


@njit
def mandelbrot(corner, counts):
    height, width = counts.shape
    for i in range(height):
        for j in range(width):
            cx = corner[0] + j / 160.0 * 3.0
            cy = corner[1] + i / 120.0 * 2.0
            x = y = 0.0
            n = 0
            for _ in range(200):
                if x * x + y * y > 4.0: break
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                n += 1
            counts[i, j] = n


@njit
def mandelbrot_while(corner, counts):
    height, width = counts.shape
    for i in range(height):
        for j in range(width):
            cx = corner[0] + j / 160.0 * 3.0
            cy = corner[1] + i / 120.0 * 2.0
            x = y = 0.0
            n = 0
            while n < 200 and x * x + y * y <= 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                n += 1
            counts[i, j] = n


@njit
def product_ijk(a, b, c):
    rows, inner = a.shape
    for i in range(rows):
        for j in range(b.shape[1]):
            total = np.float32(0)
            for k in range(inner): total += a[i, k] * b[k, j]
            c[i, j] = total


@njit
def product_ikj(a, b, c):
    rows, inner = a.shape
    c[:] = 0
    for i in range(rows):
        for k in range(inner):
            for j in range(b.shape[1]): c[i, j] += a[i, k] * b[k, j]


@njit
def lu(start, a):
    a[:] = start
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            factor = a[i, k]
            for j in range(k + 1, n): a[i, j] -= factor * a[k, j]


@njit
def gaussian_elimination(start, x):
    a = start.copy()
    n, m = a.shape
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]): pivot = i
        if pivot != k:
            for j in range(k, m): a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k, m): a[i, j] -= factor * a[k, j]
    for i in range(n - 1, -1, -1):
        total = a[i, n]
        for j in range(i + 1, n): total -= a[i, j] * x[j]
        x[i] = total / a[i, i]


@njit
def tridiagonal(a, b, c, d, x):
    n = len(x)
    upper = np.empty(n)
    upper[0] = c[0] / b[0]
    x[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * upper[i - 1]
        upper[i] = c[i] / m
        x[i] = (d[i] - a[i] * x[i - 1]) / m
    for i in range(n - 2, -1, -1): x[i] -= upper[i] * x[i + 1]


@njit
def jacobi(start, u):
    u[:] = start
    v = start.copy()
    rows, columns = u.shape
    for _ in range(10):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                v[i, j] = QUARTER * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, rows - 1):
            for j in range(1, columns - 1): u[i, j] = v[i, j]
