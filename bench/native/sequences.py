"""The loops of sequences.c for Numba."""
import numba
import numpy as np

njit = numba.njit(error_model="numpy")


@njit
def convolution(x, taps, y):
    for i in range(len(y)):
        total = np.float32(0)
        for k in range(16): total += x[i + k] * taps[k]
        y[i] = total


@njit
def bit_counts(x, result):
    count = 0
    for i in range(len(x)):
        bits = x[i]
        while bits != 0:
            bits &= bits - 1
            count += 1
    result[0] = count


@njit
def trapped_rain(h, result):
    left, right = 0, len(h) - 1
    left_most = right_most = water = 0
    while left < right:
        if h[left] < h[right]:
            if h[left] >= left_most: left_most = h[left]
            else: water += left_most - h[left]
            left += 1
        else:
            if h[right] >= right_most: right_most = h[right]
            else: water += right_most - h[right]
            right -= 1
    result[0] = water


@njit
def selection_sort(x, r):
    r[:] = x
    for i in range(len(r)):
        least = i
        for j in range(i + 1, len(r)):
            if r[j] < r[least]: least = j
        r[i], r[least] = r[least], r[i]


@njit
def insertion_sort(x, r):
    r[:] = x
    for i in range(1, len(r)):
        v = r[i]
        j = i - 1
        while j >= 0 and r[j] > v:
            r[j + 1] = r[j]
            j -= 1
        r[j + 1] = v


@njit
def sliding_maximum(x, out):
    queue = np.empty(len(x), np.int64)
    head = tail = 0
    for i in range(len(x)):
        while tail > head and x[queue[tail - 1]] <= x[i]: tail -= 1
        queue[tail] = i
        tail += 1
        if queue[head] <= i - 50: head += 1
        out[i] = x[queue[head]]


@njit
def coin_change(coins, ways):
    ways[:] = 0
    ways[0] = 1
    for k in range(len(coins)):
        for v in range(coins[k], len(ways)): ways[v] = (ways[v] + ways[v - coins[k]]) % 1000000007
