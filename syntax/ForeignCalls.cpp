#include "syntax/ForeignCalls.h"

#include <algorithm>
#include <map>

namespace tenc::syntax {

namespace {

constexpr auto kPrefixed = ForeignCall::Form::Prefixed;
constexpr auto kTorch = ForeignCall::Form::Torch;
constexpr auto kNumPy = ForeignCall::Form::NumPy;
constexpr auto kPython = ForeignCall::Form::Python;
constexpr auto kMethod = ForeignCall::Form::Method;
constexpr auto kLayer = ForeignCall::Form::Layer;

constexpr std::string_view kOperation = "this layer has no weights: it is a function";
constexpr std::string_view kLoss = "a loss is a function of the module `nn`";
constexpr std::string_view kLayers = "a layer is made by a function of the module `nn`";
constexpr std::string_view kOptimiser = "options are given to each step: `optim.step(s, m, g, lr: 1e-3)`";
constexpr std::string_view kSample = "TL divides by n, as NumPy does; `correction: 1` divides by n - 1";
constexpr std::string_view kWhole = "rounding keeps the dtype; `i64` makes an integer of it";
constexpr std::string_view kPair = "`max` gives the values alone; `argmax` gives where they are";
constexpr std::string_view kLower = "`median` is the mean of the middle two; PyTorch takes the lower one";
constexpr std::string_view kJoined = "tensors are joined along a dim by `concat`, along a new one by `stack`";
constexpr std::string_view kParts = "`split` takes how many equal parts it makes, or their sizes: `split(x, [1, 2])`";
constexpr std::string_view kPadding =
    "widths are pairs, one for each dim, the first dim first: `pad(x, [[0, 0], [1, 1]])`";
constexpr std::string_view kCompiled = "every program is compiled: leave it out";

constexpr ForeignCall kCalls[] = {
    // What makes tensors.
    {.call = "zeros(*, dtype, -requires_grad)", .text = "zeros({#*}<, dtype: {dtype}>)", .form = kPrefixed},
    {.call = "ones(*, dtype, -requires_grad)", .text = "ones({#*}<, dtype: {dtype}>)", .form = kPrefixed},
    {.call = "empty(*, dtype)",
     .text = "zeros({#*}<, dtype: {dtype}>)",
     .form = kPrefixed,
     .help = "tensors have values from the start"},
    {.call = "empty_like(x)", .text = "zeros_like({x})", .form = kPrefixed},
    {.call = "full(shape, fill_value, dtype)",
     .text = "full({#shape}, {fill_value}<, dtype: {dtype}>)",
     .form = kPrefixed},
    {.call = "identity(n)", .text = "eye({n})", .form = kPrefixed},
    {.call = "array(x, dtype)", .text = "{dtype}({x})", .help = "a dtype converts: `f32(x)`"},
    {.call = "tensor(x, dtype)", .text = "{dtype}({x})", .help = "a dtype converts: `f32(x)`"},
    {.call = "tensor(x, -requires_grad)", .text = "{x}"},
    {.call = "asarray(x, dtype)", .text = "{dtype}({x})", .help = "a dtype converts: `f32(x)`"},
    {.call = "as_tensor(x)", .text = "{x}", .form = kPrefixed},
    {.call = "from_numpy(x)", .text = "{x}", .form = kPrefixed},
    {.call = "linspace(start, stop, num)", .text = "linspace({start}, {stop}, {num})", .form = kPrefixed},
    {.call = "float(\"inf\")", .text = "inf", .help = "infinity is `inf`"},
    {.call = "float(\"-inf\")", .text = "-inf", .help = "infinity is `inf`"},
    {.call = "float(\"nan\")", .text = "nan"},
    // What draws random numbers.
    {.call = "rand(*)", .text = "rand({#*})", .form = kPrefixed},
    {.call = "randn(*, -requires_grad)", .text = "randn({#*})", .form = kPrefixed},
    {.call = "standard_normal(size)", .text = "randn({#size})", .form = kPrefixed},
    {.call = "randn_like(x)", .text = "randn({x}.shape)", .form = kPrefixed},
    {.call = "rand_like(x)", .text = "rand({x}.shape)", .form = kPrefixed},
    {.call = "normal(loc, scale, size)", .text = "randn({#size}) * {scale} + {loc}", .form = kPrefixed},
    {.call = "uniform(low, high, size)", .text = "rand({#size}) * ({high} - {low}) + {low}", .form = kPrefixed},
    {.call = "randint(low, high, size)", .text = "randint({low}, {high}, {#size})", .form = kPrefixed},
    // What arranges elements.
    {.call = "flatten(x, start_dim, end_dim)", .text = "flatten({x}<, start: {start_dim}><, end: {end_dim}>)"},
    {.call = "permute(x, *)", .text = "permute_dims({x}, {#*})"},
    {.call = "gather(x, dim, index)",
     .text = "gather({x}, {index}, axis: {dim})",
     .apart = true,
     .help = "the indices come first, and the axis by name"},
    {.call = "repeat(x, *)",
     .text = "tile({x}, {#*})",
     .form = kMethod,
     .apart = true,
     .help = "copies of the whole tensor side by side are made by `tile(x, [2, 1])`"},
    {.call = "scatter_add(x, dim, index, src)", .text = "scatter({x}, {index}, {src}, axis: {dim}, reduce: \"add\")"},
    {.call = "index_add(x, dim, index, source)",
     .text = "scatter({x}, {index}, {source}, axis: {dim}, reduce: \"add\")"},
    {.call = "at(x, index, source)",
     .text = "{x}[{index}] += {source}",
     .form = kPrefixed,
     .statement = true,
     .help = "repeated indices accumulate in an assignment"},
    {.call = "diff(x)", .text = "{x}[1:] - {x}[:-1]", .rank = 1},
    {.call = "diff(x)", .text = "{x}[..., 1:] - {x}[..., :-1]"},
    {.call = "meshgrid(*, indexing)", .text = "meshgrid({*}, indexing: {indexing})", .form = kPrefixed},
    {.call = "meshgrid(*)",
     .text = "meshgrid({*}, indexing: \"ij\")",
     .form = kTorch,
     .help = "the first of PyTorch's axes is the rows: `indexing: \"ij\"`"},
    {.call = "split(x, +size, dim)",
     .text = "split({x}, {x}.shape[{dim}] // {size}, axis: {dim})",
     .form = kTorch,
     .help = kParts},
    {.call = "split(x, +size)", .text = "split({x}, {x}.shape[0] // {size})", .form = kTorch, .help = kParts},
    {.call = "split(x, +n, axis)", .text = "split({x}, {n}<, axis: {axis}>)", .form = kNumPy},
    {.call = "split(x, at, axis)", .text = "", .form = kNumPy, .help = kParts},
    {.call = "vstack(x)", .text = "stack({x})", .help = kJoined, .rank = 2},
    {.call = "vstack(x)", .text = "concat({x}, axis: 0)", .help = kJoined, .rank = 3},
    {.call = "hstack(x)", .text = "concat({x}, axis: 0)", .help = kJoined, .rank = 2},
    {.call = "hstack(x)", .text = "concat({x}, axis: 1)", .help = kJoined, .rank = 3},
    {.call = "fliplr(x)", .text = "flip({x}, axis: 1)"},
    {.call = "flipud(x)", .text = "flip({x}, axis: 0)"},
    {.call = "pad(x, pad)", .text = "pad({x}, [{#pad}])", .form = kTorch, .help = kPadding, .rank = 1},
    {.call = "pad(x, pad)",
     .text = "pad({x}, [[{pad.2}, {pad.3}], [{pad.0}, {pad.1}]])",
     .form = kTorch,
     .help = kPadding,
     .rank = 2},
    {.call = "pad(x, pad)", .text = "pad({x}, [[0, 0], {#pad}])", .form = kTorch, .help = kPadding, .rank = 2},
    {.call = "pad(x, pad)",
     .text = "pad({x}, [[0, 0], [0, 0], [{pad.2}, {pad.3}], [{pad.0}, {pad.1}]])",
     .form = kTorch,
     .help = kPadding,
     .rank = 4},
    {.call = "pad(x, pad, mode, value)", .text = "", .form = kTorch, .help = kPadding},
    {.call = "sort(x, dim, descending)",
     .text = "sort({x}<, axis: {dim}><, descending: {descending}>)",
     .form = kTorch,
     .help = "`sort` gives the values alone; `argsort` gives where they were",
     .second = "argsort({x}<, axis: {dim}><, descending: {descending}>)"},
    {.call = "floor(x)", .text = "i64(floor({x}))", .form = kPython, .help = kWhole},
    {.call = "ceil(x)", .text = "i64(ceil({x}))", .form = kPython, .help = kWhole},
    {.call = "trunc(x)", .text = "i64(trunc({x}))", .form = kPython, .help = kWhole},
    // Reductions.
    {.call = "max(x, dim, keepdim)",
     .text = "max({x}, axis: {dim}<, keep: {keepdim}>)",
     .form = kTorch,
     .help = kPair,
     .second = "argmax({x}, axis: {dim}<, keep: {keepdim}>)"},
    {.call = "max(x, :dim, keepdim)",
     .text = "max({x}, axis: {dim}<, keep: {keepdim}>)",
     .apart = true,
     .help = kPair,
     .second = "argmax({x}, axis: {dim}<, keep: {keepdim}>)"},
    {.call = "min(x, dim, keepdim)",
     .text = "min({x}, axis: {dim}<, keep: {keepdim}>)",
     .form = kTorch,
     .help = kPair,
     .second = "argmin({x}, axis: {dim}<, keep: {keepdim}>)"},
    {.call = "min(x, :dim, keepdim)",
     .text = "min({x}, axis: {dim}<, keep: {keepdim}>)",
     .apart = true,
     .help = kPair,
     .second = "argmin({x}, axis: {dim}<, keep: {keepdim}>)"},
    {.call = "amax(x, dim, keepdim)", .text = "max({x}<, axis: {dim}><, keep: {keepdim}>)"},
    {.call = "amax(x, axis, keepdims)", .text = "max({x}<, axis: {axis}><, keep: {keepdims}>)"},
    {.call = "amin(x, dim, keepdim)", .text = "min({x}<, axis: {dim}><, keep: {keepdim}>)"},
    {.call = "amin(x, axis, keepdims)", .text = "min({x}<, axis: {axis}><, keep: {keepdims}>)"},
    {.call = "median(x)", .text = "quantile({x}, 0.5, method: \"lower\")", .form = kTorch, .help = kLower},
    {.call = "median(x, dim, keepdim)", .text = "", .form = kTorch, .help = kLower},
    {.call = "nanmedian(x, dim, keepdim)", .text = "", .form = kTorch, .help = kLower},
    {.call = "norm(x, p, dim, keepdim)",
     .text = "norm({x}, ord: {p}<, axis: {dim}><, keep: {keepdim}>)",
     .form = kTorch},
    {.call = "norm(x, ord)", .text = "norm({x}, ord: {ord})", .form = kNumPy, .rank = 1},
    {.call = "norm(x, ord, axis, keepdims)",
     .text = "norm({x}, ord: {ord}, axis: {axis}<, keep: {keepdims}>)",
     .form = kNumPy},
    {.call = "norm(x, !ord)",
     .text = "",
     .form = kNumPy,
     .help = "`norm` takes all elements as one vector; matrix norms are made of `svd(x)`"},
    {.call = "var(x, axis, ddof, keepdims)",
     .text = "variance({x}<, axis: {axis}><, correction: {ddof}><, keep: {keepdims}>)",
     .form = kNumPy},
    {.call = "var(x, dim, !unbiased=false, keepdim)",
     .text = "variance({x}<, axis: {dim}>, correction: 0<, keep: {keepdim}>)"},
    {.call = "var(x, dim, !unbiased=true, keepdim)",
     .text = "variance({x}<, axis: {dim}>, correction: 1<, keep: {keepdim}>)",
     .help = kSample},
    {.call = "var(x, dim, correction, keepdim)",
     .text = "variance({x}<, axis: {dim}>, correction: {correction}<, keep: {keepdim}>)"},
    {.call = "var(x, dim, keepdim)",
     .text = "variance({x}<, axis: {dim}>, correction: 1<, keep: {keepdim}>)",
     .form = kTorch,
     .help = kSample},
    {.call = "var(x, :dim, keepdim)",
     .text = "variance({x}, axis: {dim}, correction: 1<, keep: {keepdim}>)",
     .form = kMethod,
     .help = kSample},
    {.call = "var(x, :axis, ddof, keepdims)",
     .text = "variance({x}, axis: {axis}<, correction: {ddof}><, keep: {keepdims}>)",
     .form = kMethod},
    {.call = "var(x, :ddof)", .text = "variance({x}, correction: {ddof})", .form = kMethod},
    // Arithmetic and comparisons.
    {.call = "clamp(x, min)",
     .text = "maximum({x}, {min})",
     .apart = true,
     .help = "one bound is `maximum` or `minimum`"},
    {.call = "clamp(x, max)",
     .text = "minimum({x}, {max})",
     .apart = true,
     .help = "one bound is `maximum` or `minimum`"},
    {.call = "clamp_min(x, min)", .text = "maximum({x}, {min})"},
    {.call = "clamp_max(x, max)", .text = "minimum({x}, {max})"},
    {.call = "std(x, dim, !unbiased=false, keepdim)",
     .text = "std({x}<, axis: {dim}>, correction: 0<, keep: {keepdim}>)",
     .apart = true},
    {.call = "std(x, dim, !unbiased=true, keepdim)",
     .text = "std({x}<, axis: {dim}>, correction: 1<, keep: {keepdim}>)",
     .apart = true,
     .help = kSample},
    {.call = "std(x, dim, correction, keepdim)",
     .text = "std({x}<, axis: {dim}>, correction: {correction}<, keep: {keepdim}>)",
     .form = kTorch},
    {.call = "std(x, dim, keepdim)",
     .text = "std({x}<, axis: {dim}>, correction: 1<, keep: {keepdim}>)",
     .form = kTorch,
     .help = kSample},
    {.call = "std(x, :dim, keepdim)",
     .text = "std({x}, axis: {dim}, correction: 1<, keep: {keepdim}>)",
     .apart = true,
     .help = kSample},
    {.call = "isinstance(x, t)", .text = "{x}.dtype == {t}", .help = "types are known at compile time"},
    // Operations of networks.
    {.call = "one_hot(x, num_classes)", .text = "one_hot({x}, n: {num_classes}, dtype: i64)", .form = kTorch},
    {.call = "one_hot(x, num_classes)", .text = "one_hot({x}, n: {num_classes}, dtype: f32)", .form = kNumPy},
    {.call = "max_pool2d(x, kernel_size, stride)", .text = "max_pool({x}, {2kernel_size}<, stride: {2stride}>)"},
    {.call = "avg_pool2d(x, kernel_size, stride)", .text = "avg_pool({x}, {2kernel_size}<, stride: {2stride}>)"},
    {.call = "linear(x, weight, bias)", .text = "{x} @ {weight}.T + {bias}", .form = kPrefixed},
    {.call = "linear(x, weight)", .text = "{x} @ {weight}.T", .form = kPrefixed},
    {.call = "ReLU(-inplace)", .text = "relu", .form = kLayer, .help = kOperation},
    {.call = "GELU()", .text = "gelu", .form = kLayer, .help = kOperation},
    {.call = "SiLU(-inplace)", .text = "silu", .form = kLayer, .help = kOperation},
    {.call = "Sigmoid()", .text = "sigmoid", .form = kLayer, .help = kOperation},
    {.call = "Tanh()", .text = "tanh", .form = kLayer, .help = kOperation},
    {.call = "Softplus()", .text = "softplus", .form = kLayer, .help = kOperation},
    {.call = "ELU()", .text = "elu", .form = kLayer, .help = kOperation},
    {.call = "Identity()", .text = "|x| x", .form = kLayer, .help = kOperation},
    {.call = "LeakyReLU(negative_slope, -inplace)",
     .text = "|x| leaky_relu(x<, slope: {negative_slope}>)",
     .form = kLayer,
     .help = kOperation},
    {.call = "Softmax(dim)", .text = "|x| softmax(x<, axis: {dim}>)", .form = kLayer, .help = kOperation},
    {.call = "LogSoftmax(dim)", .text = "|x| log_softmax(x<, axis: {dim}>)", .form = kLayer, .help = kOperation},
    {.call = "Flatten()", .text = "|x| flatten(x, start: 1)", .form = kLayer, .help = kOperation},
    {.call = "MaxPool2d(kernel_size, stride)",
     .text = "|x| max_pool(x, {2kernel_size}<, stride: {2stride}>)",
     .form = kLayer,
     .help = kOperation},
    {.call = "AvgPool2d(kernel_size, stride)",
     .text = "|x| avg_pool(x, {2kernel_size}<, stride: {2stride}>)",
     .form = kLayer,
     .help = kOperation},
    // Layers.
    {.call = "Sequential(*)", .text = "({*})", .form = kLayer, .help = "a sequence of layers is a tuple"},
    {.call = "Linear(in_features, out_features, bias)",
     .text = "nn.linear({in_features}, {out_features}<, bias: {bias}>)",
     .form = kLayer,
     .help = kLayers},
    {.call = "Conv1d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)",
     .text = "nn.conv1d_layer({in_channels}, {out_channels}, {kernel_size}<, stride: {stride}><, padding: {padding}>"
             "<, dilation: {dilation}><, groups: {groups}><, bias: {bias}>)",
     .form = kLayer,
     .help = kLayers},
    {.call = "Conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)",
     .text = "nn.conv2d_layer({in_channels}, {out_channels}, {kernel_size}<, stride: {stride}><, padding: {padding}>"
             "<, dilation: {dilation}><, groups: {groups}><, bias: {bias}>)",
     .form = kLayer,
     .help = kLayers},
    {.call = "LSTM(input_size, hidden_size, num_layers, bias, batch_first=true, dropout, bidirectional)",
     .text = "nn.lstm({input_size}, {hidden_size}<, layers: {num_layers}><, bias: {bias}><, dropout: {dropout}>"
             "<, bidirectional: {bidirectional}>)",
     .form = kLayer,
     .help = kLayers},
    {.call = "GRU(input_size, hidden_size, num_layers, bias, batch_first=true, dropout, bidirectional)",
     .text = "nn.gru({input_size}, {hidden_size}<, layers: {num_layers}><, bias: {bias}><, dropout: {dropout}>"
             "<, bidirectional: {bidirectional}>)",
     .form = kLayer,
     .help = kLayers},
    {.call = "Embedding(num_embeddings, embedding_dim, padding_idx)",
     .text = "nn.embedding({num_embeddings}, {embedding_dim}<, padding_idx: {padding_idx}>)",
     .form = kLayer,
     .help = kLayers},
    {.call = "LayerNorm(normalized_shape, eps)",
     .text = "nn.layer_norm_layer({normalized_shape}<, eps: {eps}>)",
     .form = kLayer,
     .help = kLayers},
    {.call = "BatchNorm1d(num_features, eps, momentum)",
     .text = "nn.batch_norm_layer({num_features}<, eps: {eps}><, momentum: {momentum}>)",
     .form = kLayer,
     .help = kLayers},
    {.call = "BatchNorm2d(num_features, eps, momentum)",
     .text = "nn.batch_norm_layer({num_features}<, eps: {eps}><, momentum: {momentum}>)",
     .form = kLayer,
     .help = kLayers},
    {.call = "Dropout(p)", .text = "nn.dropout_layer(<{p}>)", .form = kLayer, .help = kLayers},
    {.call = "MultiheadAttention(embed_dim, num_heads, -dropout, bias, batch_first=true)",
     .text = "nn.multi_head_attention({embed_dim}, {num_heads}<, bias: {bias}>)",
     .form = kLayer,
     .help = kLayers},
    // Losses.
    {.call = "CrossEntropyLoss()", .text = "nn.cross_entropy", .form = kLayer, .help = kLoss},
    {.call = "CrossEntropyLoss(weight, ignore_index, reduction, label_smoothing)",
     .text =
         "|x, y| nn.cross_entropy(x, y<, weight: {weight}><, ignore_index: {ignore_index}><, reduction: {reduction}>"
         "<, smoothing: {label_smoothing}>)",
     .form = kLayer,
     .help = kLoss},
    {.call = "NLLLoss()", .text = "nn.nll_loss", .form = kLayer, .help = kLoss},
    {.call = "MSELoss()", .text = "nn.mse", .form = kLayer, .help = kLoss},
    {.call = "MSELoss(reduction)",
     .text = "|x, y| nn.mse(x, y, reduction: {reduction})",
     .form = kLayer,
     .help = kLoss},
    {.call = "L1Loss()", .text = "nn.l1", .form = kLayer, .help = kLoss},
    {.call = "SmoothL1Loss()", .text = "nn.smooth_l1", .form = kLayer, .help = kLoss},
    {.call = "HuberLoss()", .text = "nn.huber", .form = kLayer, .help = kLoss},
    {.call = "BCELoss()", .text = "nn.bce", .form = kLayer, .help = kLoss},
    {.call = "BCEWithLogitsLoss()", .text = "nn.bce_with_logits", .form = kLayer, .help = kLoss},
    {.call = "cross_entropy(x, y, weight, ignore_index, reduction, label_smoothing)",
     .text = "nn.cross_entropy({x}, {y}<, weight: {weight}><, ignore_index: {ignore_index}><, reduction: {reduction}>"
             "<, smoothing: {label_smoothing}>)",
     .form = kPrefixed,
     .help = kLoss},
    {.call = "nll_loss(x, y, reduction)",
     .text = "nn.nll_loss({x}, {y}<, reduction: {reduction}>)",
     .form = kPrefixed,
     .help = kLoss},
    {.call = "mse_loss(x, y, reduction)",
     .text = "nn.mse({x}, {y}<, reduction: {reduction}>)",
     .form = kPrefixed,
     .help = kLoss},
    {.call = "l1_loss(x, y, reduction)",
     .text = "nn.l1({x}, {y}<, reduction: {reduction}>)",
     .form = kPrefixed,
     .help = kLoss},
    {.call = "smooth_l1_loss(x, y, reduction)",
     .text = "nn.smooth_l1({x}, {y}<, reduction: {reduction}>)",
     .form = kPrefixed,
     .help = kLoss},
    {.call = "binary_cross_entropy(x, y, reduction)",
     .text = "nn.bce({x}, {y}<, reduction: {reduction}>)",
     .form = kPrefixed,
     .help = kLoss},
    {.call = "binary_cross_entropy_with_logits(x, y, reduction)",
     .text = "nn.bce_with_logits({x}, {y}<, reduction: {reduction}>)",
     .form = kPrefixed,
     .help = kLoss},
    // Training.
    {.call = "SGD(params)", .text = "optim.sgd({params})", .form = kPrefixed, .help = kOptimiser},
    {.call = "Adam(params)", .text = "optim.adam({params})", .form = kPrefixed, .help = kOptimiser},
    {.call = "AdamW(params)", .text = "optim.adamw({params})", .form = kPrefixed, .help = kOptimiser},
    {.call = "RMSprop(params)", .text = "optim.rmsprop({params})", .form = kPrefixed, .help = kOptimiser},
    {.call = "clip_grad_norm_(g, max_norm)", .text = "optim.clip_norm({g}, {max_norm})", .form = kPrefixed},
    {.call = "jit(f)", .text = "{f}", .form = kPrefixed, .help = kCompiled},
    {.call = "compile(f)", .text = "{f}", .form = kPrefixed, .help = kCompiled},
    // Devices.
    {.call = "is_available()", .text = "available({accelerator})", .form = kPrefixed},
    {.call = "device_count()", .text = "count({accelerator})", .form = kPrefixed},
};

struct Declared {
  std::string_view name, only;
  bool dropped = false, text = false, rest = false, must = false, literal = false, byName = false;
};

std::vector<Declared> declaredBy(const ForeignCall& row) {
  std::vector<Declared> list;
  std::string_view inside = row.call.substr(row.call.find('(') + 1);
  inside.remove_suffix(1);
  while (!inside.empty()) {
    const size_t comma = inside.find(", ");
    std::string_view p = inside.substr(0, comma);
    inside = comma == std::string_view::npos ? "" : inside.substr(comma + 2);
    Declared d;
    d.rest = p == "*";
    d.text = p.front() == '"';
    d.dropped = p.front() == '-';
    d.must = p.front() == '!';
    d.literal = p.front() == '+';
    d.byName = p.front() == ':';
    if (d.dropped || d.must || d.literal || d.byName) p.remove_prefix(1);
    const size_t equals = p.find('=');
    if (equals != std::string_view::npos) {
      d.only = p.substr(equals + 1);
      d.dropped = true;
    }
    d.name = p.substr(0, equals);
    list.push_back(d);
  }
  return list;
}

using Given = std::map<std::string, std::vector<ForeignArgument>, std::less<>>;

/// Which argument each parameter has; nothing where one has no parameter, or not the value that it must have.
std::optional<Given> bound(const ForeignCall& row, std::span<const ForeignArgument> given) {
  const std::vector<Declared> declared = declaredBy(row);
  Given found;
  size_t next = 0;
  for (const ForeignArgument& a : given) {
    auto d = declared.begin();
    if (!a.name.empty()) {
      d = std::find_if(declared.begin(), declared.end(), [&](const Declared& x) { return x.name == a.name; });
    } else {
      while (next < declared.size() && found.contains(declared[next].name) && !declared[next].rest) ++next;
      d = declared.begin() + static_cast<std::ptrdiff_t>(next);
    }
    if (d == declared.end() || (d->byName && a.name.empty()) || (d->literal && !a.number)) return std::nullopt;
    // Perhaps TL's order of arguments.
    if (d->name == "dim" && a.name.empty() && !a.number && a.parts.empty()) return std::nullopt;
    if (d->text && a.text != d->name) return std::nullopt;
    if (!d->only.empty() && a.text != d->only) return std::nullopt;
    found[std::string(d->name)].push_back(a);
  }
  const auto isMissing = [&](const Declared& d) { return !found.contains(d.name) && (d.text || d.must); };
  return std::any_of(declared.begin(), declared.end(), isMissing) ? std::nullopt : std::optional(found);
}

/// Brackets around sizes, however they are written.
std::string asShape(const std::vector<ForeignArgument>& sizes) {
  if (sizes.size() == 1 && sizes[0].parts.empty())
    return sizes[0].number || sizes[0].compound ? "[" + sizes[0].text + "]" : sizes[0].text;
  std::string text;
  for (const ForeignArgument& a : sizes) {
    for (const std::string& p : a.parts.empty() ? std::vector{a.text} : a.parts) text += (text.empty() ? "" : ", ") + p;
  }
  return "[" + text + "]";
}

/// Whether what stands at both sides of a hole keeps an operand apart.
bool standsApart(std::string_view before, std::string_view behind) {
  while (!before.empty() && before.back() == ' ') before.remove_suffix(1);
  while (!behind.empty() && behind.front() == ' ') behind.remove_prefix(1);
  const bool left = before.empty() || std::string_view("(,:[=|").find(before.back()) != std::string_view::npos;
  const bool right = behind.empty() || std::string_view("),]<>").find(behind.front()) != std::string_view::npos;
  return left && right;
}

/// The text of one hole; nothing for a parameter that is not given.
std::optional<std::string> filled(std::string_view hole, const Given& given, bool apart, std::string_view accelerator) {
  if (hole == "accelerator") return std::string(accelerator);
  const char form = hole.front();
  if (form == '#' || form == '2') hole.remove_prefix(1);
  const size_t dot = hole.find('.');
  const auto found = given.find(hole.substr(0, dot));
  if (found == given.end()) return std::nullopt;
  const std::vector<ForeignArgument>& list = found->second;
  if (dot != std::string_view::npos) {
    const size_t place = static_cast<size_t>(hole[dot + 1] - '0');
    return place < list[0].parts.size() ? std::optional(list[0].parts[place]) : std::nullopt;
  }
  if (form == '#') return asShape(list);
  if (form == '2') return list[0].parts.empty() ? "[" + list[0].text + ", " + list[0].text + "]" : asShape(list);
  std::string text;
  for (const ForeignArgument& a : list)
    text += (text.empty() ? "" : ", ") + (a.compound && !apart ? "(" + a.text + ")" : a.text);
  return list.size() == 1 && hole == "*" ? text + "," : text;
}

std::optional<std::string> expanded(std::string_view pattern, const Given& given, std::string_view accelerator) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '<') {
      const size_t end = pattern.find('>', i);
      if (const auto part = expanded(pattern.substr(i + 1, end - i - 1), given, accelerator)) out += *part;
      i = end;
    } else if (pattern[i] == '{') {
      const size_t end = pattern.find('}', i);
      const bool apart = standsApart(pattern.substr(0, i), pattern.substr(end + 1));
      const auto text = filled(pattern.substr(i + 1, end - i - 1), given, apart, accelerator);
      if (!text) return std::nullopt;
      out += *text;
      i = end;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

}  // namespace

std::vector<const ForeignCall*> foreignCalls(std::string_view name) {
  std::vector<const ForeignCall*> rows;
  for (const ForeignCall& r : kCalls)
    if (r.name() == name) rows.push_back(&r);
  return rows;
}

std::optional<std::string> rewritten(const ForeignCall& row, std::span<const ForeignArgument> given,
                                     std::string_view accelerator) {
  if (row.rank >= 0 && (given.empty() || given[0].rank != row.rank)) return std::nullopt;
  const auto arguments = bound(row, given);
  return arguments ? expanded(row.text, *arguments, accelerator) : std::nullopt;
}

std::optional<std::string> rewrittenSecond(const ForeignCall& row, std::span<const ForeignArgument> given,
                                           std::string_view accelerator) {
  const auto arguments = bound(row, given);
  return arguments ? expanded(row.second, *arguments, accelerator) : std::nullopt;
}

std::span<const ForeignCall> foreignCalls() { return kCalls; }

}  // namespace tenc::syntax
