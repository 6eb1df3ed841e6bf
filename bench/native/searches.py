"""The loops of searches.c for Numba."""
import numba
import numpy as np

njit = numba.njit(error_model="numpy")


@njit
def sieve(start, p):
    p[:] = start
    p[0] = p[1] = False
    i = 2
    while i * i < len(p):
        if p[i]:
            for j in range(i * i, len(p), i): p[j] = False
        i += 1


@njit
def quicksort(x, a):
    a[:] = x
    stack = np.empty(128, np.int64)
    stack[0], stack[1] = 0, len(a) - 1
    top = 2
    while top > 0:
        lo, hi = stack[top - 2], stack[top - 1]
        top -= 2
        while lo < hi:
            pivot = a[(lo + hi) // 2]
            i, j = lo, hi
            while i <= j:
                while a[i] < pivot: i += 1
                while pivot < a[j]: j -= 1
                if i <= j:
                    a[i], a[j] = a[j], a[i]
                    i += 1
                    j -= 1
            if j - lo < hi - i:
                stack[top], stack[top + 1] = i, hi
                hi = j
            else:
                stack[top], stack[top + 1] = lo, j
                lo = i
            top += 2


@njit
def binary_search(sorted_, wanted, places):
    for q in range(len(wanted)):
        key = wanted[q]
        lo, hi = 0, len(sorted_)
        while lo < hi:
            middle = (lo + hi) // 2
            if sorted_[middle] < key: lo = middle + 1
            else: hi = middle
        places[q] = lo


@njit
def find(parent, x):
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@njit
def union_find(a, b, parent):
    for i in range(len(parent)): parent[i] = i
    for e in range(len(a)):
        x, y = find(parent, a[e]), find(parent, b[e])
        if x < y: parent[y] = x
        elif y < x: parent[x] = y


@njit
def breadth_first(starts, targets, far):
    queue = np.empty(len(far), np.int64)
    far[:] = -1
    queue[0] = far[0] = 0
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        for e in range(starts[node], starts[node + 1]):
            neighbour = targets[e]
            if far[neighbour] < 0:
                far[neighbour] = far[node] + 1
                queue[tail] = neighbour
                tail += 1


@njit
def queens(size, count):
    n = size[0]
    at = np.empty(16, np.int64)
    at[0] = -1
    row = ways = 0
    while row >= 0:
        at[row] += 1
        if at[row] >= n:
            row -= 1
            continue
        free = True
        for k in range(row):
            apart = at[row] - at[k]
            if apart == 0 or apart == row - k or apart == k - row:
                free = False
                break
        if free:
            if row == n - 1:
                ways += 1
            else:
                row += 1
                at[row] = -1
    count[0] = ways


@njit
def hash_table(keys, counts):
    size = len(counts)
    table = np.full(size, -1)
    counts[:] = 0
    for i in range(len(keys)):
        key = keys[i]
        at = key * 2654435761 % size
        while table[at] != -1 and table[at] != key: at = (at + 1) % size
        table[at] = key
        counts[at] += 1


@njit
def sink(a, root, end):
    v = a[root]
    while True:
        child = 2 * root + 1
        if child >= end: break
        if child + 1 < end and a[child] < a[child + 1]: child += 1
        if not v < a[child]: break
        a[root] = a[child]
        root = child
    a[root] = v


@njit
def heap_sort(x, a):
    a[:] = x
    n = len(a)
    for root in range(n // 2 - 1, -1, -1): sink(a, root, n)
    for end in range(n - 1, -1, -1):
        a[0], a[end] = a[end], a[0]
        sink(a, 0, end)
