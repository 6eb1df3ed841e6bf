"""Peers of the workloads that are layers and networks: convolutions, pooling, attention, scans, sorting."""
import numpy as np


def define(workloads, Workload):
    import jax, jax.numpy as jnp, torch, torch.nn.functional as F

    f32 = np.float32
    normal = lambda *s, scale=1.0: (lambda r: (r.standard_normal(s) * scale).astype(f32))
    several = lambda *makers: (lambda r: [m(r) for m in makers])

    def conv(name, x, w, stride=1, padding=0, groups=1, **more):
        n, call = len(x) - 2, F.conv2d if len(x) == 4 else F.conv3d
        workloads[name] = Workload(several(normal(*x), normal(*w, scale=np.prod(w[1:]) ** -0.5)),
            lambda a, b: call(a, b, stride=stride, padding=padding, groups=groups),
            lambda a, b: jax.lax.conv_general_dilated(a, b, (stride,) * n, [(padding, padding)] * n, feature_group_count=groups), int(np.prod(w[1:])), weights=(1,), **more)
    conv("conv3x3_8x64x32x32", (8, 64, 32, 32), (64, 64, 3, 3), padding=1)
    conv("conv7x7_stride2_4x3x224x224", (4, 3, 224, 224), (64, 3, 7, 7), stride=2, padding=3)
    conv("conv1x1_8x256x14x14", (8, 256, 14, 14), (512, 256, 1, 1))
    conv("conv3x3_8x256x14x14", (8, 256, 14, 14), (256, 256, 3, 3), padding=1)
    conv("conv3x3_1x512x7x7", (1, 512, 7, 7), (512, 512, 3, 3), padding=1, group="images")
    conv("conv_depthwise_8x128x56x56", (8, 128, 56, 56), (128, 1, 3, 3), padding=1, groups=128)
    conv("conv_depthwise7x7_8x64x56x56", (8, 64, 56, 56), (64, 1, 7, 7), padding=3, groups=64)

    conv("conv_grouped_8x128x28x28", (8, 128, 28, 28), (128, 4, 3, 3), padding=1, groups=32)
    conv("conv3d_2x16x16x28x28", (2, 16, 16, 28, 28), (32, 16, 3, 3, 3), padding=1)
    workloads["conv_transpose_8x64x28x28"] = Workload(several(normal(8, 64, 28, 28), normal(64, 32, 4, 4, scale=.06)),
        lambda a, b: F.conv_transpose2d(a, b, stride=2, padding=1),
        lambda a, b: jax.lax.conv_general_dilated(a, jnp.flip(b, (2, 3)).swapaxes(0, 1), (1, 1), [(2, 2)] * 2, lhs_dilation=(2, 2)), 256, weights=(1,))

    def cell(c, gates, sigmoid, tanh):
        i, g, o, z = gates
        c = sigmoid(g) * c + sigmoid(i) * tanh(z)
        return sigmoid(o) * tanh(c), c
    def t_lstm(x, w, u):
        h = c = torch.zeros(32, 256)
        for t in range(64): h, c = cell(c, (x[t] @ w + h @ u).chunk(4, 1), torch.sigmoid, torch.tanh)
        return h
    def j_lstm(x, w, u):
        zero = jnp.zeros((32, 256))
        step = lambda s, xt: (cell(s[1], jnp.split(xt @ w + s[0] @ u, 4, 1), jax.nn.sigmoid, jnp.tanh), None)
        return jax.lax.scan(step, (zero, zero), x)[0][0]
    workloads["lstm_64x32x128"] = Workload(several(normal(64, 32, 128), normal(128, 1024, scale=.05), normal(256, 1024, scale=.05)),
        t_lstm, j_lstm, 64 * 400, weights=(1, 2))
    def rope(cat):
        def rotated(x, c, s):
            a, b = x[..., :32], x[..., 32:]
            return cat((a * c - b * s, a * s + b * c), -1)
        return rotated
    workloads["rope_4x8x512x64"] = Workload(several(normal(4, 8, 512, 64), normal(512, 32), normal(512, 32)),
        rope(torch.cat), rope(jnp.concatenate), 3)

    def t_cnn(x, a, b, w):
        x = F.max_pool2d(torch.relu(F.conv2d(x, a)), 2)
        x = F.max_pool2d(torch.relu(F.conv2d(x, b)), 2)
        return x.reshape(32, -1) @ w
    def j_cnn(x, a, b, w):
        pool = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        cv = lambda x, k: jax.lax.conv_general_dilated(x, k, (1, 1), "VALID")
        return pool(jnp.maximum(cv(pool(jnp.maximum(cv(x, a), 0)), b), 0)).reshape(32, -1) @ w
    workloads["small_cnn_32"] = Workload(several(normal(32, 1, 28, 28), normal(16, 1, 5, 5, scale=.2),
        normal(32, 16, 5, 5, scale=.05), normal(512, 10, scale=.04)), t_cnn, j_cnn, 940, weights=(1, 2, 3))

    workloads["max_pool_8x64x112x112"] = Workload(several(normal(8, 64, 112, 112)), lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)]), 0)
    workloads["batch_norm_8x64x56x56"] = Workload(
        several(normal(8, 64, 56, 56), normal(64), lambda r: (r.random(64) + .5).astype(f32), normal(64), normal(64)),
        lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
        lambda x, m, v, w, b: (x - m[:, None, None]) / jnp.sqrt(v[:, None, None] + 1e-5) * w[:, None, None] + b[:, None, None], 6, weights=(1, 2, 3, 4))

    def j_attention(q, k, v, causal):
        s = q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1]))
        if causal: s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -jnp.inf)
        return jax.nn.softmax(s, -1) @ v
    for name, shape, causal in [("attention_4x8x512x64", (4, 8, 512, 64), False), ("attention_causal_1x8x1024x64", (1, 8, 1024, 64), True)]:
        workloads[name] = Workload(several(*[normal(*shape)] * 3),
            lambda q, k, v, c=causal: F.scaled_dot_product_attention(q, k, v, is_causal=c), lambda q, k, v, c=causal: j_attention(q, k, v, c), shape[2] + shape[3] + 10)

    B, T, D, H = 4, 128, 256, 4
    heads = lambda z: z.reshape(B, T, H, D // H)
    def t_block(x, g1, b1, wqkv, wo, g2, b2, w1, c1, w2, c2):
        q, k, v = [heads(z).transpose(1, 2) for z in (F.layer_norm(x, (D,), g1, b1) @ wqkv).chunk(3, -1)]
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + a.transpose(1, 2).reshape(B, T, D) @ wo
        return x + F.gelu(F.layer_norm(x, (D,), g2, b2) @ w1 + c1, approximate="tanh") @ w2 + c2
    def j_block(x, g1, b1, wqkv, wo, g2, b2, w1, c1, w2, c2):
        def norm(x, g, b):
            m = x.mean(-1, keepdims=True)
            return (x - m) / jnp.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b
        q, k, v = [heads(z).transpose(0, 2, 1, 3) for z in jnp.split(norm(x, g1, b1) @ wqkv, 3, -1)]
        a = j_attention(q, k, v, True)
        x = x + a.transpose(0, 2, 1, 3).reshape(B, T, D) @ wo
        return x + jax.nn.gelu(norm(x, g2, b2) @ w1 + c1, approximate=True) @ w2 + c2
    workloads["transformer_block"] = Workload(several(normal(B, T, D), normal(D), normal(D), normal(D, 3 * D, scale=.06),
        normal(D, D, scale=.06), normal(D), normal(D), normal(D, 4 * D, scale=.06), normal(4 * D, scale=.1),
        normal(4 * D, D, scale=.03), normal(D, scale=.1)), t_block, j_block, 3000, weights=tuple(range(1, 11)))

    workloads["cumsum_1024x1024"] = Workload(several(normal(1024, 1024)), lambda x: x.cumsum(1), lambda x: jnp.cumsum(x, 1), 1024)
    workloads["cumsum_columns_1024x1024"] = Workload(several(normal(1024, 1024)), lambda x: x.cumsum(0), lambda x: jnp.cumsum(x, 0), 1024)
    workloads["cumsum_4M"] = Workload(several(normal(1 << 22)), lambda x: x.cumsum(0), lambda x: jnp.cumsum(x), 1 << 22)
    workloads["sort_1024x1024"] = Workload(several(normal(1024, 1024)), lambda x: x.sort(1).values, lambda x: jnp.sort(x, 1), 0)
