// Notes with M, in a finished recording and in a live run, offscreen, by real keys.
#include <QAction>
#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>

#include "run/recording_loader.h"
#include "support/find_shown.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "support/window_bench.h"
#include "views/panels/note_field.h"
#include "views/panes/timeline_pane.h"
#include "window/main_window.h"

using namespace highwater;
using window::MainWindow;

class TestNotes : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<test::WindowBench> bench_;

  [[nodiscard]] std::string open() {
    const QString path =
        test::recordIn(bench_->folder, "a.highwater", test::makeSampleRun({.steps = 40}));
    if (!bench_->window.openRecording(path.toStdString())) return {};
    bench_->window.renderNow();
    return path.toStdString();
  }
  [[nodiscard]] views::TimeAxis& axis() { return bench_->window.timeAxis(); }
  [[nodiscard]] const analysis::LiveStore& store() { return bench_->window.currentRun().store(); }
  template <typename T>
  [[nodiscard]] T* find(const char* name) const {
    return test::findShown<T>(bench_->window, name);
  }
  /// Presses M and answers the field with `text` and `key`.
  void note(const QString& text, Qt::Key key = Qt::Key_Return) {
    QTest::keyClick(&bench_->window, Qt::Key_M);
    auto* field = find<QLineEdit>("noteField");
    QVERIFY(field->isVisible());
    QTest::keyClicks(field, text);
    QTest::keyClick(field, key);
    QVERIFY(!field->isVisible());
  }

 private slots:
  void initTestCase() { test::WindowBench::useFakeWorker(HIGHWATER_FAKE_WORKER); }
  void init() { bench_ = std::make_unique<test::WindowBench>(); }
  void cleanup() { bench_.reset(); }

  void isKeptWhereTheCursorIs() {
    const std::string path = open();
    QVERIFY(!path.empty());
    const std::size_t before = store().noteCount();
    // The mouse rests over the timeline, at step 20.
    auto* timeline = find<views::TimelinePane>("timelinePane");
    const std::int64_t at = store().steps().records[19].begin_ns() + 1'000'000;
    const int x = static_cast<int>(timeline->scale().pixelAt(at));
    QTest::mouseMove(timeline, {x, timeline->height() / 2});
    QTRY_VERIFY(axis().cursor());
    const std::int64_t cursor = *axis().cursor();
    note(QStringLiteral(" here the loss jumps "));
    QCOMPARE(store().noteCount(), before + 1);
    const events::Marker& marker = store().markers().back();
    QCOMPARE(marker.time_ns(), cursor);
    QCOMPARE(marker.step(), store().stepAt(cursor));
    QCOMPARE(store().markerText(marker), std::string("here the loss jumps"));
    // It is drawn in its lane, where a click finds it.
    bench_->window.renderNow();
    const auto& row = timeline->rows().of(views::Lane::kMarkers);
    const auto found = timeline->eventAt(QPoint(static_cast<int>(timeline->scale().pixelAt(cursor)),
                                                static_cast<int>(row.top + row.height / 2)));
    QVERIFY(found);
    QCOMPARE(found->index, static_cast<std::uint32_t>(store().markers().size() - 1));
    analysis::LiveStore kept;
    QVERIFY(run::loadRecording(path, kept));
    QCOMPARE(kept.markerText(kept.markers().back()), std::string("here the loss jumps"));
  }

  void anEmptyOneIsCalledNoteAndEscMeansNone() {
    QVERIFY(!open().empty());
    const std::size_t before = store().noteCount();
    note({}, Qt::Key_Escape);
    QCOMPARE(store().noteCount(), before);
    note({});
    QCOMPARE(store().noteCount(), before + 1);
    QCOMPARE(store().markerText(store().markers().back()), std::string("Note"));
    // Without a cursor, in the middle of what is shown.
    const views::TimeRange visible = axis().visible();
    QCOMPARE(store().markers().back().time_ns(), visible.beginNs + axis().visibleNs() / 2);
  }

  void needsARecording() {
    QVERIFY(!find<QAction>("markAction")->isEnabled());  // nothing to mark yet
    QVERIFY(!open().empty());
    QVERIFY(find<QAction>("markAction")->isEnabled());
    bench_->window.showStartPage(true);
    QVERIFY(!find<QAction>("markAction")->isEnabled());
  }

  void marksNowInALiveRun() {
    bench_->window.startRun();
    const auto& run = bench_->window.currentRun();
    QTRY_VERIFY(!run.store().steps().records.empty());
    bench_->window.renderNow();
    QTRY_VERIFY(find<QAction>("markAction")->isEnabled());
    const std::int64_t from = run.store().completeUpToNs();
    axis().setCursor(std::nullopt);
    note(QStringLiteral("while it runs"));
    QVERIFY(run.live());
    QCOMPARE(run.store().noteCount(), std::size_t(1));
    const auto isNote = [](const events::Marker& m) {
      return m.kind() == events::MarkerKind::Note;
    };
    const auto& markers = run.store().markers();
    const auto at = std::find_if(markers.begin(), markers.end(), isNote);
    QVERIFY(at->time_ns() >= from);
    const auto path = run.recordingPath();
    bench_->window.currentRun().stop();
    QTRY_VERIFY(!run.live());
    analysis::LiveStore kept;
    QVERIFY(run::loadRecording(path, kept));
    QCOMPARE(kept.noteCount(), std::size_t(1));
    std::filesystem::remove(path);
  }
};

HIGHWATER_TEST(TestNotes, QApplication)
#include "tst_notes.moc"
