" Vim syntax file for TL, the language of tenc. Made by editors/make.py.
if exists("b:current_syntax")
  finish
endif

syn match tlName "\<[A-Za-z_]\w*\>"
syn match tlType "\<[A-Z]\w*\>"
syn keyword tlDeclaration let var const fn struct type import
syn keyword tlControl for in by while if else break continue return assert
syn keyword tlWordOperator and or not
syn keyword tlConstant true false inf nan pi
syn keyword tlModifier static state autocast new
syn keyword tlDType f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool

syn match tlDeclaration "\<\%(param\|device\)\>\ze[ \t]\+\h\w*[ \t]*[:=]"
syn match tlDeclaration "\<\%(test\|bench\)\>\ze[ \t]\+\""
syn match tlKind "\%(: \)\@2<=\%(real\|float\|int\|any\|tree\|device\|fn\)\ze[ \t]*[],=]"
syn match tlFunction "\%(\<fn \)\@3<=\h\w*"
syn match tlBuiltin "\<\%(abs\|acos\|acosh\|adaptive_avg_pool\|adaptive_max_pool\|all\|allclose\|any\|arange\|argmax\|argmin\|argsort\|argwhere\|asin\|asinh\|atan\|atan2\|atanh\|attention\|available\|avg_pool\|batch_norm\|bernoulli\|bincount\|bitcast\|bitwise_and\|bitwise_invert\|bitwise_left_shift\|bitwise_or\|bitwise_right_shift\|bitwise_xor\|broadcast_to\|categorical\|cbrt\|ceil\|celu\|checkpoint\|cholesky\|clamp\|concat\|conv1d\|conv2d\|conv3d\|conv_transpose1d\|conv_transpose2d\|conv_transpose3d\|copysign\|cos\|cosh\|count\|count_nonzero\|cross\|cummax\|cummin\|cumprod\|cumsum\|custom_vjp\|dbg\|det\|devices\|diag\|diagonal\|digamma\|dot\|dropout\|eigh\|einsum\|elu\|empty\|enumerate\|eps\|erf\|erfc\|exp\|exp2\|expand_dims\|expm1\|eye\|flatten\|flip\|floor\|fma\|fmod\|fold\|full\|full_like\|gather\|gelu\|grad\|group_norm\|hardsigmoid\|hardswish\|hardtanh\|histogram\|hypot\|instance_norm\|interp\|inv\|isclose\|isfinite\|isinf\|isnan\|jvp\|kthvalue\|layer_norm\|leaky_relu\|lerp\|lgamma\|linspace\|list\|load\|load_bytes\|load_csv\|log\|log10\|log1p\|log2\|log_softmax\|logaddexp\|logcumsumexp\|logical_and\|logical_not\|logical_or\|logical_xor\|logsumexp\|lp_pool\|lstsq\|map\|map_leaves\|masked_select\|matmul\|matrix_norm\|matrix_power\|max\|max_pool\|max_pool_with_indices\|max_unpool\|max_value\|maximum\|mean\|median\|memory\|meshgrid\|min\|min_value\|minimum\|mish\|mode\|moveaxis\|name\|nanmax\|nanmean\|nanmedian\|nanmin\|nanprod\|nanquantile\|nanstd\|nansum\|nanvariance\|nextafter\|nonzero\|norm\|normalize\|one_hot\|ones\|ones_like\|outer\|pad\|permutation\|permute_dims\|popcount\|pow\|print\|prod\|qr\|quantile\|rand\|randint\|randn\|reciprocal\|reduce\|relu\|repeat\|reshape\|rev\|rms_norm\|rng_state\|roll\|round\|rsqrt\|save\|save_bytes\|scan\|scatter\|searchsorted\|seed\|selu\|sigmoid\|sign\|silu\|sin\|sinh\|slogdet\|softmax\|softplus\|softsign\|solve\|solve_triangular\|sort\|split\|sqrt\|square\|squeeze\|stack\|std\|stop_gradient\|sum\|svd\|tabulate\|take\|take_along_axis\|tan\|tanh\|tensordot\|text\|tile\|time\|topk\|trace\|transpose\|tril\|triu\|trunc\|trunc_div\|tuple\|unfold\|unique\|unstack\|value_and_grad\|variance\|vecdot\|vjp\|vmap\|where\|zeros\|zeros_like\|zip\)\>\ze[ \t]*[[(]"
syn match tlDevice "\<\%(cuda\):\d\+\>\|\<cpu\>\|\<\%(cuda\)\>"
syn match tlMember "\.\@1<=\%(\.\.\)\@2<!\h\w*"
syn match tlAnnotation "[[:alnum:]_)\]]\@1<!@\h\w*"
syn match tlNumber "\<0x\x\%(_\?\x\)*\|\<\d\%(_\?\d\)*\%(\.\d\%(_\?\d\)*\)\?\%([eE][-+]\?\d\+\)\?"
syn match tlEscape contained "\\[nt\\\"]\|{{\|}}"
syn region tlHole contained matchgroup=tlEscape start="{" end="}\|\ze\"" oneline contains=TOP,tlComment,tlDoc
syn region tlString start=+"+ end=+"+ oneline contains=tlEscape,tlHole
syn match tlComment "#.*$" contains=tlTodo
syn match tlDoc "##.*$" contains=tlTodo
syn keyword tlTodo contained TODO FIXME

hi def link tlDeclaration Keyword
hi def link tlControl Conditional
hi def link tlWordOperator Operator
hi def link tlConstant Constant
hi def link tlModifier StorageClass
hi def link tlDType Type
hi def link tlType Type
hi def link tlKind Type
hi def link tlFunction Function
hi def link tlBuiltin Function
hi def link tlDevice Constant
hi def link tlMember Normal
hi def link tlName Normal
hi def link tlAnnotation PreProc
hi def link tlNumber Number
hi def link tlEscape SpecialChar
hi def link tlString String
hi def link tlComment Comment
hi def link tlDoc SpecialComment
hi def link tlTodo Todo

let b:current_syntax = "tl"
