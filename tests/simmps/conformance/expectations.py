"""Expected outcomes of single entries, each with a reason; the runner checks every line.

A listed entry that passes is an error, and so is a failing entry that is not listed. The lists are those of
PyTorch 2.13. In other versions an entry is expected to be refused where its op lacks a kernel by that
version's native_functions.yaml; other entries may be in the database.
"""
import importlib.metadata
import importlib.util
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../src/simmps/device"))
import make_fallback_ops  # noqa: E402

REFERENCE = (2, 13)


def running_version():
    """(major, minor) of the PyTorch of this Python; that of the lists where there is none."""
    try:
        return tuple(int(part) for part in importlib.metadata.version("torch").split(".")[:2])
    except importlib.metadata.PackageNotFoundError:
        return REFERENCE


def ops_without_kernel():
    """The ops without an MPS kernel in this PyTorch, without "aten::"; None if it has no list of them."""
    package = importlib.util.find_spec("torchgen")
    if package is None:
        return None
    path = os.path.join(os.path.dirname(package.origin), "packaged/ATen/native/native_functions.yaml")
    with open(path, encoding="utf-8") as file:
        return set(make_fallback_ops.fallback_ops(make_fallback_ops.read_ops(file)))


VERSION = running_version()
LACKING = ops_without_kernel()


# {entry: op without an MPS kernel}: refused with PyTorch's NotImplementedError. With
# PYTORCH_ENABLE_MPS_FALLBACK=1 they must give the CPU's results.
WITHOUT_KERNEL = {
    "_segment_reduce.lengths": "segment_reduce",
    "_segment_reduce.offsets": "segment_reduce",
    "_upsample_bilinear2d_aa": "_upsample_bilinear2d_aa_backward.grad_input",
    "frexp": "frexp.Tensor_out",
    "geqrf": "geqrf",
    "hash_tensor": "hash_tensor.out",
    "heaviside": "heaviside.out",
    "linalg.cond": "_linalg_svd.U",
    "linalg.eig": "linalg_eig",
    "linalg.eigh": "_linalg_eigh.eigenvalues",
    "linalg.eigvals": "linalg_eig",
    "linalg.eigvalsh": "_linalg_eigh.eigenvalues",
    "linalg.ldl_factor": "linalg_ldl_factor_ex.out",
    "linalg.ldl_factor_ex": "linalg_ldl_factor_ex.out",
    "linalg.ldl_solve": "linalg_ldl_solve.out",
    "linalg.lstsq": "linalg_lstsq.out",
    "linalg.lstsq.grad_oriented": "linalg_lstsq.out",
    "linalg.matrix_norm": "_linalg_svd.U",
    "linalg.matrix_rank": "_linalg_svd.U",
    "linalg.matrix_rank.hermitian": "_linalg_eigh.eigenvalues",
    "linalg.norm": "_linalg_svd.U",
    "linalg.norm.subgradients_at_zero": "_linalg_svd.U",
    "linalg.pinv.hermitian": "_linalg_eigh.eigenvalues",
    "linalg.svdvals": "_linalg_svd.U",
    "logspace": "logspace.out",
    "logspace.tensor_overload": "logspace.out",
    "matrix_exp": "linalg_matrix_exp",
    "mode": "mode",
    "nn.functional.adaptive_avg_pool3d": "_adaptive_avg_pool3d",
    "nn.functional.adaptive_max_pool3d": "adaptive_max_pool3d.out",
    "nn.functional.channel_shuffle": "channel_shuffle",
    "nn.functional.ctc_loss": "_ctc_loss",
    "nn.functional.fractional_max_pool2d": "fractional_max_pool2d.output",
    "nn.functional.fractional_max_pool3d": "fractional_max_pool3d.output",
    "nn.functional.interpolate.area": "_adaptive_avg_pool3d",
    "nn.functional.multi_margin_loss": "multi_margin_loss",
    "nn.functional.multilabel_margin_loss": "multilabel_margin_loss_forward",
    "nn.functional.pdist": "_pdist_forward",
    "nn.functional.rrelu": "rrelu_with_noise",
    "norm.nuc": "_linalg_svd.U",
    "ormqr": "ormqr",
    "put": "put_",
    "special.airy_ai": "special_airy_ai.out",
    "special.laguerre_polynomial_l": "special_laguerre_polynomial_l.out",
    "special.legendre_polynomial_p": "special_legendre_polynomial_p.out",
    "special.log_ndtr": "special_log_ndtr.out",
    "special.ndtri": "special_ndtri.out",
    "take": "take",
}

