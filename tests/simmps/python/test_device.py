"""torch.mps.*, torch.accelerator.* and other interfaces of a device in stock PyTorch."""
import copy
import io
import unittest
import warnings

from simulated_mps import mps, torch

MIB = 1024 * 1024
VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


class Queries(unittest.TestCase):
    def test_it_is_there(self):
        self.assertTrue(torch.backends.mps.is_available())
        self.assertTrue(torch.mps.is_available())
        self.assertEqual(torch.mps.device_count(), 1)
        self.assertTrue(torch.backends.mps.is_macos_or_newer(14, 0))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertFalse(torch.backends.mps.is_macos_or_newer(99, 1))
        self.assertIn("Checking for unexpected MacOS 99.1 returning false", str(said[0].message))

    @unittest.skipUnless(hasattr(torch, "accelerator"), "torch.accelerator is 2.6's and later")
    def test_it_is_the_accelerator(self):
        self.assertTrue(torch.accelerator.is_available())
        self.assertEqual(torch.accelerator.current_accelerator(), mps)
        self.assertEqual(torch.accelerator.device_count(), 1)
        torch.accelerator.synchronize()


class Memory(unittest.TestCase):
    def test_counters_follow_tensors(self):
        torch.mps.empty_cache()
        before = torch.mps.current_allocated_memory()
        held = torch.empty(4 * MIB, dtype=torch.uint8, device=mps)
        self.assertEqual(torch.mps.current_allocated_memory() - before, 4 * MIB)
        self.assertGreaterEqual(torch.mps.driver_allocated_memory(),
                                torch.mps.current_allocated_memory())
        self.assertGreater(torch.mps.recommended_max_memory(), 0)
        driver = torch.mps.driver_allocated_memory()
        del held
        self.assertEqual(torch.mps.current_allocated_memory(), before)
        self.assertEqual(torch.mps.driver_allocated_memory(), driver)
        torch.mps.empty_cache()
        self.assertLess(torch.mps.driver_allocated_memory(), driver)

    def test_fraction_has_a_range(self):
        torch.mps.set_per_process_memory_fraction(1.7)
        with self.assertRaisesRegex(ValueError, "2.5. Allowed range: 0~2"):
            torch.mps.set_per_process_memory_fraction(2.5)

    @unittest.skipUnless(hasattr(torch, "accelerator") and
                         hasattr(torch.accelerator, "memory_stats"), "2.9's and later")
    def test_statistics_keep_peaks(self):
        torch.accelerator.reset_peak_memory_stats()
        start = torch.accelerator.memory_allocated()
        torch.empty(3 * MIB, dtype=torch.uint8, device=mps)
        self.assertEqual(torch.accelerator.memory_allocated(), start)
        self.assertEqual(torch.accelerator.max_memory_allocated(), start + 3 * MIB)
        statistics = torch.accelerator.memory_stats()
        self.assertIn("reserved_bytes.all.peak", statistics)
        # PyTorch fills it since 2.15.
        self.assertEqual(statistics.get("active_bytes.all.peak", 0), start + 3 * MIB if VERSION >= (2, 15) else 0)


class Streams(unittest.TestCase):
    def test_recording_a_stream(self):
        tensor = torch.ones(4, device=mps)
        stream = torch.Stream("mps")
        if VERSION >= (2, 14):
            tensor.record_stream(stream)
        else:
            with self.assertRaisesRegex(NotImplementedError, "aten::record_stream"):
                tensor.record_stream(stream)
        self.assertEqual(tensor.add(1).tolist(), [2] * 4)

    @unittest.skipUnless(hasattr(torch.mps, "Stream"), "2.15's and later")
    def test_there_is_one(self):
        self.assertEqual(torch.mps.current_stream(), torch.mps.default_stream())
        self.assertEqual(torch.mps.current_stream().stream_id, 0)
        with torch.mps.stream(torch.mps.default_stream()):
            self.assertEqual(torch.ones(2, device=mps).add(1).tolist(), [2, 2])
        torch.mps.default_stream().synchronize()
        with self.assertRaisesRegex(NotImplementedError, "only its default stream"):
            torch.mps.Stream()


class Tensors(unittest.TestCase):
    def test_reading_them(self):
        tensor = torch.arange(4.0, device=mps).view(2, 2)
        self.assertEqual(tensor.tolist(), [[0, 1], [2, 3]])
        self.assertEqual(str(tensor), "tensor([[0., 1.],\n        [2., 3.]], device='mps:0')")
        self.assertEqual(copy.deepcopy(tensor).device, torch.device("mps:0"))
        with self.assertRaisesRegex(TypeError, "can't convert mps:0 device type tensor to numpy"):
            tensor.numpy()
        with self.assertRaisesRegex(TypeError, "MPS framework doesn't support float64"):
            tensor.double()

    def test_saving_and_loading(self):
        file = io.BytesIO()
        torch.save({"weight": torch.arange(3.0, device=mps)}, file)
        file.seek(0)
        loaded = torch.load(file, map_location="cpu")["weight"]
        self.assertEqual(loaded.tolist(), [0, 1, 2])
        self.assertEqual(loaded.to(mps).tolist(), [0, 1, 2])

    def test_autocast(self):
        with torch.autocast("mps"):
            product = torch.ones(2, 2, device=mps) @ torch.ones(2, 2, device=mps)
        self.assertEqual(product.dtype, torch.float16)
        self.assertEqual(product.float().tolist(), [[2, 2], [2, 2]])

    def test_default_device(self):
        with torch.device("mps"):
            self.assertEqual(torch.nn.Linear(2, 2).weight.device.type, "mps")

    def test_pinning_fails_as_on_a_mac(self):
        with self.assertRaisesRegex(RuntimeError, "storage on different device \"mps:0\""):
            torch.ones(2).pin_memory()
        self.assertFalse(torch.ones(2).is_pinned())


class NotThere(unittest.TestCase):
    """Functions that need macOS raise an error that says so."""

    def test_signposts(self):
        with self.assertRaisesRegex(NotImplementedError, "macOS's signposts"):
            with torch.mps.profiler.profile():
                pass

    def test_shaders(self):
        with self.assertRaisesRegex((RuntimeError, AttributeError), "MPS is not available|_mps_"):
            torch.mps.compile_shader("kernel void f() {}")

    def test_missing_operator(self):
        with self.assertRaisesRegex(NotImplementedError, "PYTORCH_ENABLE_MPS_FALLBACK=1"):
            torch.mode(torch.ones(2, device=mps))


if __name__ == "__main__":
    unittest.main()
