"""Invalid arguments raise a Python exception at the call and never end the process.

Calls the ops with shape functions (src/simmps/device/shapes/shapes_*.cpp), replacing each number and
list of numbers of a valid call by invalid ones. The device must accept what the CPU accepts, with the
same sizes, and refuse what it refuses. All calls run in one process, which prints each call first, so
that its last line names one that ends it.
"""
import subprocess
import sys
import unittest

LISTS = ([], [1], [1, 1, 1], [1] * 40, [0, 0], [0, 0, 0], [-1, -1], [-3, 2, 2], [2, -9, 1, 1],
         [1 << 62, 1 << 62], [0], [-(1 << 63)])
MASKS = ([], [True], [True] * 7)
NUMBERS = (0, -1, -7, 1 << 40, 1 << 62, -(1 << 63))


def calls(torch):
    """(name, op, [arguments]): a valid call of each op."""
    aten, ones = torch.ops.aten, torch.ones
    image, volume = ones(2, 3, 8, 8), ones(2, 3, 8, 8, 8)
    rows, matrix = ones(4, 5), ones(3, 3)
    flat, deep = torch.zeros(2, 3, 4, 4).long(), torch.zeros(2, 3, 4, 4, 4).long()
    return [
        ("im2col", aten.im2col, [image, [2, 2], [1, 1], [0, 0], [1, 1]]),
        ("col2im", aten.col2im, [ones(2, 12, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]]),
        ("max_pool3d", aten.max_pool3d_with_indices, [volume, [2, 2, 2], [2, 2, 2], [0, 0, 0],
                                                      [1, 1, 1]]),
        ("max_unpool2d", aten.max_unpool2d, [ones(2, 3, 4, 4), flat, [8, 8]]),
        ("max_unpool3d", aten.max_unpool3d, [ones(2, 3, 4, 4, 4), deep, [8, 8, 8], [2, 2, 2],
                                             [0, 0, 0]]),
        ("reflection_pad2d", aten.reflection_pad2d, [image, [1, 1, 1, 1]]),
        ("adaptive_avg_pool2d", aten._adaptive_avg_pool2d, [image, [2, 2]]),
        ("grid_sampler_2d", aten.grid_sampler_2d, [image, ones(2, 4, 4, 2), 0, 0, False]),
        ("histc", aten.histc, [rows, 10]),
        ("multinomial", aten.multinomial, [rows, 2, False]),
        ("nonzero_static", aten.nonzero_static, [rows]),
        ("index_select", aten.index_select, [rows, 0, torch.tensor([1, 2])]),
        ("cdist", aten._cdist_forward, [rows, rows, 2.0, None]),
        ("addbmm", aten.addbmm, [matrix, ones(2, 3, 4), ones(2, 4, 3)]),
        ("addr", aten.addr, [matrix, ones(3), ones(3)]),
        ("dot", aten.dot, [ones(3), ones(3)]),
        ("trace", aten.trace, [matrix]),
        ("roll", aten.roll, [rows, [1, 1], [0, 1]]),
        ("flip", aten.flip, [rows, [0, 1]]),
        ("var", aten.var.correction, [rows, [0, 1]]),
        ("nansum", aten.nansum, [rows, [0, 1]]),
        ("count_nonzero", aten.count_nonzero.dim_IntList, [rows, [0, 1]]),
        ("logcumsumexp", aten._logcumsumexp, [rows, 0]),
        ("layer_norm", aten.native_layer_norm, [rows, [5], None, None, 1e-5]),
        ("bucketize", aten.bucketize.Tensor, [rows, ones(3)]),
        ("huber_loss", aten.huber_loss, [rows, rows, 1, 1.0]),
        ("binary_cross_entropy", aten.binary_cross_entropy, [rows, rows, None, 1]),
        ("nll_loss2d", aten.nll_loss2d_forward, [image, torch.zeros(2, 8, 8).long(), None, 1, -100]),
        ("grid_sampler_3d", aten.grid_sampler_3d, [volume, ones(2, 4, 4, 4, 3), 0, 0, False]),
        ("group_norm", aten.native_group_norm, [image, None, None, 2, 3, 64, 3, 1e-5]),
        ("batch_norm", aten.native_batch_norm, [image, None, None, None, None, True, 0.1, 1e-5]),
        ("histogram", aten.histogram.bin_ct, [rows, 10]),
        ("searchsorted", aten.searchsorted.Tensor, [ones(4, 3), rows]),
        ("repeat_interleave", aten.repeat_interleave.Tensor, [ones(3).long()]),
        ("prod", aten.prod, [rows]),
        ("where", aten.where.self, [rows > 0, rows, rows]),
        ("prelu", aten._prelu_kernel, [rows, ones(5)]),
        ("log_sigmoid", aten.log_sigmoid_forward, [rows]),
    ]


