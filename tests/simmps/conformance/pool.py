"""A pool of worker processes in which a crash or a hang costs one entry only."""
import json
import os
import select
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
START_LIMIT_S = 120


class Worker:
    """A process and its pipe; restarted after a crash."""

    def __init__(self, library, environment, number):
        self.library = library
        self.environment = environment
        self.number = number
        self.starts = 0
        self.process = None

    def name(self):
        return f"{self.number}.{self.starts}"

    def _start(self):
        self.starts += 1
        environment = {key: value.replace("{worker}", self.name())
                       for key, value in self.environment.items()}
        self.errors = open(environment["CONFORMANCE_STDERR"], "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "worker.py"), self.library],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=environment)
        if "ready" not in self._answer(START_LIMIT_S):
            raise RuntimeError(f"worker did not start: {self._last_words()}")

    def _answer(self, limit_s):
        ready, _, _ = select.select([self.process.stdout], [], [], limit_s)
        if not ready:
            self._kill()
            return {"crash": f"no answer within {limit_s} s"}
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        code = self.process.wait()
        words = self._last_words()
        self.process = None
        return {"crash": f"ended with {code}: {words}"}

    def _last_words(self):
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().splitlines() if line.strip()]
        return " | ".join(lines[-3:])[-400:]

    def _kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def run(self, job, limit_s):
        if self.process is None:
            self._start()
        self.process.stdin.write((json.dumps(job) + "\n").encode())
        self.process.stdin.flush()
        return self._answer(limit_s)

    def close(self):
        if self.process is None:
            return
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self._kill()


def run_all(jobs, library, environment, workers, limit_s, report):
    """Runs all jobs on the workers; calls to report(job, result) do not overlap."""
    left = iter(jobs)
    lock = threading.Lock()
    failures = []

    def serve(number):
        worker = Worker(library, environment, number)
        try:
            while True:
                with lock:
                    job = next(left, None)
                if job is None or failures:
                    break
                result = {**worker.run(job, limit_s), "worker": worker.name()}
                with lock:
                    report(job, result)
        except Exception as error:  # noqa: BLE001 - raised in the caller
            failures.append(error)
        finally:
            worker.close()

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
