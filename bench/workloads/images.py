"""Whole networks on images, for inference (bench.py --group images): ResNet-18, ResNet-50, MobileNetV2 and a U-Net.

Each network is written once, in terms of the layers of a backend: `Text` writes TL, `Torch` and `Jax` compute. Weights are the
inputs after the images, in the order in which the layers ask for them: a convolution's, then four rows of its batch norm
(mean, variance, weight, bias).
"""
import numpy as np

from .large import script


class Text:
    """A network as the body of a TL function, and what makes its inputs. A value is (name, shape)."""
    def __init__(self): self.makers, self.types, self.lines = [], [], []
    def input(self, shape, maker):
        self.makers.append(maker)
        self.types.append(f"f32[{', '.join(map(str, shape))}]")
        return f"x{len(self.types) - 1}"
    def let(self, text, shape):
        self.lines.append(f"    let y{len(self.lines)} = {text}")
        return f"y{len(self.lines) - 1}", shape
    def image(self, *shape): return self.input(shape, lambda r: r.standard_normal(shape, dtype=np.float32)), shape
    def conv(self, x, channels, kernel, stride=1, groups=1, activation=None, add=None):
        name, (n, c, h, w) = x
        pad = kernel // 2
        dims = (channels, c // groups, kernel, kernel)
        scale = np.float32((2 / np.prod(dims[1:])) ** 0.5)
        weight = self.input(dims, lambda r: r.standard_normal(dims, dtype=np.float32) * scale)
        # The last norm of a block is small, so that what 50 layers add up does not grow without bound.
        small = np.float32(0.3 if add else 1)
        norm = self.input((4, channels), lambda r: np.stack([r.normal(0, 0.1, channels), r.uniform(0.5, 1.5, channels),
                                                             small * r.uniform(0.5, 1.5, channels), r.normal(0, 0.1, channels)]).astype(np.float32))
        options = f", stride: {stride}" * (stride > 1) + f", padding: {pad}" * (pad > 0) + f", groups: {groups}" * (groups > 1)
        text = f"batch_norm(conv2d({name}, {weight}{options}), {', '.join(f'{norm}[{i}]' for i in range(4))})"
        if add: text += f" + {add[0]}"
        if activation: text = {"relu": f"relu({text})", "relu6": f"clamp({text}, 0.0, 6.0)"}[activation]
        return self.let(text, (n, channels, (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1))
    def pool(self, x, window, stride, pad):
        n, c, h, w = x[1]
        return self.let(f"max_pool({x[0]}, {window}, stride: {stride}, padding: {pad})",
                        (n, c, (h + 2 * pad - window) // stride + 1, (w + 2 * pad - window) // stride + 1))
    def double(self, x):
        n, c, h, w = x[1]
        return self.let(f'image.resize({x[0]}, ({2 * h}, {2 * w}), mode: "nearest")', (n, c, 2 * h, 2 * w))
    def join(self, a, b): return self.let(f"concat([{a[0]}, {b[0]}], axis: 1)", (a[1][0], a[1][1] + b[1][1], *a[1][2:]))
    def mean(self, x): return self.let(f"mean({x[0]}, axis: (2, 3))", x[1][:2])
    def linear(self, x, out):
        dims = (x[1][1], out)
        w = self.input(dims, lambda r: r.standard_normal(dims, dtype=np.float32) * np.float32(dims[0] ** -0.5))
        b = self.input((out,), lambda r: r.standard_normal(out, dtype=np.float32))
        return self.let(f"{x[0]} @ {w} + {b}", (x[1][0], out))
    def function(self, result):
        parameters = ", ".join(f"x{i}: {t}" for i, t in enumerate(self.types))
        return "\n".join([f"fn f({parameters}) {{", *self.lines, f"    {result[0]}", "}"])


class Torch:
    def __init__(self, inputs): self.inputs = iter(inputs)
    def image(self, *shape): return next(self.inputs)
    def conv(self, x, channels, kernel, stride=1, groups=1, activation=None, add=None):
        import torch.nn.functional as F
        w, norm = next(self.inputs), next(self.inputs)
        y = F.batch_norm(F.conv2d(x, w, stride=stride, padding=kernel // 2, groups=groups), *norm)
        if add is not None: y = y + add
        return {None: lambda y: y, "relu": F.relu, "relu6": F.relu6}[activation](y)
    def pool(self, x, window, stride, pad):
        import torch.nn.functional as F
        return F.max_pool2d(x, window, stride, pad)
    def double(self, x):
        import torch.nn.functional as F
        return F.interpolate(x, scale_factor=2, mode="nearest")
    def join(self, a, b):
        import torch
        return torch.cat((a, b), 1)
    def mean(self, x): return x.mean((2, 3))
    def linear(self, x, out): return x @ next(self.inputs) + next(self.inputs)


class Jax:
    def __init__(self, inputs): self.inputs = iter(inputs)
    def image(self, *shape): return next(self.inputs)
    def conv(self, x, channels, kernel, stride=1, groups=1, activation=None, add=None):
        import jax, jax.numpy as jnp
        w, norm = next(self.inputs), next(self.inputs)
        y = jax.lax.conv_general_dilated(x, w, (stride,) * 2, [(kernel // 2,) * 2] * 2, feature_group_count=groups)
        mean, variance, weight, bias = (v[:, None, None] for v in norm)
        y = (y - mean) * jax.lax.rsqrt(variance + 1e-5) * weight + bias
        if add is not None: y = y + add
        return {None: lambda y: y, "relu": lambda y: jnp.maximum(y, 0), "relu6": lambda y: jnp.clip(y, 0, 6)}[activation](y)
    def pool(self, x, window, stride, pad):
        import jax, jax.numpy as jnp
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, window, window), (1, 1, stride, stride), [(0, 0)] * 2 + [(pad, pad)] * 2)
    def double(self, x): return x.repeat(2, 2).repeat(2, 3)
    def join(self, a, b):
        import jax.numpy as jnp
        return jnp.concatenate((a, b), 1)
    def mean(self, x): return x.mean((2, 3))
    def linear(self, x, out): return x @ next(self.inputs) + next(self.inputs)


def resnet18(b, n):
    """He et al. 2015, basic blocks."""
    y = b.pool(b.conv(b.image(n, 3, 224, 224), 64, 7, 2, activation="relu"), 3, 2, 1)
    for stage, channels in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stride = 2 if stage and not block else 1
            skip = b.conv(y, channels, 1, stride) if stride > 1 else y
            y = b.conv(b.conv(y, channels, 3, stride, activation="relu"), channels, 3, activation="relu", add=skip)
    return b.linear(b.mean(y), 1000)


def resnet50(b, n):
    """He et al. 2015, bottlenecks whose 3 x 3 has the stride, as in torchvision."""
    y = b.pool(b.conv(b.image(n, 3, 224, 224), 64, 7, 2, activation="relu"), 3, 2, 1)
    for stage, (channels, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            skip = y if block else b.conv(y, 4 * channels, 1, stride)
            inner = b.conv(b.conv(y, channels, 1, activation="relu"), channels, 3, stride, activation="relu")
            y = b.conv(inner, 4 * channels, 1, activation="relu", add=skip)
    return b.linear(b.mean(y), 1000)


def mobilenet_v2(b, n):
    """Sandler et al. 2018."""
    y, channels = b.conv(b.image(n, 3, 224, 224), 32, 3, 2, activation="relu6"), 32
    for factor, out, repeats, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeats):
            stride, wide = first if i == 0 else 1, channels * factor
            z = b.conv(y, wide, 1, activation="relu6") if factor > 1 else y
            z = b.conv(z, wide, 3, stride, groups=wide, activation="relu6")
            y, channels = b.conv(z, out, 1, add=y if i else None), out
    return b.linear(b.mean(b.conv(y, 1280, 1, activation="relu6")), 1000)


def unet(b, n):
    """Ronneberger et al. 2015 with padding and batch norm, 32 to 256 channels."""
    twice = lambda y, c: b.conv(b.conv(y, c, 3, activation="relu"), c, 3, activation="relu")
    y, kept = twice(b.image(n, 3, 128, 128), 32), []
    for channels in (64, 128, 256):
        kept.append(y)
        y = twice(b.pool(y, 2, 2, 0), channels)
    for channels in (128, 64, 32): y = twice(b.join(kept.pop(), b.double(y)), channels)
    return b.conv(y, 2, 1)


def define(workloads, Workload):
    for network in (resnet18, resnet50, mobilenet_v2, unet):
        for n in (1, 8):
            text = Text()
            define = "import image\n" + text.function(network(text, n))
            name = f"{network.__name__}_{n}"
            workloads[name] = Workload(lambda r, makers=text.makers: [m(r) for m in makers], lambda *a, f=network, n=n: f(Torch(a), n),
                                       lambda *a, f=network, n=n: f(Jax(a), n), 100000, weights=tuple(range(1, len(text.types))), group="images",
                                       channels_last=True, script=script(name, define, text.types, 1, "f32"))
