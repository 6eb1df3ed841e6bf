"""The loops of arrays.c as a user of Numba writes them. Arguments are the arrays in order, then the result; so in the other
files here. Floats are divided as NumPy does, without a test for zero, which would keep loops from being vectorised."""
import numba
import numpy as np

njit = numba.njit(error_model="numpy")
QUARTER = np.float32(0.25)


@njit
def gauss_seidel(start, u):
    u[:] = start
    rows, columns = u.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            u[i, j] = QUARTER * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@njit
def common_subsequence(a, b, d):
    d[:] = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]: d[i, j] = d[i - 1, j - 1] + 1
            else: d[i, j] = max(d[i - 1, j], d[i, j - 1])


@njit
def histogram(x, h):
    h[:] = 0
    for i in range(len(x)): h[x[i]] += 1


@njit
def crc32(x, result):
    table = np.empty(256, np.uint32)
    for i in range(256):
        c = np.uint32(i)
        for _ in range(8):
            if c & np.uint32(1): c = np.uint32(0xedb88320) ^ (c >> np.uint32(1))
            else: c = c >> np.uint32(1)
        table[i] = c
    crc = np.uint32(0xffffffff)
    for i in range(len(x)): crc = table[(crc ^ x[i]) & np.uint32(255)] ^ (crc >> np.uint32(8))
    result[()] = crc ^ np.uint32(0xffffffff)


@njit
def sparse_product(values, columns, starts, x, y):
    for i in range(len(y)):
        total = np.float32(0)
        for k in range(starts[i], starts[i + 1]): total += values[k] * x[columns[k]]
        y[i] = total
