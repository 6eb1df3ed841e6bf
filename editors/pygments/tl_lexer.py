"""A lexer for TL, the language of tenc, for Pygments. Made by editors/make.py."""
from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["TlLexer"]


class TlLexer(RegexLexer):
    name = "TL"
    aliases = ["tl"]
    filenames = ["*.tl"]
    mimetypes = ["text/x-tl"]

    tokens = {
        "root": [
            (r"##[^\n]*", String.Doc),
            (r"#[^\n]*", Comment.Single),
            (r"\s+", Text),
            (r'"', String, "string"),
            (r'''\b0x[0-9a-fA-F](?:_?[0-9a-fA-F])*|\b[0-9](?:_?[0-9])*(?:\.[0-9](?:_?[0-9])*)?[eE][-+]?[0-9]+|\b[0-9](?:_?[0-9])*\.(?:[0-9](?:_?[0-9])*)?(?![.\w])|\b[0-9](?:_?[0-9])*''', Number),
            (r'''(?<=\.)(?<!\.\.)[A-Za-z_][A-Za-z0-9_]*''', Name.Attribute),
            (r'''\b(?:param|device)(?=[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*[:=])''', Keyword.Declaration),
            (r'''\b(?:test|bench)(?=[ \t]+\")''', Keyword.Declaration),
            (r'''(?<=: )(?:real|float|int|any|tree|device|fn)(?=[ \t]*[,=\]])''', Keyword.Type),
            (r'''\b(?:cuda):[0-9]+\b|\bcpu\b|\b(?:cuda)\b''', Name.Constant),
            (r'''(?<=\bfn )[A-Za-z_][A-Za-z0-9_]*''', Name.Function),
            (r'''\b(?:let|var|const|fn|struct|type|import)\b''', Keyword.Declaration),
            (r'''\b(?:for|in|by|while|if|else|break|continue|return|assert)\b''', Keyword),
            (r'''\b(?:and|or|not)\b''', Operator.Word),
            (r'''\b(?:true|false)\b''', Keyword.Constant),
            (r'''(?<![\w)\]])@(?:autocast\b|[A-Za-z_][A-Za-z0-9_]*)''', Name.Decorator),
            (r'''\b(?:static|state|autocast|new)\b''', Keyword.Reserved),
            (r'''\b(?:inf|nan|pi)\b''', Keyword.Constant),
            (r'''\b(?:f16|bf16|f32|f64|i8|i16|i32|i64|u8|u16|u32|u64|bool)\b''', Keyword.Type),
            (r'''\b[A-Z][A-Za-z0-9_]*\b''', Name.Class),
            (r'''\b(?:abs|acos|acosh|adaptive_avg_pool|adaptive_max_pool|all|allclose|any|arange|argmax|argmin|argsort|argwhere|asin|asinh|atan|atan2|atanh|attention|available|avg_pool|batch_norm|bernoulli|bincount|bitcast|bitwise_and|bitwise_invert|bitwise_left_shift|bitwise_or|bitwise_right_shift|bitwise_xor|broadcast_to|categorical|cbrt|ceil|celu|checkpoint|cholesky|clamp|concat|conv1d|conv2d|conv3d|conv_transpose1d|conv_transpose2d|conv_transpose3d|copysign|cos|cosh|count|count_nonzero|cross|cummax|cummin|cumprod|cumsum|custom_vjp|dbg|det|devices|diag|diagonal|digamma|dot|dropout|eigh|einsum|elu|empty|enumerate|eps|erf|erfc|exp|exp2|expand_dims|expm1|eye|flatten|flip|floor|fma|fmod|fold|full|full_like|gather|gelu|grad|group_norm|hardsigmoid|hardswish|hardtanh|histogram|hypot|instance_norm|interp|inv|isclose|isfinite|isinf|isnan|jvp|kthvalue|layer_norm|leaky_relu|lerp|lgamma|linspace|list|load|load_bytes|load_csv|log|log10|log1p|log2|log_softmax|logaddexp|logcumsumexp|logical_and|logical_not|logical_or|logical_xor|logsumexp|lp_pool|lstsq|map|map_leaves|masked_select|matmul|matrix_norm|matrix_power|max|max_pool|max_pool_with_indices|max_unpool|max_value|maximum|mean|median|memory|meshgrid|min|min_value|minimum|mish|mode|moveaxis|name|nanmax|nanmean|nanmedian|nanmin|nanprod|nanquantile|nanstd|nansum|nanvariance|nextafter|nonzero|norm|normalize|one_hot|ones|ones_like|outer|pad|permutation|permute_dims|popcount|pow|print|prod|qr|quantile|rand|randint|randn|reciprocal|reduce|relu|repeat|reshape|rev|rms_norm|rng_state|roll|round|rsqrt|save|save_bytes|scan|scatter|searchsorted|seed|selu|sigmoid|sign|silu|sin|sinh|slogdet|softmax|softplus|softsign|solve|solve_triangular|sort|split|sqrt|square|squeeze|stack|std|stop_gradient|sum|svd|tabulate|take|take_along_axis|tan|tanh|tensordot|text|tile|time|topk|trace|transpose|tril|triu|trunc|trunc_div|tuple|unfold|unique|unstack|value_and_grad|variance|vecdot|vjp|vmap|where|zeros|zeros_like|zip)\b(?=[ \t]*[(\[])''', Name.Builtin),
            (r'''[A-Za-z_][A-Za-z0-9_]*''', Name),
            (r'''\|>|->|\*\*=?|//=?|:\+|\.\.\.?|[-+*/%@=!<>]=?|\|\|?|&&?''', Operator),
            (r'''[{}()\[\],:;.]''', Punctuation),
        ],
        "string": [
            (r'"|$', String, "#pop"),
            (r'''\\[nt\\\"]|\{\{|\}\}''', String.Escape),
            (r"\{", String.Interpol, "hole"),
            (r'[^"\\{}\n]+|.', String),
        ],
        "hole": [
            (r"\}|(?=\")", String.Interpol, "#pop"),
            (r"\s+", Text),
            (r'''\b0x[0-9a-fA-F](?:_?[0-9a-fA-F])*|\b[0-9](?:_?[0-9])*(?:\.[0-9](?:_?[0-9])*)?[eE][-+]?[0-9]+|\b[0-9](?:_?[0-9])*\.(?:[0-9](?:_?[0-9])*)?(?![.\w])|\b[0-9](?:_?[0-9])*''', Number),
            (r'''(?<=\.)(?<!\.\.)[A-Za-z_][A-Za-z0-9_]*''', Name.Attribute),
            (r'''\b(?:param|device)(?=[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*[:=])''', Keyword.Declaration),
            (r'''\b(?:test|bench)(?=[ \t]+\")''', Keyword.Declaration),
            (r'''(?<=: )(?:real|float|int|any|tree|device|fn)(?=[ \t]*[,=\]])''', Keyword.Type),
            (r'''\b(?:cuda):[0-9]+\b|\bcpu\b|\b(?:cuda)\b''', Name.Constant),
            (r'''(?<=\bfn )[A-Za-z_][A-Za-z0-9_]*''', Name.Function),
            (r'''\b(?:let|var|const|fn|struct|type|import)\b''', Keyword.Declaration),
            (r'''\b(?:for|in|by|while|if|else|break|continue|return|assert)\b''', Keyword),
            (r'''\b(?:and|or|not)\b''', Operator.Word),
            (r'''\b(?:true|false)\b''', Keyword.Constant),
            (r'''(?<![\w)\]])@(?:autocast\b|[A-Za-z_][A-Za-z0-9_]*)''', Name.Decorator),
            (r'''\b(?:static|state|autocast|new)\b''', Keyword.Reserved),
            (r'''\b(?:inf|nan|pi)\b''', Keyword.Constant),
            (r'''\b(?:f16|bf16|f32|f64|i8|i16|i32|i64|u8|u16|u32|u64|bool)\b''', Keyword.Type),
            (r'''\b[A-Z][A-Za-z0-9_]*\b''', Name.Class),
            (r'''\b(?:abs|acos|acosh|adaptive_avg_pool|adaptive_max_pool|all|allclose|any|arange|argmax|argmin|argsort|argwhere|asin|asinh|atan|atan2|atanh|attention|available|avg_pool|batch_norm|bernoulli|bincount|bitcast|bitwise_and|bitwise_invert|bitwise_left_shift|bitwise_or|bitwise_right_shift|bitwise_xor|broadcast_to|categorical|cbrt|ceil|celu|checkpoint|cholesky|clamp|concat|conv1d|conv2d|conv3d|conv_transpose1d|conv_transpose2d|conv_transpose3d|copysign|cos|cosh|count|count_nonzero|cross|cummax|cummin|cumprod|cumsum|custom_vjp|dbg|det|devices|diag|diagonal|digamma|dot|dropout|eigh|einsum|elu|empty|enumerate|eps|erf|erfc|exp|exp2|expand_dims|expm1|eye|flatten|flip|floor|fma|fmod|fold|full|full_like|gather|gelu|grad|group_norm|hardsigmoid|hardswish|hardtanh|histogram|hypot|instance_norm|interp|inv|isclose|isfinite|isinf|isnan|jvp|kthvalue|layer_norm|leaky_relu|lerp|lgamma|linspace|list|load|load_bytes|load_csv|log|log10|log1p|log2|log_softmax|logaddexp|logcumsumexp|logical_and|logical_not|logical_or|logical_xor|logsumexp|lp_pool|lstsq|map|map_leaves|masked_select|matmul|matrix_norm|matrix_power|max|max_pool|max_pool_with_indices|max_unpool|max_value|maximum|mean|median|memory|meshgrid|min|min_value|minimum|mish|mode|moveaxis|name|nanmax|nanmean|nanmedian|nanmin|nanprod|nanquantile|nanstd|nansum|nanvariance|nextafter|nonzero|norm|normalize|one_hot|ones|ones_like|outer|pad|permutation|permute_dims|popcount|pow|print|prod|qr|quantile|rand|randint|randn|reciprocal|reduce|relu|repeat|reshape|rev|rms_norm|rng_state|roll|round|rsqrt|save|save_bytes|scan|scatter|searchsorted|seed|selu|sigmoid|sign|silu|sin|sinh|slogdet|softmax|softplus|softsign|solve|solve_triangular|sort|split|sqrt|square|squeeze|stack|std|stop_gradient|sum|svd|tabulate|take|take_along_axis|tan|tanh|tensordot|text|tile|time|topk|trace|transpose|tril|triu|trunc|trunc_div|tuple|unfold|unique|unstack|value_and_grad|variance|vecdot|vjp|vmap|where|zeros|zeros_like|zip)\b(?=[ \t]*[(\[])''', Name.Builtin),
            (r'''[A-Za-z_][A-Za-z0-9_]*''', Name),
            (r'''\|>|->|\*\*=?|//=?|:\+|\.\.\.?|[-+*/%@=!<>]=?|\|\|?|&&?''', Operator),
            (r'''[{}()\[\],:;.]''', Punctuation),
        ],
    }