# Only float32 has samples that reach the missing kernel.
FLOAT32_ONLY = ("linalg.matrix_norm", "linalg.norm", "linalg.norm.subgradients_at_zero")

# Refused in every comparable sample, since they need float64, which MPS does not have.
FLOAT64 = {
    "cdouble": "converts to complex128",
    "double": "converts to float64",
    "float_power": "computes in float64",
    "log_softmax.with_dtype": "dtype=float64 in each sample",
    "nn.functional.softmin.with_dtype": "dtype=float64 in each sample",
    "softmax.with_dtype": "dtype=float64 in each sample",
    "to": "converts to float64 in each sample",
}

# The simulated device supports strided tensors only.
SPARSE = {
    "sparse.mm.reduce": "takes a compressed sparse tensor",
    "sparse.sampled_addmm": "takes a compressed sparse tensor",
    "to_sparse": "gives a sparse tensor",
}

# Only sizes, strides, dtypes and devices are compared: the values are uninitialised.
UNINITIALIZED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty",
                 "new_empty_strided")

NOT_COMPARABLE = {
    **{name: "uninitialised values; all else was compared" for name in UNINITIALIZED},
    "broadcast_shapes": "computes with sizes only",
    "jiterator_2inputs_2outputs": "CUDA only: raises on both",
    "jiterator_4inputs_with_extra_args": "CUDA only: raises on both",
    "jiterator_binary": "CUDA only: raises on both",
    "jiterator_binary_return_by_ref": "CUDA only: raises on both",
    "jiterator_unary": "CUDA only: raises on both",
}

# Strides are not compared: PyTorch's code before any kernel branches on the device.
STRIDES_OF_MPS = {
    "linalg.lstsq": "the solution is row major, on the CPU column major",
    "linalg.lstsq.grad_oriented": "the solution is row major, on the CPU column major",
    "linalg.lu_factor": "its meta function makes LU row major for mps, column major otherwise",
    "linalg.lu_factor_ex": "its meta function makes LU row major for mps, column major otherwise",
    "linalg.solve": "its meta function makes the result row major for mps, column major otherwise",
    "linalg.solve_ex": "its meta function makes the result row major for mps, column major otherwise",
    "lu": "linalg.lu_factor_ex's meta function makes LU row major for mps, column major otherwise",
    "tensordot": "the CPU multiplies and sums where others multiply matrices",
}

# {entry: (absolute and relative tolerance, reason)}: half precision takes another path.
HALF_TOLERANCE = {
    "nn.functional.linear_cross_entropy.chunked":
        (0.05, "chooses how it accumulates by the device"),
    "nn.functional.linear_cross_entropy.chunked_none":
        (0.05, "chooses how it accumulates by the device"),
}

# All samples of these are needed, since only some reach the missing kernel.
ALL_SAMPLES = ("linalg.norm.subgradients_at_zero",)

# {entry: number of samples} in half precision, of which the CPU computes each in a second or two.
SLOW_IN_HALF = {"grid_sampler_3d": 1}


def lacks_kernel(op):
    """Whether the op, without "aten::", lacks an MPS kernel in this PyTorch."""
    return LACKING is None or op in LACKING


def is_right_in_this_version(kind, ops):
    """Whether a refusal that is not listed is right, because this is another PyTorch than that of the lists."""
    return (VERSION != REFERENCE and LACKING is not None and kind == "no MPS kernel" and
            all(lacks_kernel(op.removeprefix("aten::")) for op in ops))


def refusal(entry, dtype):
    """The (kind, reason) of the entry's expected refusal, or None."""
    if entry in FLOAT32_ONLY and dtype != "float32":
        return None
    if entry in WITHOUT_KERNEL and lacks_kernel(WITHOUT_KERNEL[entry]):
        return "no MPS kernel", "aten::" + WITHOUT_KERNEL[entry]
    if entry in FLOAT64:
        return "float64", FLOAT64[entry]
    if entry in SPARSE:
        return "sparse", SPARSE[entry]
    return None


def known():
    """All entries in any list."""
    return set(WITHOUT_KERNEL) | set(FLOAT64) | set(SPARSE) | set(NOT_COMPARABLE) | set(
        STRIDES_OF_MPS) | set(HALF_TOLERANCE)
