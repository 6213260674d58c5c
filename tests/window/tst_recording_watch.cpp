// A recording on screen whose file is replaced by that of another run.
#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QTest>
#include <QToolButton>

#include "run/note.h"
#include "run/recording_loader.h"
#include "run/recording_watch.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "support/window_bench.h"
#include "views/panels/banner.h"
#include "window/main_window.h"

using namespace highwater;

class TestRecordingWatch : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<test::WindowBench> bench_;

  [[nodiscard]] views::Banner& banner() const {
    return *bench_->window.findChild<views::Banner*>(QStringLiteral("endBanner"));
  }
  [[nodiscard]] run::Run& run() const { return bench_->window.currentRun(); }
  /// Writes a run of `steps` steps over the recording, of the process `process`.
  [[nodiscard]] QString record(std::uint32_t steps, std::uint64_t process) const {
    auto messages = test::makeSampleRun({.steps = steps});
    for (test::OwnedMessage& each : messages) {
      if (auto* hello = std::get_if<Hello>(&each)) hello->processId = process;
    }
    return test::recordIn(bench_->folder, "a.highwater", messages);
  }
  [[nodiscard]] static std::size_t notesIn(const QString& path) {
    analysis::LiveStore kept;
    return run::loadRecording(path.toStdString(), kept) ? kept.noteCount() : 999;
  }

 private slots:
  void init() { bench_ = std::make_unique<test::WindowBench>(); }
  void cleanup() { bench_.reset(); }

  void offersToReloadAnotherRun() {
    const QString path = record(40, 100);
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    const std::size_t notes = run().store().noteCount();
    QCOMPARE(record(25, 200), path);
    QTRY_VERIFY(banner().isVisible());
    QVERIFY2(banner().message().startsWith("a.highwater holds another run by now"),
             qPrintable(banner().message()));
    const auto* state = bench_->window.findChild<QLabel*>(QStringLiteral("statusState"));
    QTRY_VERIFY2(state->text().endsWith("replaced on disk"), qPrintable(state->text()));
    // What was on screen stays until it is asked for.
    QCOMPARE(run().store().steps().records.size(), std::size_t(40));
    auto* reload = banner().findChild<QToolButton*>(QStringLiteral("runAgainButton"));
    QCOMPARE(reload->text(), QString("Reload"));
    QTest::mouseClick(reload, Qt::LeftButton);
    QTRY_COMPARE(run().store().steps().records.size(), std::size_t(25));
    QTRY_VERIFY(banner().isHidden());
    QTRY_VERIFY(!state->text().contains("replaced"));
    // Notes are of the run on screen again.
    QVERIFY(run().addNote(0, "of the new run").ok());
    QCOMPARE(notesIn(path), notes + 1);
  }

  void writesNothingOfOneRunIntoAnother() {
    const QString path = record(40, 100);
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    QCOMPARE(record(25, 200), path);
    const std::size_t notes = notesIn(path);
    // At once, before the window has looked.
    const auto noted = run().addNote(0, "of the old run");
    QVERIFY(!noted && noted.error().message.find("holds another run") != std::string::npos);
    QVERIFY(!run().acceptFallback("aten::gelu", true, "rare"));
    QVERIFY(!run().store().acceptanceOf("aten::gelu"));
    QVERIFY(!run().saveAs(bench_->folder.filePath("copy.highwater").toStdString()));
    QCOMPARE(notesIn(path), notes);
    // M does not even ask for the text.
    QTest::keyClick(&bench_->window, Qt::Key_M);
    auto* field = bench_->window.findChild<QLineEdit*>(QStringLiteral("noteField"));
    QVERIFY(!field || !field->isVisible());
    QVERIFY(banner().isVisible() && banner().message().contains("holds another run"));
  }

  void saysNothingOfTheSameRun() {
    const QString path = record(40, 100);
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    // Written into by the window and by another program, and copied over itself.
    QVERIFY(run().addNote(0, "mine").ok());
    const auto note = run::makeNote(0, 0, "another's");
    QVERIFY(run::appendNote(path.toStdString(), *note).ok());
    auto* field = bench_->window.findChild<QLineEdit*>(QStringLiteral("noteField"));
    QTest::keyClick(&bench_->window, Qt::Key_M);
    QTRY_VERIFY(field->isVisible());
    QVERIFY(banner().isHidden());
    QTest::keyClick(field, Qt::Key_Escape);
    // Reload shows what the other program wrote.
    const std::size_t shown = run().store().noteCount();
    QTest::keyClick(&bench_->window, Qt::Key_F5);
    QTRY_COMPARE(run().store().noteCount(), shown + 1);
  }

  void looksAgainAtWhatCouldNotBeRead() {
    const QString path = record(40, 100);
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    auto* watch = bench_->window.findChild<run::RecordingWatch*>();
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
    QVERIFY(file.write("half of a copy") > 0);
    file.close();
    for (int i = 0; i < 3; ++i) QVERIFY(!watch->look());
    QVERIFY(banner().isHidden());
    QVERIFY(QFile::remove(path));
    QCOMPARE(record(25, 200), path);
    QVERIFY(watch->look());
    QVERIFY(banner().isVisible() && banner().message().contains("holds another run"));
  }

  void staysQuietWhereTheFileIsGone() {
    const QString path = record(40, 100);
    QVERIFY(bench_->window.openRecording(path.toStdString()).ok());
    QVERIFY(QFile::remove(path));
    QTest::keyClick(&bench_->window, Qt::Key_M);
    auto* field = bench_->window.findChild<QLineEdit*>(QStringLiteral("noteField"));
    QTRY_VERIFY(field->isVisible());
    QTest::keyClick(field, Qt::Key_Return);
    QVERIFY2(banner().message().contains("could not be written"), qPrintable(banner().message()));
  }
};

HIGHWATER_TEST(TestRecordingWatch, QApplication)
#include "tst_recording_watch.moc"
