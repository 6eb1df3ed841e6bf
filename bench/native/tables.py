"""The loops of tables.c for Numba."""
import numba
import numpy as np

njit = numba.njit(error_model="numpy")
MOST = np.iinfo(np.int64).max


@njit
def edit_distance(a, b, row):
    for j in range(len(row)): row[j] = j
    for i in range(1, len(a) + 1):
        diagonal = row[0]
        row[0] = i
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            best = min(min(row[j] + 1, row[j - 1] + 1), diagonal + cost)
            diagonal = row[j]
            row[j] = best


@njit
def matrix_chain(dims, m):
    n = len(m)
    m[:] = 0
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            best = MOST
            for k in range(i, j):
                cost = m[i, k] + m[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
                if cost < best: best = cost
            m[i, j] = best


@njit
def knapsack(weights, values, best):
    best[:] = 0
    for i in range(len(weights)):
        w = weights[i]
        for j in range(len(best) - 1, w - 1, -1): best[j] = max(best[j], best[j - w] + values[i])


@njit
def floyd_warshall(w, d):
    d[:] = w
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n): d[i, j] = min(d[i, j], d[i, k] + d[k, j])


@njit
def kadane(x, result):
    here = best = x[0]
    for i in range(1, len(x)):
        here = max(x[i], here + x[i])
        best = max(best, here)
    result[0] = best


@njit
def word_count(text, counts):
    lines = words = letters = 0
    inside = False
    for i in range(len(text)):
        c = text[i]
        if c == 10: lines += 1
        if c == 32 or c == 10 or c == 9:
            inside = False
        else:
            letters += 1
            if not inside: words += 1
            inside = True
    counts[0], counts[1], counts[2] = lines, words, letters


@njit
def kmp(text, word, result):
    border = np.zeros(len(word), np.int64)
    k = 0
    for i in range(1, len(word)):
        while k > 0 and word[i] != word[k]: k = border[k - 1]
        if word[i] == word[k]: k += 1
        border[i] = k
    count, last = 0, -1
    k = 0
    for i in range(len(text)):
        while k > 0 and text[i] != word[k]: k = border[k - 1]
        if text[i] == word[k]: k += 1
        if k == len(word):
            count += 1
            last = i + 1 - len(word)
            k = border[k - 1]
    result[0], result[1] = count, last


@njit
def run_lengths(x, out):
    out[:] = 0
    at = i = 0
    while i < len(x):
        c = x[i]
        length = 1
        while i + length < len(x) and x[i + length] == c and length < 255: length += 1
        out[at] = c
        out[at + 1] = length
        at += 2
        i += length


@njit
def automaton(text, steps, found, result):
    node = np.int32(0)
    count = 0
    for i in range(len(text)):
        node = steps[node, text[i]]
        count += found[node]
    result[0] = count
