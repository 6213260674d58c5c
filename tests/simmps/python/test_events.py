"""torch.mps.Event and torch.Event: what waits, what does not, and what is refused."""
import unittest

from simulated_mps import mps, torch

VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def busy(size=1500):
    matrix = torch.ones(size, size, device=mps)
    for _ in range(4):
        matrix = matrix @ matrix
    return matrix


class MpsEvent(unittest.TestCase):
    def pair(self):
        return torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)

    def test_recording_does_not_wait(self):
        start, end = self.pair()
        self.assertFalse(end.query())
        start.record()
        busy()
        end.record()
        self.assertFalse(end.query())
        end.synchronize()
        self.assertTrue(end.query())

    def test_elapsed_time_waits(self):
        start, end = self.pair()
        start.record()
        busy()
        end.record()
        self.assertGreater(start.elapsed_time(end), 0)
        self.assertTrue(end.query())

    def test_wait_orders_and_does_not_block(self):
        event = torch.mps.Event()
        busy()
        event.record()
        event.wait()
        self.assertFalse(event.query())
        torch.mps.synchronize()
        self.assertTrue(event.query())

    def test_wrong_use(self):
        start, end = self.pair()
        with self.assertRaisesRegex(RuntimeError, "must be recorded before"):
            start.elapsed_time(end)
        end.record()
        torch.ones(2, device=mps).add(1)
        start.record()
        with self.assertRaisesRegex(RuntimeError, "was not recorded after start event"):
            start.elapsed_time(end)
        first, second = torch.mps.Event(), torch.mps.Event()
        first.record()
        second.record()
        with self.assertRaisesRegex(RuntimeError, "'enable_timing=True'"):
            first.elapsed_time(second)


class GenericEvent(unittest.TestCase):
    def test_times(self):
        start, end = torch.Event("mps", enable_timing=True), torch.Event("mps", enable_timing=True)
        start.record()
        busy()
        end.record()
        self.assertFalse(end.query())
        end.synchronize()
        self.assertTrue(end.query())
        self.assertGreater(start.elapsed_time(end), 0)
        with self.assertRaisesRegex(RuntimeError, "End event was not recorded after start event"):
            end.elapsed_time(start)

    def test_the_same_event_twice(self):
        event = torch.Event("mps", enable_timing=True)
        event.record()
        if VERSION >= (2, 15):
            self.assertEqual(event.elapsed_time(event), 0)
        else:
            with self.assertRaisesRegex(RuntimeError, "was not recorded after start event"):
                event.elapsed_time(event)

    def test_no_time_after_work_that_failed(self):
        start, end = torch.Event("mps", enable_timing=True), torch.Event("mps", enable_timing=True)
        start.record()
        # Found by the device, when the host has long gone on.
        torch.ones(3, device=mps)[torch.tensor([7], device=mps)]
        end.record()
        with self.assertRaises((RuntimeError, IndexError)):
            start.elapsed_time(end)


if __name__ == "__main__":
    unittest.main()
