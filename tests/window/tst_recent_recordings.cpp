// The list of recordings, with real files: sound, damaged, missing, and being written.
#include <QAbstractItemModelTester>
#include <QDir>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "analysis/live_store.h"
#include "run/recordings_folder.h"
#include "support/own_home.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "window/start/recordings_model.h"

using namespace highwater;
using window::RecordingPreview;
using window::RecordingsModel;
using State = RecordingPreview::State;

namespace {

const auto kNever = [] { return false; };

/// Records a run that fails with `failure`, if there is one, and ends as `end` says.
QString recordEnd(const QString& path, const RunEnd& end,
                  const std::optional<Failure>& failure = {}) {
  auto writer = store::RecordingWriter::create(path.toStdString());
  if (!writer) return {};
  const auto write = [&](const Message& message) {
    (*writer)->take(wire::encode(message), message);
  };
  test::forEachMessage(test::makeSampleRun({.steps = 20, .ended = false}), write);
  if (failure) write(*failure);
  write(end);
  return (*writer)->close() ? path : QString();
}

}  // namespace

class TestRecentRecordings : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;

  QString record(const QString& name, const std::vector<test::OwnedMessage>& run) const {
    return test::recordIn(*folder_, name, run);
  }
  static QString cell(const RecordingsModel& model, int row, int column) {
    return model.index(row, column).data().toString();
  }

 private slots:
  void initTestCase() { test::useOwnHome(); }
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void readsWhatARunWas() {
    const QString path = record("a.highwater", test::makeSampleRun({.steps = 60}));
    const RecordingPreview preview = window::readPreview(path, kNever);
    QCOMPARE(preview.state, State::kRead);
    QCOMPARE(preview.device, QString("simulated"));
    QVERIFY2(preview.what.endsWith(", 16 × 64"), qPrintable(preview.what));
    QVERIFY(preview.end.isEmpty() && preview.problem.isEmpty());
    analysis::LiveStore store;
    test::feed(test::makeSampleRun({.steps = 60}), store);
    QCOMPARE(preview.lengthNs, store.completeUpToNs());
    QCOMPARE(preview.begun.toMSecsSinceEpoch(), store.hello()->clock.unixEpochNs / 1'000'000);
    float current = 0, driver = 0;
    for (const auto& each : preview.memory) {
      QVERIFY(each.leastCurrent <= each.current && each.current <= each.driver);
      current = std::max(current, each.current);
      driver = std::max(driver, each.driver);
    }
    const auto& memory = store.memory();
    QCOMPARE(current, float(memory.current.minMax(0, memory.current.size()).max));
    QCOMPARE(driver, float(memory.driver.minMax(0, memory.driver.size()).max));
  }

  /// The longer the run, the coarser its outline.
  void aLongRunHasNoLongerOutline() {
    const auto shortRun =
        window::readPreview(record("a.highwater", test::makeSampleRun({.steps = 20})), kNever);
    const auto longRun =
        window::readPreview(record("b.highwater", test::makeSampleRun({.steps = 1500})), kNever);
    QVERIFY(longRun.lengthNs > 20 * shortRun.lengthNs);
    QVERIFY(shortRun.memory.size() > 4 && shortRun.memory.size() <= 512);
    QVERIFY(longRun.memory.size() > 255 && longRun.memory.size() <= 512);
  }

  void saysHowItEnded() {
    const auto endOf = [this](const char* name, const RunEnd& end,
                              const std::optional<Failure>& failure = {}) {
      const auto preview =
          window::readPreview(recordEnd(folder_->filePath(name), end, failure), kNever);
      return preview.state == State::kRead ? preview.end : QStringLiteral("not read");
    };
    QCOMPARE(endOf("a", {RunEnd::Reason::kCrashed, 0, 9, "killed", "", ""}),
             QString("crashed, signal 9"));
    QCOMPARE(endOf("b", {RunEnd::Reason::kStopped, 0, 0, "stopped", "", ""}), QString());
    const RunEnd failed{RunEnd::Reason::kFailed, 1, 0, "failed", "", ""};
    QCOMPARE(endOf("c", failed, Failure{Failure::Kind::kFailed, "no"}), QString("failed"));
    QCOMPARE(endOf("d", failed, Failure{Failure::Kind::kOutOfMemory, "MPS backend out of memory"}),
             QString("out of memory after step 20"));
  }

  void saysWhatIsWrongWithAFile() {
    const QString sound = record("sound.highwater", test::makeSampleRun({.steps = 60}));
    QCOMPARE(window::readPreview(folder_->filePath("no.highwater"), kNever).state, State::kMissing);

    const QString other = folder_->filePath("other.highwater");
    QFile text(other);
    QVERIFY(text.open(QIODevice::WriteOnly) && text.write("not a recording") > 0);
    text.close();
    RecordingPreview preview = window::readPreview(other, kNever);
    QCOMPARE(preview.state, State::kDamaged);
    QVERIFY(!preview.problem.isEmpty() && !preview.detail.isEmpty());
    QVERIFY(preview.memory.empty());

    QVERIFY(QFile::resize(sound, QFileInfo(sound).size() - 4096));
    preview = window::readPreview(sound, kNever);
    QCOMPARE(preview.state, State::kDamaged);
    QVERIFY2(preview.problem.startsWith("damaged"), qPrintable(preview.problem));
  }

  void saysThatOneIsBeingWritten() {
    const QString path = folder_->filePath("live.highwater");
    auto writer = store::RecordingWriter::create(path.toStdString());
    QVERIFY(writer.ok());
    QCOMPARE(window::readPreview(path, kNever).state, State::kBeingWritten);
    QVERIFY((*writer)->close().ok());
  }

  void aCancelledReadingKnowsNothing() {
    const QString path = record("a.highwater", test::makeSampleRun({.steps = 60}));
    int asked = 0;
    const RecordingPreview preview = window::readPreview(path, [&] { return ++asked > 2; });
    QCOMPARE(preview.state, State::kUnread);
    QVERIFY(preview.memory.empty() && preview.bytes > 0);
    QVERIFY(asked < 10);
  }

  void listsTheFolderAndTheOthers() {
    RecordingsModel model;
    const QAbstractItemModelTester tester(&model,
                                          QAbstractItemModelTester::FailureReportingMode::QtTest);
    const QTemporaryDir elsewhere;
    record("a.highwater", test::makeSampleRun({.steps = 20}));
    record("b.highwater", test::makeSampleRun({.steps = 40}));
    const QString other = test::recordIn(elsewhere, "other.highwater", test::makeSampleRun({}));
    const QDateTime now = QDateTime::currentDateTime();
    const auto age = [&](const QString& path, int days) {
      QFile file(path);
      return file.open(QIODevice::ReadWrite) &&
             file.setFileTime(now.addDays(-days), QFileDevice::FileModificationTime);
    };
    QVERIFY(age(folder_->filePath("a.highwater"), 2) && age(other, 1));
    const QString gone = elsewhere.filePath("gone.highwater");
    model.list(folder_->path(), {other, gone, folder_->filePath("a.highwater")});
    QCOMPARE(model.rowCount(), 4);
    QStringList names;
    for (int row = 0; row < 4; ++row) names << cell(model, row, RecordingsModel::kName);
    QCOMPARE(names, QStringList({"b", "other", "a", "gone"}));  // newest first, missing last
    // The contents follow.
    QTRY_COMPARE(model.preview(2).state, State::kRead);
    QCOMPARE(model.preview(0).state, State::kRead);
    QVERIFY(cell(model, 0, RecordingsModel::kLength).startsWith("0:0"));
    QCOMPARE(cell(model, 1, RecordingsModel::kDevice), QString("simulated"));
    QCOMPARE(cell(model, 3, RecordingsModel::kLength), QString("–"));
    QCOMPARE(window::secondLine(model.preview(3)), QString("file not found"));

    // What has not changed is not read again; what has is.
    record("b.highwater", test::makeSampleRun({.steps = 80}));
    model.list(folder_->path(), {});
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.preview(1).state, State::kRead);
    QCOMPARE(model.preview(0).state, State::kUnread);
    QTRY_COMPARE(model.preview(0).state, State::kRead);
  }

  void readsDates() {
    const QDateTime now(QDate(2026, 11, 22), QTime(12, 0));
    QCOMPARE(window::shownDate(now.addSecs(-3600), now), QString("Today 11:00"));
    QCOMPARE(window::shownDate(now.addDays(-1), now), QString("Yesterday 12:00"));
    QCOMPARE(window::shownDate(now.addDays(-3), now), QString("19 Nov 12:00"));
    QCOMPARE(window::shownDate(now.addYears(-1), now), QString("22 Nov 2025"));
  }

  void pathsForPeople() {
    const QString home = QDir::homePath();
    QCOMPARE(run::shownPath(home + "/a/b"), QString("~/a/b"));
    QCOMPARE(run::shownPath(home + "er/a"), home + "er/a");
    QCOMPARE(run::meantPath("~/a", "/x"), home + "/a");
    QCOMPARE(run::meantPath("a/../b", "/x"), QString("/x/b"));
    QCOMPARE(run::meantPath("/a", "/x"), QString("/a"));
  }
};

HIGHWATER_TEST(TestRecentRecordings, QCoreApplication)
#include "tst_recent_recordings.moc"
