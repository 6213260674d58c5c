"""DataLoader workers and other children: forked before the device's first use, and after."""
import faulthandler
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
import unittest

from simulated_mps import mps, torch


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return torch.tensor(float(index * index))


def sum_on_device(loader):
    total = torch.zeros((), device=mps)
    for batch in loader:
        total += batch.to(mps).sum()
    return total.item()


def use_device(connection):
    connection.send(torch.ones(4, device=mps).add(1).sum().item())


class Children(unittest.TestCase):
    def test_1_fork_before_first_use(self):
        # Runs first by its name: the device's thread starts with the first op.
        loader = torch.utils.data.DataLoader(Squares(), batch_size=8, num_workers=2)
        self.assertEqual(sum_on_device(loader), sum(i * i for i in range(32)))

    def test_1_fork_during_the_first_kernels(self):
        # Their first calls initialize static variables of libtorch, each under a lock of its own.
        ended = self.run_script("""
            import os, sys, time
            from simulated_mps import mps, torch

            def use_host():
                torch.set_num_threads(1)
                torch.manual_seed(3)
                torch.stack([torch.tensor(float(i)) for i in range(4)]).sum().item()

            def use_device(delay_s):
                torch.zeros((), device=mps)
                until = time.perf_counter() + delay_s
                while time.perf_counter() < until:
                    pass
                child = os.fork()
                if child == 0:
                    use_host()
                    os._exit(0)
                limit = time.monotonic() + 100
                while os.waitpid(child, os.WNOHANG) == (0, 0):
                    if time.monotonic() > limit:
                        os.kill(child, 9)
                        print("the child hangs, forked after", delay_s, "s", flush=True)
                        os._exit(1)
                    time.sleep(0.002)
                os._exit(0)

            for delay in range(60):
                child = os.fork()
                if child == 0:
                    use_device(delay * 50e-6)
                if os.waitpid(child, 0)[1] != 0:
                    sys.exit("failed")
            """)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))

    def test_2_fork_after_use(self):
        torch.ones(2, device=mps).add(1)
        loader = torch.utils.data.DataLoader(
            Squares(), batch_size=8, num_workers=2, persistent_workers=True)
        for _ in range(2):
            self.assertEqual(sum_on_device(loader), sum(i * i for i in range(32)))

    def test_3_device_in_a_forked_child(self):
        torch.ones(2, device=mps).add(1).sum().item()
        mine, theirs = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(target=use_device, args=(theirs,))
        child.start()
        self.assertTrue(mine.poll(100), "the child hangs")
        self.assertEqual(mine.recv(), 8)
        child.join(100)
        self.assertEqual(child.exitcode, 0)

    def end_of_child(self, action):
        """Runs `action` in a forked child; returns its exit code, or "hangs" after 100 s."""
        child = os.fork()
        if child == 0:
            try:
                action()
                os._exit(0)
            finally:
                os._exit(1)
        for _ in range(2000):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "hangs"

    def test_4_fork_while_numbers_are_drawn(self):
        # The first things that DataLoader's workers do.
        def seed_and_draw():
            torch.manual_seed(7)
            first = torch.rand(3, device=mps)
            torch.manual_seed(7)
            assert torch.equal(first, torch.rand(3, device=mps))

        torch.mps.synchronize()
        torch.empty(50_000_000, device=mps).normal_()
        time.sleep(0.05)
        self.assertEqual(self.end_of_child(seed_and_draw), 0)

    def test_5_fork_with_work_in_the_queue(self):
        def use_memory():
            first = torch.empty(100 << 20, dtype=torch.uint8, device=mps)
            before = torch.mps.driver_allocated_memory()
            del first
            torch.mps.empty_cache()
            assert torch.mps.driver_allocated_memory() <= before - (1100 << 20)
            assert torch.ones(4, device=mps).add(1).sum().item() == 8

        # In its own heap; freed while jobs that may use it are pending.
        del_me = torch.empty(1100 << 20, dtype=torch.uint8, device=mps)
        busy = torch.ones(1500, 1500, device=mps)
        for _ in range(6):
            busy = busy @ busy
        del del_me
        self.assertEqual(self.end_of_child(use_memory), 0)

    def run_script(self, script):
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)], timeout=280,
            cwd=os.path.dirname(__file__), capture_output=True, text=True)

    def test_6_process_ends_with_work_in_the_queue(self):
        ended = self.run_script("""
            from simulated_mps import mps, torch
            x = torch.ones(1000, 1000, device=mps)
            for _ in range(5): x = x @ x
            """)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))


if __name__ == "__main__":
    # Before ctest's limit: says where a test hangs.
    faulthandler.dump_traceback_later(240, exit=True)
    unittest.main()
