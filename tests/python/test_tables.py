"""`highwater export` to tables: CSV and SQLite, as others read them.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import collections
import csv
import fcntl
import gzip
import json
import os
import resource
import signal
import sqlite3
import subprocess
import tempfile
import unittest

from test_recordings import PROGRAM


@unittest.skipUnless(os.path.exists(PROGRAM), "HIGHWATER_BIN does not name the folder of highwater")
class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.recording = cls.path("run.highwater")
        subprocess.run([PROGRAM, "record", "--scenario", "hidden-fallback", "--device", "sim", "--steps", "12", "--level", "ops",
                        "--set", "6:batch=8", "-o", cls.recording], check=True, capture_output=True, timeout=300)
        cls.said = cls.export("run.sqlite")
        cls.database = sqlite3.connect(cls.path("run.sqlite"))
        cls.addClassCleanup(cls.database.close)
        cls.report = json.loads(subprocess.run([PROGRAM, "report", "--json", cls.recording], check=True, text=True,
                                               capture_output=True, timeout=120).stdout)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def run_export(cls, name, *options):
        return subprocess.run([PROGRAM, "export", cls.recording, "--to", cls.path(name), *options], text=True,
                              capture_output=True, timeout=300, check=False)

    @classmethod
    def export(cls, name, *options):
        done = cls.run_export(name, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, query):
        return self.database.execute(query).fetchall()

    def refused(self, name, *options):
        done = self.run_export(name, *options)
        self.assertIn(done.returncode, (1, 2), done.stderr)
        return done.stderr

    def tables(self):
        return [name for name, in self.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]

    def test_events_are_those_of_the_report(self):
        self.assertEqual(self.rows("SELECT count(*) FROM steps"), [(self.report["steps"],)])
        self.assertEqual(self.rows("SELECT step, kind, text, time_ms, value_before, value_after FROM markers"),
                         [tuple(each[key] for key in ("step", "kind", "text", "time_ms", "before", "after"))
                          for each in self.report["markers"]])
        self.assertEqual(len(self.report["markers"]), 1)
        for table, size in (("sync_points", "bytes"), ("fallbacks", "bytes_to_cpu + bytes_to_device")):
            told = collections.defaultdict(lambda: [0, 0, 0])
            for each in self.report[table]:
                told[each["op"]] = [a + each[key] for a, key in zip(told[each["op"]], ("count", "bytes", "total_ms"))]
            rows = self.rows(f"SELECT op, count(*), sum({size}), round(sum(duration_ms), 6) FROM {table} GROUP BY op")
            self.assertEqual(rows, [(op, count, bytes, round(ms, 6)) for op, (count, bytes, ms) in sorted(told.items())])
        self.assertGreater(self.rows("SELECT count(*) FROM ops")[0][0], 1000)

    def test_the_settings_of_a_sample_are_among_its_facts(self):
        facts = dict(self.rows("SELECT key, value FROM run"))
        self.assertGreater(float(facts["high_watermark_ratio"]), float(facts["low_watermark_ratio"]))
        steps = self.rows("SELECT batch_size, sequence_length FROM steps WHERE step = 1")[0]
        self.assertEqual((facts["batch_size"], facts["sequence_length"]), tuple(map(str, steps)))

    def test_samples_findings_and_account_are_those_of_the_report(self):
        report = self.report
        self.assertEqual(self.rows("SELECT kind, title, line, count, gain_low_ms FROM findings"),
                         [(each["kind"], each["title"], each["line"], each["count"], (each["gain_ms"] or {}).get("low"))
                          for each in report["findings"]])
        self.assertEqual([total for total, in self.rows("SELECT total_ms FROM account")],
                         [each["total_ms"] for each in report["time"]["rows"]])
        self.assertAlmostEqual(self.rows("SELECT sum(total_ms) FROM account")[0][0], report["time"]["range_ms"], places=3)
        run = dict(self.rows("SELECT key, value FROM run"))
        self.assertEqual((run["device"], run["simulated"], run["scenario"]), ("simulated mps", "true", "hidden-fallback"))
        self.assertEqual((run["ended"], run["being_written"], run["damage"], run["probe_level"]),
                         ("finished", "false", None, "ops"))
        largest, = self.rows("SELECT max(current_bytes) FROM memory_samples")[0]
        self.assertGreater(largest, 1 << 20)

    def test_csv_is_the_same(self):
        said = self.export("tables/")
        tables = self.rows("SELECT count(*) FROM sqlite_master WHERE type = 'table'")[0][0]
        self.assertIn(f"rows in {tables} tables", said)
        self.assertEqual(sorted(os.listdir(self.path("tables"))), [f"{name}.csv" for name in self.tables()])
        for table in self.tables():
            with open(self.path(f"tables/{table}.csv"), encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertTrue(all(row.pop("device") == "simulated mps" for row in rows))
            kinds = {name: kind for _, name, kind, *_ in self.rows(f"PRAGMA table_info({table})")}
            read_as = {"INTEGER": int, "REAL": float, "TEXT": str}
            values = [tuple(read_as[kinds[name]](value) if value else None for name, value in row.items()) for row in rows]
            self.assertEqual(values, self.rows(f"SELECT * FROM {table}"), table)
        self.export("waits.csv", "--table", "sync_points")
        self.assertEqual(read_text(self.path("waits.csv")), read_text(self.path("tables/sync_points.csv")))
        self.export("plain.csv")
        self.assertEqual(read_text(self.path("plain.csv")), read_text(self.path("tables/steps.csv")))

    def test_a_part(self):
        done = self.run_export("part.sqlite", "--steps", "3-4")
        self.assertIn("findings and account are of the whole run", done.stderr)
        part = sqlite3.connect(self.path("part.sqlite"))
        self.addCleanup(part.close)
        self.assertEqual(part.execute("SELECT step FROM steps").fetchall(), [(3,), (4,)])
        self.assertEqual(part.execute("SELECT DISTINCT step FROM phases").fetchall(), [(3,), (4,)])
        self.assertEqual(part.execute("SELECT count(*) FROM findings").fetchone(), (0,))

    def test_bad_input(self):
        self.assertIn("sync_points", self.refused("a.csv", "--table", "waits"))
        self.assertIn("is of the whole run", self.refused("a.csv", "--table", "findings", "--steps", "3-4"))
        os.symlink(self.path("loop"), self.path("loop"))
        self.assertIn("loop", self.refused("loop/"))
        self.assertIn("x", self.refused("x" * 300 + "/"))
        self.assertIn("must end in", self.refused(".csv"))
        self.assertIn("--table is for .csv files", self.refused("a.sqlite", "--table", "steps"))
        self.assertIn("--theme is for pictures", self.refused("a.csv", "--theme", "light"))
        self.assertIn("the recording has only the steps up to 12", self.refused("a.sqlite", "--steps", "50-60"))
        for name in ("no/such/folder/a.csv", "no/such/folder/a.sqlite", "no/such/folder/tables/"):
            self.assertIn("no/such/folder", self.refused(name))
        self.assertFalse([name for name in os.listdir(self.folder.name) if name.startswith("a.") or name == "no"])

    def test_no_space(self):
        """A file may not grow beyond a limit, as on a full disk: the old one stays."""
        for name in ("full.csv", "full.sqlite", "full.pftrace", "full.json", "full.json.gz"):
            self.export(name)
            before = read_text(self.path(name))
            for part in (0.5, 1 - 1e-3):  # within the last buffer too
                limit = int(len(before) * part)
                done = subprocess.run([PROGRAM, "export", self.recording, "--to", self.path(name), "--force"], text=True,
                                      capture_output=True, timeout=300, check=False,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                self.assertEqual(done.returncode, 1, f"{name} in {limit} bytes: {done.stdout}")
                self.assertIn("cannot be written", done.stderr)
                self.assertEqual(read_text(self.path(name)), before)
        done = subprocess.run([PROGRAM, "export", self.recording, "--to", self.path("full/")], text=True, capture_output=True,
                              timeout=300, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(done.returncode, 1)
        self.assertFalse(os.path.exists(self.path("full")))
        self.assertFalse([name for name in os.listdir(self.folder.name) if name.startswith(".")])

    def test_writes_through_links(self):
        self.export("real.sqlite")
        os.chmod(self.path("real.sqlite"), 0o640)
        os.symlink(self.path("real.sqlite"), self.path("link.sqlite"))
        self.export("link.sqlite", "--force")
        self.assertTrue(os.path.islink(self.path("link.sqlite")))
        self.assertEqual(os.stat(self.path("real.sqlite")).st_mode & 0o777, 0o640)

    def test_overwrites_only_its_own(self):
        for name, other in (("over.csv", b"step,loss\n1,2\n"), ("over.sqlite", b"SQLite format 3\0 of somebody else"),
                            ("over.json.gz", gzip.compress(b'{"mine": 1}'))):
            self.export(name)
            self.assertIn("give --force", self.refused(name))
            before = read_text(self.path(name))
            self.export(name, "--force")
            self.assertEqual(len(read_text(self.path(name))), len(before))
            with open(self.path(name), "wb") as file:
                file.write(other)
            self.assertIn("exists and is not a", self.refused(name, "--force"))
            self.assertEqual(read_text(self.path(name)), other)
        # A recording is a SQLite file too.
        os.symlink(self.recording, self.path("mine.sqlite"))
        before = read_text(self.recording)
        self.refused("mine.sqlite", "--force")
        self.assertEqual(read_text(self.recording), before)
        os.makedirs(self.path("folder"))
        with open(self.path("folder/steps.csv"), "w", encoding="utf-8") as file:
            file.write("mine")
        self.assertIn("steps.csv exists and is not a", self.refused("folder/", "--force"))
        self.assertEqual(os.listdir(self.path("folder")), ["steps.csv"])

    def hidden(self, name=""):
        return [each for each in os.listdir(self.path(name)) if each.startswith(".")]

    def ended_by(self, number, name, folder=""):
        """Sends a signal to an export that has begun to write."""
        for _ in range(50):
            with subprocess.Popen([PROGRAM, "export", self.recording, "--to", self.path(name), "--force"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                while process.poll() is None and not self.hidden(folder):
                    pass
                process.send_signal(number)
            if process.returncode:
                self.assertEqual(process.returncode, -number, name)
                return
        self.fail(f"{name} was complete before the signal, 50 times")

    def test_a_killed_export_leaves_nothing_half_written(self):
        for name in ("ended.csv", "ended.sqlite", "ended.pftrace", "ended.json", "ended.json.gz", "ended/"):
            self.export(name)
            kept = self.path(name) if os.path.isfile(self.path(name)) else self.path("ended/steps.csv")
            before = read_text(kept)
            folder = "ended" if name == "ended/" else ""
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self.ended_by(number, name, folder)
                self.assertEqual(self.hidden(folder), [])
            # Nobody can clean up after SIGKILL but the next one.
            self.ended_by(signal.SIGKILL, name, folder)
            self.assertEqual(len(self.hidden(folder)), 1)
            self.assertEqual(read_text(kept), before)
            self.export(name, "--force")
            self.assertEqual(self.hidden(folder), [])
            self.assertEqual(len(read_text(kept)), len(before))

    def test_a_folder_is_whole_or_not_there(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.ended_by(number, "new/")
            self.assertFalse(os.path.exists(self.path("new")))
        self.assertEqual(len(self.hidden()), 1)
        self.export("new/")
        self.assertEqual(len(os.listdir(self.path("new"))), len(self.tables()))
        self.assertEqual(self.hidden(), [])

    def test_removes_only_drafts_of_its_own(self):
        # One of a running process, one with what no export writes, and what only has the name.
        os.makedirs(self.path(".highwater-draft-1-0"))
        os.makedirs(self.path(".highwater-draft-2-0/kept"))
        os.symlink(self.path(".highwater-draft-2-0"), self.path(".highwater-draft-3-0"))
        with open(self.path(".highwater-draft-4-0"), "w", encoding="utf-8") as file:
            file.write("mine")
        lock = os.open(self.path(".highwater-draft-1-0"), os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.export("beside.csv")
        self.assertEqual(len(self.hidden()), 4)
        os.close(lock)
        self.export("beside.csv", "--force")
        self.assertEqual(sorted(self.hidden()), [f".highwater-draft-{each}-0" for each in (2, 3, 4)])
        os.rmdir(self.path(".highwater-draft-2-0/kept"))
        os.rmdir(self.path(".highwater-draft-2-0"))
        os.remove(self.path(".highwater-draft-3-0"))
        os.remove(self.path(".highwater-draft-4-0"))

    def test_replaces_no_tables_of_others(self):
        name = self.path("added.sqlite")
        self.export("added.sqlite")
        for change, undo, what in (('CREATE TABLE "my notes" (step)', 'DROP TABLE "my notes"', 'the table "my notes"'),
                                   ("CREATE VIEW slow AS SELECT step FROM steps", "DROP VIEW slow", 'the view "slow"')):
            database = sqlite3.connect(name)
            database.execute(change)
            database.close()
            before = read_text(name)
            self.assertIn(f"added.sqlite also holds {what}, which no export has written",
                          self.refused("added.sqlite", "--force"))
            self.assertEqual(read_text(name), before)
            database = sqlite3.connect(name)
            database.execute(undo)
            database.close()
            self.export("added.sqlite", "--force")
        with open(name + "-wal", "wb") as file:
            file.write(b"changes")
        self.assertIn("changes of another program in added.sqlite-wal", self.refused("added.sqlite", "--force"))
        os.remove(name + "-wal")
        # Its head alone is ours.
        with open(name, "r+b") as file:
            file.truncate(100)
        self.assertIn("added.sqlite cannot be read", self.refused("added.sqlite", "--force"))


def read_text(path):
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    unittest.main()
