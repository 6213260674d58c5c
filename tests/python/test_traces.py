"""`highwater export` to traces, read by what others read them with: Perfetto's own message classes.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import collections
import gzip
import json
import os
import subprocess
import tempfile
import unittest

from support import load_perfetto
from test_recordings import PROGRAM

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4  # TrackEvent.Type


class Perfetto:
    """A trace as Perfetto reads it: by time, then in the order of the file."""

    def __init__(self, path):
        trace = load_perfetto().Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        texts = {kind: {} for kind in ("event_categories", "event_names", "debug_annotation_names")}
        values = {}
        self.tracks, self.spans, self.instants, self.counters = {}, [], [], []
        events = []
        for number, packet in enumerate(trace.packet):
            if packet.sequence_flags & 1:
                assert not any(texts.values()), "the texts begin anew"
            for kind, known in texts.items():
                known.update((each.iid, each.name) for each in getattr(packet.interned_data, kind))
            values.update((each.iid, each.str.decode()) for each in packet.interned_data.debug_annotation_string_values)
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                event = packet.track_event
                # What an event refers to was defined before it.
                name = texts["event_names"][event.name_iid] if event.name_iid else event.name
                arguments = {texts["debug_annotation_names"][each.name_iid]: self.value(each, values)
                             for each in event.debug_annotations}
                categories = [texts["event_categories"][each] for each in event.category_iids]
                events.append((packet.timestamp, number, event, categories, name, arguments))
        open_spans = collections.defaultdict(list)
        for time, _, event, categories, name, arguments in sorted(events, key=lambda each: each[:2]):
            if event.type == BEGIN:
                open_spans[event.track_uuid].append((categories[0], name, time, arguments))
            elif event.type == END:
                category, name, begin, arguments = open_spans[event.track_uuid].pop()
                self.spans.append((category, name, begin, time - begin, arguments))
            elif event.type == INSTANT:
                self.instants.append((categories[0], name, time, arguments))
            elif event.type == COUNTER:
                whole = event.WhichOneof("counter_value_field") == "counter_value"
                value = event.counter_value if whole else event.double_counter_value
                self.counters.append((self.tracks[event.track_uuid].name, time, value))
        assert not any(open_spans.values()), "a span has no end"

    @staticmethod
    def value(annotation, values):
        field = annotation.WhichOneof("value")
        return values[annotation.string_value_iid] if field == "string_value_iid" else getattr(annotation, field)


@unittest.skipUnless(os.path.exists(PROGRAM), "HIGHWATER_BIN does not name the folder of highwater")
@unittest.skipUnless(load_perfetto(), "the package perfetto is not installed: packaging/setup")
class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.recording = cls.path("run.highwater")
        subprocess.run([PROGRAM, "record", "--scenario", "hidden-fallback", "--device", "sim", "--steps", "12", "--level", "ops",
                        "-o", cls.recording], check=True, capture_output=True, timeout=300)
        for ending in ("json", "json.gz", "pftrace"):
            cls.export(f"run.{ending}")
        with open(cls.path("run.json"), encoding="utf-8") as file:
            cls.chrome = json.load(file)
        cls.perfetto = Perfetto(cls.path("run.pftrace"))

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def export(cls, name, *options):
        subprocess.run([PROGRAM, "export", cls.recording, "--to", cls.path(name), *options], check=True, capture_output=True,
                       timeout=300)

    def of_chrome(self, phase, trace=None):
        """Category, name, begin and duration in ns, and arguments."""
        return [(each["cat"], each["name"], round(each["ts"] * 1000), round(each.get("dur", 0) * 1000), each.get("args", {}))
                for each in (trace or self.chrome)["traceEvents"] if each["ph"] == phase]

    def assert_same(self, some, others):
        def ordered(events):
            return sorted(json.dumps(each, sort_keys=True) for each in events)
        self.assertEqual(len(some), len(others))
        self.assertEqual(ordered(some), ordered(others))

    def test_spans_are_those_of_chromes_format(self):
        self.assertGreater(len(self.perfetto.spans), 1000)
        self.assert_same(self.perfetto.spans, self.of_chrome("X"))
        fallbacks = [arguments for category, _, _, _, arguments in self.perfetto.spans if category == "fallback"]
        self.assertIn("model.cpp", " ".join(each.get("line", "") for each in fallbacks))

    def test_instants_and_counters_are_those_of_chromes_format(self):
        self.assert_same([(category, name, time, 0, arguments) for category, name, time, arguments in self.perfetto.instants],
                         self.of_chrome("i"))
        wanted = [(time, value) for _, _, time, _, arguments in self.of_chrome("C") for value in arguments.values()]
        self.assertGreater(len(wanted), 10)
        self.assertEqual(sorted((time, value) for _, time, value in self.perfetto.counters), sorted(wanted))

    def test_tracks(self):
        tracks = self.perfetto.tracks.values()
        process, = (each for each in tracks if each.HasField("process"))
        self.assertEqual(process.process.process_name, "issue-classifier")
        self.assertIn("simulated mps", process.process.process_labels)
        training, = (each for each in tracks if each.thread.thread_name == "training")
        self.assertEqual(training.parent_uuid, process.uuid)
        lanes = {each.name for each in tracks if each.parent_uuid == training.uuid}
        self.assertLessEqual({"steps", "phases", "ops", "waits", "fallbacks"}, lanes)
        self.assertIn("device memory, current", {each.name for each in tracks if each.HasField("counter")})

    def test_compressed_is_the_same(self):
        with gzip.open(self.path("run.json.gz"), "rb") as compressed, open(self.path("run.json"), "rb") as plain:
            self.assertEqual(compressed.read(), plain.read())

    def test_a_part(self):
        self.export("part.json", "--steps", "3-4")
        self.export("part.pftrace", "--steps", "3-4")
        with open(self.path("part.json"), encoding="utf-8") as file:
            part = json.load(file)
        spans = Perfetto(self.path("part.pftrace")).spans
        self.assertLess(len(spans), len(self.perfetto.spans) / 2)
        self.assert_same(spans, self.of_chrome("X", part))


if __name__ == "__main__":
    unittest.main()
