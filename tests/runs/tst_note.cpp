#include "analysis/live_store.h"
#include "run/note.h"
#include "run/recording_loader.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "wire/limits.h"

using namespace highwater;
using namespace highwater::run;

class TestNote : public QObject {
  Q_OBJECT

 private slots:
  void trimsItsText() {
    const auto note = makeNote(5, 2, " \t here\u00a0\n");
    QVERIFY(note);
    QCOMPARE(note->text, std::string("here"));
    QCOMPARE(note->timeNs, 5);
    QCOMPARE(note->step, 2U);
    QVERIFY(note->unixTimeNs > 0);
    QCOMPARE(makeNote(5, 2, " ")->text, std::string("Note"));
    QCOMPARE(makeNote(-5, 2, "")->timeNs, 0);
  }

  void refusesWhatARecordingCannotKeep() {
    const std::string text(wire::kMaxTextBytes, 'x');
    QVERIFY(makeNote(0, 0, text));
    QVERIFY(makeNote(0, 0, text + 'x').error().code == ErrorCode::kUsage);
  }

  /// Notes are markers, in whatever order they were written.
  void isKeptInARecording() {
    const QTemporaryDir folder;
    const auto path = test::recordIn(folder, "a.highwater", test::makeSampleRun({.steps = 5}));
    QVERIFY(!path.isEmpty());
    analysis::LiveStore before;
    QVERIFY(loadRecording(path.toStdString(), before));
    const auto& step = before.steps().records[3];
    QCOMPARE(before.stepAt(step.begin_ns() + 1), 4U);
    QCOMPARE(before.stepAt(0), 0U);
    QCOMPARE(before.stepAt(before.completeUpToNs()), 5U);
    QVERIFY(appendNote(path.toStdString(), *makeNote(before.completeUpToNs(), 5, "late")));
    QVERIFY(appendNote(path.toStdString(), *makeNote(step.begin_ns(), 4, "early")));
    analysis::LiveStore store;
    QVERIFY(loadRecording(path.toStdString(), store));
    QCOMPARE(store.noteCount(), before.noteCount() + 2);
    const events::Marker& early = store.markers().back();
    QVERIFY(early.kind() == events::MarkerKind::Note);
    QCOMPARE(early.time_ns(), step.begin_ns());
    QCOMPARE(early.step(), 4U);
    QCOMPARE(store.markerText(early), std::string("early"));
    QCOMPARE(store.markerText(store.markers()[store.markers().size() - 2]), std::string("late"));
    QVERIFY(store.end());
  }

  void isNotWrittenIntoAnotherRun() {
    const QTemporaryDir folder;
    const auto path =
        test::recordIn(folder, "a.highwater", test::makeSampleRun({.steps = 5})).toStdString();
    const auto id = readRunId(path);
    QVERIFY(id.ok() && id->has_value());
    const Note note = *makeNote(0, 0, "mine");
    QVERIFY(appendNote(path, note, *id).ok());
    for (const RunId& other : {RunId{(*id)->processId + 1, (*id)->unixEpochNs},
                               RunId{(*id)->processId, (*id)->unixEpochNs + 1}}) {
      const auto refused = appendNote(path, note, other);
      QVERIFY(!refused && refused.error().code == ErrorCode::kFailed);
      QVERIFY(refused.error().message.find("another run") != std::string::npos);
    }
    analysis::LiveStore store;
    QVERIFY(loadRecording(path, store).ok());
    QCOMPARE(store.noteCount(), std::size_t{1});
  }
};

HIGHWATER_TEST(TestNote, QCoreApplication)
#include "tst_note.moc"
