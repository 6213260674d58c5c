"""The entries that training uses, by family; they should hardly ever make the host wait.

Families: elementwise arithmetic and activations, matrix products, normalisation, convolution,
pooling, losses, embedding, indexing, reductions, softmax, dropout, attention, shapes, and the
arithmetic of optimizers and of recurrent cells.
"""

ELEMENTWISE = """abs add sub mul div.no_rounding_mode div.floor_rounding div.trunc_rounding true_divide
    floor_divide rsub remainder neg reciprocal exp expm1 log log1p log2 log10 sqrt rsqrt square pow sin
    cos tan tanh sigmoid erf sign clamp clamp_min clamp_max maximum minimum max.binary min.binary where
    lerp addcmul addcdiv masked_fill eq ne ge gt le lt logical_and logical_or logical_not logical_xor
    isnan isinf isfinite isclose float half bfloat16 long bool nan_to_num round floor ceil trunc fill
    zero_ hypot logaddexp copysign fmod clone contiguous""".split()

ACTIVATIONS = """nn.functional.relu nn.functional.relu6 nn.functional.leaky_relu nn.functional.elu
    nn.functional.selu nn.functional.celu nn.functional.gelu nn.functional.silu nn.functional.mish
    nn.functional.glu nn.functional.prelu nn.functional.softplus nn.functional.softsign
    nn.functional.tanhshrink nn.functional.softshrink nn.functional.hardshrink nn.functional.hardtanh
    nn.functional.hardswish nn.functional.hardsigmoid nn.functional.logsigmoid nn.functional.threshold
    logit""".split()

PRODUCTS = """mm bmm mv matmul addmm addmv addbmm baddbmm addr dot vdot inner outer einsum tensordot
    nn.functional.linear nn.functional.bilinear linalg.multi_dot linalg.vecdot cross linalg.cross
    __rmatmul__""".split()

NORMALISATION = """native_layer_norm native_group_norm native_batch_norm _native_batch_norm_legit
    _batch_norm_with_update nn.functional.batch_norm nn.functional.instance_norm
    nn.functional.group_norm nn.functional.layer_norm nn.functional.rms_norm
    nn.functional.local_response_norm nn.functional.normalize renorm""".split()

CONVOLUTION = """nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d
    nn.functional.conv_transpose1d nn.functional.conv_transpose2d nn.functional.conv_transpose3d
    nn.functional.unfold constant_pad_nd nn.functional.pad.constant nn.functional.pad.reflect
    nn.functional.pad.replicate nn.functional.pad.circular nn.functional.pixel_shuffle
    nn.functional.pixel_unshuffle""".split()

POOLING = """nn.functional.max_pool1d nn.functional.max_pool2d nn.functional.max_pool3d
    nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d
    nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d
    nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d nn.functional.max_unpool2d
    max_pool2d_with_indices_backward nn.functional.interpolate.nearest
    nn.functional.interpolate.bilinear nn.functional.interpolate.bicubic
    nn.functional.upsample_nearest nn.functional.upsample_bilinear nn.functional.grid_sample""".split()

LOSSES = """nn.functional.cross_entropy nn.functional.nll_loss nn.functional.binary_cross_entropy
    nn.functional.binary_cross_entropy_with_logits nn.functional.mse_loss nn.functional.l1_loss
    nn.functional.smooth_l1_loss nn.functional.huber_loss nn.functional.kl_div
    nn.functional.hinge_embedding_loss nn.functional.cosine_embedding_loss
    nn.functional.margin_ranking_loss nn.functional.triplet_margin_loss
    nn.functional.soft_margin_loss nn.functional.multilabel_soft_margin_loss
    nn.functional.poisson_nll_loss nn.functional.gaussian_nll_loss nn.functional.cosine_similarity
    nn.functional.pairwise_distance cdist nn.functional.linear_cross_entropy""".split()

INDEXING = """nn.functional.embedding nn.functional.embedding_bag index_select index_add index_copy
    index_fill index_put gather scatter scatter_add scatter_reduce.sum take_along_dim select slice
    narrow masked_scatter roll flip tril triu sort argsort topk msort searchsorted
    bucketize""".split()

REDUCTIONS = """sum mean std std.unbiased var var.unbiased var_mean std_mean prod max.reduction_no_dim
    max.reduction_with_dim min.reduction_no_dim min.reduction_with_dim amax amin argmax argmin all any
    norm norm.fro norm.inf linalg.vector_norm logsumexp cumsum cumprod count_nonzero median nansum
    trace dist""".split()

SOFTMAX = """softmax log_softmax nn.functional.softmin _softmax_backward_data
    torch.ops.aten._safe_softmax.default""".split()

DROPOUT = """nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d
    nn.functional.alpha_dropout nn.functional.feature_alpha_dropout.with_train
    native_dropout_backward bernoulli uniform normal.in_place rand_like randn_like randint
    randn multinomial""".split()

ATTENTION = """nn.functional.scaled_dot_product_attention
    nn.functional.multi_head_attention_forward""".split()

SHAPES = """view reshape permute transpose t squeeze unsqueeze expand cat stack split chunk unbind
    flatten repeat tile movedim unfold as_strided zeros zeros_like ones ones_like full full_like arange
    linspace eye scalar_tensor meshgrid.variadic_tensors repeat_interleave diagonal diag_embed
    broadcast_to hstack vstack""".split()

TRAINING = (ELEMENTWISE + ACTIVATIONS + PRODUCTS + NORMALISATION + CONVOLUTION + POOLING + LOSSES +
            INDEXING + REDUCTIONS + SOFTMAX + DROPOUT + ATTENTION + SHAPES)