def trusting_calls(torch):
    """As calls(), for ops whose CPU kernels end the process on tensors of other sizes."""
    aten, ones = torch.ops.aten, torch.ones
    image, rows = ones(2, 3, 8, 8), ones(4, 5)
    three = [True, True, True]
    return [
        ("weight_norm", aten._weight_norm_interface, [rows, ones(4, 1), 0]),
        ("embedding_dense_backward", aten.embedding_dense_backward,
         [rows, torch.tensor([0, 1, 1, 2]), 3, -1, False]),
        ("grid_sampler_2d_backward", aten.grid_sampler_2d_backward,
         [ones(2, 3, 4, 4), image, ones(2, 4, 4, 2), 0, 0, False, [True, True]]),
        ("layer_norm_backward", aten.native_layer_norm_backward,
         [rows, rows, [5], ones(4, 1), ones(4, 1), None, None, [True, False, False]]),
        ("group_norm_backward", aten.native_group_norm_backward,
         [image, image, ones(2, 3), ones(2, 3), ones(3), 2, 3, 64, 3, three]),
        ("batch_norm_backward", aten.native_batch_norm_backward,
         [image, image, ones(3), None, None, ones(3), ones(3), True, 1e-5, three]),
    ]


def factories(torch, device):
    """(name, call) of ops that create tensors whose sizes come from numbers."""
    def made(op, *arguments):
        return lambda: op(*arguments, device=device)
    least, most = -(1 << 63), (1 << 63) - 1
    for arguments in ((0, 5, 0), (5, 0, 10), (0.0, float("nan"), 1.0),
                      (0.0, 1e30, 1e-30), (0.0, float("inf"), 1.0), (0, 10, 3), (0.0, -1.0, 2.0)):
        yield f"arange{arguments}", made(torch.arange, *arguments)
    for count in (-1, least, most):
        yield f"linspace to {count}", made(torch.linspace, 0, 1, count)
        yield f"eye of {count}", made(torch.eye, count)
        yield f"randperm of {count}", made(torch.randperm, count)


# Not run on the CPU: PyTorch's arange divides the smallest number by -1 and ends the process.
WORSE_ON_THE_CPU = ((0, -(1 << 63), -1), (-(1 << 63), (1 << 63) - 1, 1))


def variants(torch, arguments, with_tensors):
    """The valid arguments, then variants with one number, list or (optionally) tensor replaced."""
    yield arguments
    for i, good in enumerate(arguments):
        if isinstance(good, list):
            replaced = MASKS if isinstance(good[0], bool) else LISTS
        elif isinstance(good, torch.Tensor) and with_tensors:
            replaced = [torch.ones(sizes, dtype=good.dtype) for sizes in ([], [1], [2, 0], [1] * 7)]
        elif isinstance(good, int) and not isinstance(good, bool):
            replaced = NUMBERS
        else:
            continue
        for bad in replaced:
            yield arguments[:i] + [bad] + arguments[i + 1:]


def outcome(torch, call):
    """Sizes of the results, or None if it raises."""
    try:
        results = call()
        torch.mps.synchronize()
    except Exception:  # noqa: BLE001 - any exception is better than a crash
        # A failure of a job must not surface in the next call.
        torch.mps.synchronize()
        return None
    return [None if each is None else tuple(each.shape)
            for each in (results if isinstance(results, tuple) else (results,))]


def refuse():
    raise ValueError("in place of a call that the CPU does not survive")


def on_device(torch, arguments):
    return [each.to("mps") if isinstance(each, torch.Tensor) else each for each in arguments]


def serve():
    from simulated_mps import torch
    torch.set_num_threads(1)
    jobs = []
    table = [(*call, True) for call in calls(torch)]
    table += [(*call, False) for call in trusting_calls(torch)]
    for name, op, good, with_tensors in table:
        for arguments in variants(torch, good, with_tensors):
            shown = [tuple(each.shape) if isinstance(each, torch.Tensor) else each
                     for each in arguments]
            moved = on_device(torch, arguments)
            jobs.append((f"{name} {shown}", lambda op=op, a=arguments: op(*a),
                         lambda op=op, a=moved: op(*a)))
    for (name, cpu), (_, mps) in zip(factories(torch, "cpu"), factories(torch, "mps")):
        jobs.append((name, cpu, mps))
    for arguments in WORSE_ON_THE_CPU:
        jobs.append((f"arange{arguments}", refuse,
                     lambda a=arguments: torch.arange(*a, device="mps")))
    wrong = 0
    for name, cpu, mps in jobs:
        print("CALL", name, flush=True)
        expected = outcome(torch, cpu)
        print("on mps", flush=True)
        actual = outcome(torch, mps)
        if expected != actual:
            wrong += 1
            print("DIFFERS", name, "CPU:", expected, "mps:", actual, flush=True)
    print("calls:", len(jobs), "wrong:", wrong)


class BadArguments(unittest.TestCase):
    def test_raise_and_do_not_crash(self):
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-W", "ignore", __file__, "serve"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=800,
                              check=False)
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 0, "\n".join(lines[-2:] + [done.stderr[-2000:]]))
        differing = [line for line in lines if line.startswith("DIFFERS")]
        self.assertEqual(differing, [])
        self.assertGreater(sum(line.startswith("CALL") for line in lines), 700)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        unittest.main()
