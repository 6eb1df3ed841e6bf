"""Peers of the workloads that differentiate: steps of training, gradients of layers and of programs, and the problems of
ADBench (Srajer, Kukelova and Fitzgibbon 2018) at its smallest sizes, remade from a generator."""
import numpy as np


def define(workloads, Workload):
    import jax, jax.numpy as jnp, torch, torch.nn.functional as F

    f32 = np.float32
    normal = lambda *s, scale=1.0: (lambda r: (r.standard_normal(s) * scale).astype(f32))
    classes = lambda n, *s: (lambda r: r.integers(0, n, s))
    several = lambda *makers: (lambda r: [m(r) for m in makers])

    def torch_gradient(loss, n, update):
        """(loss, gradients or what `update` makes of them) by the first n arguments."""
        def run(*a):
            p = [t.detach().requires_grad_() for t in a[:n]]
            value = loss(*p, *a[n:])
            g = torch.autograd.grad(value, p)
            with torch.no_grad(): return (value.detach(), *(update(a, g) if update else g))
        return run
    def gradient(name, inputs, t_loss, j_loss, n, roundings, update=None, compiled=None, **more):
        """A row: the loss and its gradients by the first n inputs, or what `update(inputs, gradients)` makes of them."""
        def j_run(*a):
            value, g = jax.value_and_grad(j_loss, argnums=tuple(range(n)))(*a)
            return (value, *(update(a, g) if update else g))
        def c_run(lib):
            return torch_gradient(compiled(lib) if compiled else lib.compile(t_loss), n, lib.compile(update) if update else None)
        workloads[name] = Workload(inputs, torch_gradient(t_loss, n, update), j_run, roundings, c_run, trains=True, **more)

    def j_cross_entropy(logits, y): return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1).mean()
    def sgd(n): return lambda a, g: [p - 0.01 * d for p, d in zip(a[:n], g)]
    def adam(n, steps=10):
        """Step 11 of Adam; the moments follow the parameters and the data, means before squares."""
        def update(a, g):
            sqrt = torch.sqrt if isinstance(a[0], torch.Tensor) else jnp.sqrt
            means = [0.9 * m + 0.1 * d for m, d in zip(a[-2 * n:-n], g)]
            squares = [0.999 * v + 0.001 * d * d for v, d in zip(a[-n:], g)]
            by, root = 1e-3 / (1 - 0.9 ** (steps + 1)), (1 - 0.999 ** (steps + 1)) ** 0.5
            return [*[p - by * m / (sqrt(v) / root + 1e-8) for p, m, v in zip(a[:n], means, squares)], *means, *squares]
        return update
    def with_moments(makers, data):
        """Inputs for a step of Adam: the parameters, the data, the moments."""
        def make(r):
            p, d = [m(r) for m in makers], [m(r) for m in data]
            return [*p, *d, *[(0.01 * r.standard_normal(x.shape)).astype(f32) for x in p], *[(r.random(x.shape) * 1e-3 + 1e-4).astype(f32) for x in p]]
        return make

    # ---- steps of training
    def t_nn(w1, b1, w2, b2, x, y): return F.cross_entropy(torch.relu(x @ w1 + b1) @ w2 + b2, y)
    def j_nn(w1, b1, w2, b2, x, y): return j_cross_entropy(jnp.maximum(x @ w1 + b1, 0) @ w2 + b2, y)
    gradient("simple_nn_step", several(normal(784, 128, scale=.03), normal(128, scale=.1), normal(128, 10, scale=.09), normal(10, scale=.1),
        normal(64, 784), classes(10, 64)), t_nn, j_nn, 4, 1000, sgd(4))

    def t_mlp(w1, b1, w2, b2, w3, b3, x, y, *_): return F.cross_entropy(torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3, y)
    def j_mlp(w1, b1, w2, b2, w3, b3, x, y, *_):
        return j_cross_entropy(jnp.maximum(jnp.maximum(x @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3, y)
    gradient("mlp_step", with_moments([normal(784, 512, scale=.035), normal(512, scale=.1), normal(512, 512, scale=.04), normal(512, scale=.1),
        normal(512, 10, scale=.04), normal(10, scale=.1)], [normal(256, 784), classes(10, 256)]), t_mlp, j_mlp, 6, 2500, adam(6))

    def t_lenet(a, b, c, d, w1, b1, w2, b2, w3, b3, x, y):
        x = F.max_pool2d(torch.relu(F.conv2d(x, a, b, padding=2)), 2)
        x = F.max_pool2d(torch.relu(F.conv2d(x, c, d)), 2).reshape(x.shape[0], -1)
        return F.cross_entropy(torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3, y)
    j_conv = lambda x, w, padding=0: jax.lax.conv_general_dilated(x, w, (1, 1), [(padding, padding)] * 2)
    j_pool = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    def j_lenet(a, b, c, d, w1, b1, w2, b2, w3, b3, x, y):
        x = j_pool(jnp.maximum(j_conv(x, a, 2) + b[:, None, None], 0))
        x = j_pool(jnp.maximum(j_conv(x, c) + d[:, None, None], 0)).reshape(x.shape[0], -1)
        return j_cross_entropy(jnp.maximum(jnp.maximum(x @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3, y)
    gradient("lenet_step", several(normal(6, 1, 5, 5, scale=.2), normal(6, scale=.1), normal(16, 6, 5, 5, scale=.1), normal(16, scale=.1),
        normal(400, 120, scale=.05), normal(120, scale=.1), normal(120, 84, scale=.1), normal(84, scale=.1), normal(84, 10, scale=.1), normal(10, scale=.1),
        normal(64, 1, 28, 28), classes(10, 64)), t_lenet, j_lenet, 10, 13000, sgd(10))

    GPT, WIDE, LONG, HEADS, BATCH, LETTERS = 6, 384, 128, 6, 4, 256
    def t_gpt(*a):
        emb, pos, *rest = a
        layers, (g, b, out), text, y = [rest[12 * i:12 * i + 12] for i in range(GPT)], rest[12 * GPT:12 * GPT + 3], rest[12 * GPT + 3], rest[12 * GPT + 4]
        x = emb[text] + pos
        for g1, b1, wqkv, bqkv, wo, bo, g2, b2, w1, c1, w2, c2 in layers:
            q, k, v = [z.reshape(BATCH, LONG, HEADS, -1).transpose(1, 2) for z in (F.layer_norm(x, (WIDE,), g1, b1) @ wqkv + bqkv).chunk(3, -1)]
            x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape) @ wo + bo
            x = x + F.gelu(F.layer_norm(x, (WIDE,), g2, b2) @ w1 + c1, approximate="tanh") @ w2 + c2
        return F.cross_entropy((F.layer_norm(x, (WIDE,), g, b) @ out).reshape(-1, LETTERS), y.reshape(-1))
    def j_norm(x, g, b):
        m = x.mean(-1, keepdims=True)
        return (x - m) * jax.lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b
    def j_attention(q, k, v):
        s = q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1]))
        return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -jnp.inf), -1) @ v
    def j_gpt(*a):
        emb, pos, *rest = a
        layers, (g, b, out), text, y = [rest[12 * i:12 * i + 12] for i in range(GPT)], rest[12 * GPT:12 * GPT + 3], rest[12 * GPT + 3], rest[12 * GPT + 4]
        x = emb[text] + pos
        for g1, b1, wqkv, bqkv, wo, bo, g2, b2, w1, c1, w2, c2 in layers:
            q, k, v = [z.reshape(BATCH, LONG, HEADS, -1).swapaxes(1, 2) for z in jnp.split(j_norm(x, g1, b1) @ wqkv + bqkv, 3, -1)]
            x = x + j_attention(q, k, v).swapaxes(1, 2).reshape(x.shape) @ wo + bo
            x = x + jax.nn.gelu(j_norm(x, g2, b2) @ w1 + c1, approximate=True) @ w2 + c2
        return j_cross_entropy(j_norm(x, g, b) @ out, y)
    one = lambda n: (lambda r: (1 + 0.1 * r.standard_normal(n)).astype(f32))
    layer = [one(WIDE), normal(WIDE, scale=.1), normal(WIDE, 3 * WIDE, scale=.05), normal(3 * WIDE, scale=.02), normal(WIDE, WIDE, scale=.03),
        normal(WIDE, scale=.02), one(WIDE), normal(WIDE, scale=.1), normal(WIDE, 4 * WIDE, scale=.05), normal(4 * WIDE, scale=.02),
        normal(4 * WIDE, WIDE, scale=.015), normal(WIDE, scale=.02)]
    gradient("gpt_step", with_moments([normal(LETTERS, WIDE), normal(LONG, WIDE, scale=.3), *layer * GPT, one(WIDE), normal(WIDE, scale=.1), normal(WIDE, LETTERS, scale=.05)],
        [classes(LETTERS, BATCH, LONG), classes(LETTERS, BATCH, LONG)]), t_gpt, j_gpt, 12 * GPT + 5, 30000, adam(12 * GPT + 5))

    # ---- gradients of layers
    def t_resnet(x, a, g1, b1, c, g2, b2):
        h = torch.relu(F.batch_norm(F.conv2d(x, a, padding=1), None, None, g1, b1, training=True))
        return (torch.relu(F.batch_norm(F.conv2d(h, c, padding=1), None, None, g2, b2, training=True) + x) ** 2).mean()
    def j_batch_norm(x, g, b):
        m = x.mean((0, 2, 3), keepdims=True)
        return (x - m) * jax.lax.rsqrt(((x - m) ** 2).mean((0, 2, 3), keepdims=True) + 1e-5) * g[:, None, None] + b[:, None, None]
    def j_resnet(x, a, g1, b1, c, g2, b2):
        h = jnp.maximum(j_batch_norm(j_conv(x, a, 1), g1, b1), 0)
        return (jnp.maximum(j_batch_norm(j_conv(h, c, 1), g2, b2) + x, 0) ** 2).mean()
    gradient("resnet_block_grad", several(normal(8, 64, 56, 56), normal(64, 64, 3, 3, scale=.04), one(64), normal(64, scale=.1),
        normal(64, 64, 3, 3, scale=.04), one(64), normal(64, scale=.1)), t_resnet, j_resnet, 7, 60000, strays=0.3)  # what is 0 but for rounding passes relu or not

    B, T, D, H = 4, 128, 256, 4
    def t_block(x, g1, b1, wqkv, wo, g2, b2, w1, c1, w2, c2):
        q, k, v = [z.reshape(B, T, H, D // H).transpose(1, 2) for z in (F.layer_norm(x, (D,), g1, b1) @ wqkv).chunk(3, -1)]
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, D) @ wo
        return ((x + F.gelu(F.layer_norm(x, (D,), g2, b2) @ w1 + c1, approximate="tanh") @ w2 + c2) ** 2).mean()
    def j_block(x, g1, b1, wqkv, wo, g2, b2, w1, c1, w2, c2):
        q, k, v = [z.reshape(B, T, H, D // H).swapaxes(1, 2) for z in jnp.split(j_norm(x, g1, b1) @ wqkv, 3, -1)]
        x = x + j_attention(q, k, v).swapaxes(1, 2).reshape(B, T, D) @ wo
        return ((x + jax.nn.gelu(j_norm(x, g2, b2) @ w1 + c1, approximate=True) @ w2 + c2) ** 2).mean()
    gradient("transformer_block_grad", several(normal(B, T, D), normal(D), normal(D), normal(D, 3 * D, scale=.06), normal(D, D, scale=.06), normal(D), normal(D),
        normal(D, 4 * D, scale=.06), normal(4 * D, scale=.1), normal(4 * D, D, scale=.03), normal(D, scale=.1)), t_block, j_block, 11, 6000)

    def cell(c, gates, sigmoid, tanh):
        i, g, o, z = gates
        c = sigmoid(g) * c + sigmoid(i) * tanh(z)
        return sigmoid(o) * tanh(c), c
    def t_step(xt, h, c, w, u): return cell(c, (xt @ w + h @ u).chunk(4, 1), torch.sigmoid, torch.tanh)
    def t_lstm(w, u, x, step=t_step):
        h = c = torch.zeros(32, 256)
        for t in range(64): h, c = step(x[t], h, c, w, u)
        return (h ** 2).mean()
    def j_lstm(w, u, x):
        zero = jnp.zeros((32, 256))
        step = lambda s, xt: (cell(s[1], jnp.split(xt @ w + s[0] @ u, 4, 1), jax.nn.sigmoid, jnp.tanh), None)
        return (jax.lax.scan(step, (zero, zero), x)[0][0] ** 2).mean()
    def c_lstm(lib):
        step = lib.compile(t_step)
        return lambda *a: t_lstm(*a, step=step)
    gradient("lstm_grad", several(normal(128, 1024, scale=.05), normal(256, 1024, scale=.05), normal(64, 32, 128)), t_lstm, j_lstm, 2, 64 * 900, compiled=c_lstm)

    gradient("conv3x3_grad", several(normal(8, 64, 32, 32), normal(64, 64, 3, 3, scale=.04), normal(8, 64, 32, 32)),
        lambda x, w, d: (F.conv2d(x, w, padding=1) * d).sum(), lambda x, w, d: (j_conv(x, w, 1) * d).sum(), 2, 1 << 19)
    gradient("attention_grad", several(*[normal(2, 8, 512, 64)] * 4), lambda q, k, v, d: (F.scaled_dot_product_attention(q, k, v, is_causal=True) * d).sum(),
        lambda q, k, v, d: (j_attention(q, k, v) * d).sum(), 3, 1 << 19)
    gradient("layer_norm_grad", several(normal(1024, 1024), one(1024), normal(1024), normal(1024, 1024)), lambda x, g, b, d: (F.layer_norm(x, (1024,), g, b) * d).sum(),
        lambda x, g, b, d: (j_norm(x, g, b) * d).sum(), 3, 1 << 20)
    gradient("softmax_cross_entropy_grad", several(normal(512, 10000), classes(10000, 512)), F.cross_entropy, j_cross_entropy, 1, 12000)

    # ---- ADBench
    K, DIM, POINTS = 5, 2, 1000
    def mixture(lib, logsumexp):
        """The negative log likelihood of a mixture of normal distributions with a Wishart prior; `icf` holds the logarithms of
        the diagonals and the lower corners of the factors of the inverse covariances."""
        def loss(alphas, means, icf, x):
            q, apart = lib.exp(icf[:, :DIM]), x[:, None, :] - means
            first = q[:, 0] * apart[..., 0]
            second = icf[:, 2] * apart[..., 0] + q[:, 1] * apart[..., 1]
            inner = alphas + icf[:, :DIM].sum(1) - 0.5 * (first ** 2 + second ** 2)
            prior = 0.5 * ((q ** 2).sum() + (icf[:, 2] ** 2).sum())
            return -(logsumexp(inner, 1).sum() - POINTS * logsumexp(alphas, 0) - prior)
        return loss
    gradient("gmm_grad", several(normal(K), normal(K, DIM), normal(K, 3, scale=.5), normal(POINTS, DIM)), mixture(torch, torch.logsumexp),
        mixture(jnp, jax.scipy.special.logsumexp), 3, 4000, condition=4)

    def projection(lib, cross):
        """Bundle adjustment: where a camera (rotation, centre, focal length, principal point, distortion) sees a point, minus where
        it was seen, weighted."""
        def residual(cam, point, weight, seen):
            rotation, p = cam[:3], point - cam[3:6]
            angle2 = (rotation * rotation).sum()
            angle = lib.sqrt(angle2)
            axis, c, s = rotation / angle, lib.cos(angle), lib.sin(angle)
            turned = p * c + cross(axis, p) * s + axis * ((axis * p).sum() * (1 - c))
            flat = turned[:2] / turned[2]
            radius = (flat * flat).sum()
            bent = flat * (1 + cam[9] * radius + cam[10] * radius * radius)
            return weight * (bent * cam[6] + cam[7:9] - seen)
        return residual
    CAMERAS, PLACES, SEEN = 49, 7776, 31843
    t_cross = lambda a, b: torch.stack((a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))
    t_residual, j_residual = projection(torch, t_cross), projection(jnp, jnp.cross)
    def t_bundle(cams, points, weights, seen, i, j):
        return torch.func.vmap(torch.func.jacfwd(t_residual, argnums=(0, 1, 2)))(cams[i], points[j], weights, seen)
    def j_bundle(cams, points, weights, seen, i, j):
        return jax.vmap(jax.jacfwd(j_residual, argnums=(0, 1, 2)))(cams[i], points[j], weights, seen)
    def cameras(r):
        c = r.standard_normal((CAMERAS, 11)) * [.3, .3, .3, 1, 1, 1, 0, .1, .1, .01, .001] + [.1, .1, .1, 0, 0, -8, 1, 0, 0, 0, 0]
        return c.astype(f32)
    workloads["ba_jacobian"] = Workload(several(cameras, normal(PLACES, 3), lambda r: (r.random(SEEN) + .5).astype(f32), normal(SEEN, 2),
        classes(CAMERAS, SEEN), classes(PLACES, SEEN)), t_bundle, j_bundle, 100, lambda lib: lib.compile(t_bundle), trains=True, condition=8)

    BONES, CORNERS, MARKS = 21, 544, 100
    PARENT = [-1] + [4 * f + k if k else 0 for f in range(5) for k in range(4)]
    def hand(lib, stack):
        """Positions of marks on a hand of 21 bones whose 26 parameters turn and move it, minus where they were seen: the bones'
        places from the wrist outward, then a mean over bones at each mark."""
        def turn(a):
            c, s = lib.cos(a), lib.sin(a)
            one, zero = c * 0 + 1, c * 0
            x = stack((stack((one[0], zero[0], zero[0])), stack((zero[0], c[0], -s[0])), stack((zero[0], s[0], c[0]))))
            y = stack((stack((c[1], zero[1], s[1])), stack((zero[1], one[1], zero[1])), stack((-s[1], zero[1], c[1]))))
            z = stack((stack((c[2], -s[2], zero[2])), stack((s[2], c[2], zero[2])), stack((zero[2], zero[2], one[2]))))
            return z @ y @ x
        def residual(theta, base, shift, weights, corners, seen):
            spin, place, small, half, none = [turn(theta[:3])], [theta[3:6]], theta * 0.1, theta * 0.5, theta * 0
            for b in range(1, BONES):
                f, k = (b - 1) // 4, (b - 1) % 4
                i = 6 + 4 * f + k
                angles = stack((theta[i], small[i], none[i])) if k else stack((theta[i], none[i], half[i]))
                parent = PARENT[b]
                spin.append(spin[parent] @ base[b] @ turn(angles))
                place.append(spin[parent] @ shift[b] + place[parent])
            spins, places = stack(spin), stack(place)                # [bones, 3, 3], [bones, 3]
            moved = spins @ corners.T + places[:, :, None]           # [bones, 3, marks]
            return (weights[:, None, :] * moved).sum(0).T.reshape(-1) - seen
        return residual
    t_hand, j_hand = hand(torch, torch.stack), hand(jnp, jnp.stack)
    rotations = lambda r: np.stack([np.linalg.qr(r.standard_normal((3, 3)))[0] for _ in range(BONES)]).astype(f32)
    def shares(r):
        w = r.random((BONES, MARKS)) ** 8
        return (w / w.sum(0)).astype(f32)
    workloads["hand_jacobian"] = Workload(several(normal(26, scale=.5), rotations, normal(BONES, 3), shares, normal(MARKS, 3), normal(3 * MARKS)),
        lambda *a: torch.func.jacfwd(t_hand)(*a), lambda *a: jax.jacfwd(j_hand)(*a), 100, lambda lib: lib.compile(lambda *a: torch.func.jacfwd(t_hand)(*a)), trains=True)

    LAYERS, CHARS, BITS = 2, 1024, 14
    def diagonal(sigmoid, tanh, lib):
        """One step of ADBench's LSTM, whose weights are diagonal: (the output, the new hidden and cell values)."""
        def step(main, extra, hidden, cells, x):
            x, hs, cs = x * extra[0], [], []
            for i in range(LAYERS):
                w, b = main[2 * i].reshape(4, BITS), main[2 * i + 1].reshape(4, BITS)
                c = cells[i] * sigmoid(x * w[0] + b[0]) + sigmoid(hidden[i] * w[1] + b[1]) * tanh(hidden[i] * w[3] + b[3])
                x = sigmoid(x * w[2] + b[2]) * tanh(c)
                hs.append(x); cs.append(c)
            y = x * extra[1] + extra[2]
            return y - lib.log(lib.exp(y).sum() + 2), hs, cs
        return step
    t_diagonal, j_diagonal = diagonal(torch.sigmoid, torch.tanh, torch), diagonal(jax.nn.sigmoid, jnp.tanh, jnp)
    def t_dlstm(main, extra, hidden, cells, text, step=t_diagonal):
        h, c, total = list(hidden), list(cells), 0.0
        for t in range(CHARS - 1):
            y, h, c = step(main, extra, h, c, text[t])
            total = total + (text[t + 1] * y).sum()
        return -total / ((CHARS - 1) * BITS)
    def j_dlstm(main, extra, hidden, cells, text):
        def body(s, xs):
            y, h, c = j_diagonal(main, extra, *s, xs[0])
            return (h, c), (xs[1] * y).sum()
        return -jax.lax.scan(body, (list(hidden), list(cells)), (text[:-1], text[1:]))[1].sum() / ((CHARS - 1) * BITS)
    def c_dlstm(lib):
        step = lib.compile(t_diagonal)
        return lambda *a: t_dlstm(*a, step=step)
    gradient("d_lstm_grad", several(normal(2 * LAYERS, 4 * BITS), normal(3, BITS), normal(LAYERS, BITS), normal(LAYERS, BITS), lambda r: r.integers(0, 2, (CHARS, BITS)).astype(f32)),
        t_dlstm, j_dlstm, 2, 20000, compiled=c_dlstm)

    # ---- gradients of programs
    t_cost, j_cost = (lambda c, p: ((p[:, None, :] - c) ** 2).sum(2).amin(1).sum()), (lambda c, p: ((p[:, None, :] - c) ** 2).sum(2).min(1).sum())
    def t_newton(c, p):
        g, h = torch.func.jvp(torch.func.grad(lambda c: t_cost(c, p)), (c,), (torch.ones_like(c),))
        return c - g / h
    def j_newton(c, p):
        g, h = jax.jvp(jax.grad(lambda c: j_cost(c, p)), (c,), (jnp.ones_like(c),))
        return c - g / h
    workloads["kmeans_newton"] = Workload(several(normal(10, 16), normal(10000, 16)), t_newton, j_newton, 4000, lambda lib: lib.compile(t_newton), trains=True, condition=8)

    def runge_kutta(tanh):
        def step(y, w):
            f = lambda y: tanh(y @ w)
            a = f(y); b = f(y + 0.005 * a); c = f(y + 0.005 * b); d = f(y + 0.01 * c)
            return y + (0.01 / 6) * (a + 2 * b + 2 * c + d)
        return step
    t_rk, j_rk = runge_kutta(torch.tanh), runge_kutta(jnp.tanh)
    def t_ode(w, y, step=t_rk):
        for _ in range(1000): y = step(y, w)
        return (y ** 2).sum()
    def j_ode(w, y): return (jax.lax.scan(lambda y, _: (j_rk(y, w), None), y, None, length=1000)[0] ** 2).sum()
    def c_ode(lib):
        step = lib.compile(t_rk)
        return lambda *a: t_ode(*a, step=step)
    gradient("ode_1000_steps_grad", several(normal(8, 8, scale=.3), normal(8)), t_ode, j_ode, 2, 30000, compiled=c_ode, condition=4)

    def inner(u): return u[1:-1, 1:-1] + .2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    def t_heat_step(u):
        v = u.clone()
        v[1:-1, 1:-1] = inner(u)
        return v
    def t_heat(u, to, step=t_heat_step):
        for _ in range(100): u = step(u)
        return ((u - to) ** 2).mean()
    def j_heat(u, to):
        return ((jax.lax.fori_loop(0, 100, lambda _, v: v.at[1:-1, 1:-1].set(inner(v)), u) - to) ** 2).mean()
    def c_heat(lib):
        step = lib.compile(t_heat_step)
        return lambda *a: t_heat(*a, step=step)
    gradient("heat_grad", several(normal(256, 256), normal(256, 256)), t_heat, j_heat, 1, 1500, compiled=c_heat)
