// Messages about a recording that is damaged, being written, or deleted while it is written.
#include <sqlite3.h>

#include <QApplication>
#include <QDockWidget>
#include <QFile>
#include <QLabel>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "core/units.h"
#include "run/recording_loader.h"
#include "support/large_recording.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "support/window_bench.h"
#include "views/panels/banner.h"
#include "views/panes/time_pane.h"
#include "window/main_window.h"
#include "window/opening_page.h"
#include "window/window_picture.h"

using namespace highwater;
using window::MainWindow;

namespace {

/// A recording of the sample run that is written piece by piece, as another process does.
struct GrowingRecording {
  explicit GrowingRecording(const std::filesystem::path& path)
      : writer(store::RecordingWriter::create(path)) {
    test::forEachMessage(test::makeSampleRun(),
                         [&](const Message& message) { frames.push_back(wire::encode(message)); });
  }
  void writeUpTo(std::size_t end) {
    for (; written < end; ++written) {
      const auto message = wire::decode(frames[written]);
      QVERIFY(message.ok());
      (*writer)->take(frames[written], *message);
    }
  }

  Result<std::unique_ptr<store::RecordingWriter>> writer;
  std::vector<std::vector<std::uint8_t>> frames;
  std::size_t written = 0;
};

}  // namespace

class TestWindowRecordings : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<test::WindowBench> bench_;

  /// Empty if the banner is hidden.
  [[nodiscard]] QString banner() const {
    const auto* banner = bench_->window.findChild<views::Banner*>(QStringLiteral("endBanner"));
    return banner->isHidden() ? QString() : banner->message();
  }
  [[nodiscard]] std::filesystem::path record(const test::SampleRunOptions& options = {}) const {
    return test::recordIn(bench_->folder, "a.highwater", test::makeSampleRun(options))
        .toStdString();
  }

 private slots:
  void initTestCase() { test::WindowBench::useFakeWorker(HIGHWATER_FAKE_WORKER); }
  void init() { bench_ = std::make_unique<test::WindowBench>(); }
  void cleanup() { bench_.reset(); }

  void saysNothingOfASoundOne() {
    QVERIFY(bench_->window.openRecording(record()).ok());
    QCOMPARE(banner(), QString());
  }

  void showsADamagedOneAndSaysSo() {
    const auto path = record();
    sqlite3* db = nullptr;
    QCOMPARE(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    QCOMPARE(sqlite3_exec(db,
                          "INSERT INTO batches (kinds, frames, raw_bytes, data)"
                          " VALUES (0, 1, 9, x'00')",
                          nullptr, nullptr, nullptr),
             SQLITE_OK);
    sqlite3_close(db);
    QVERIFY(bench_->window.openRecording(path).ok());
    QVERIFY2(banner().contains("a.highwater\" is damaged: a batch is not of the size"),
             qPrintable(banner()));
    QCOMPARE(bench_->window.currentRun().store().steps().records.size(), std::size_t(60));
    const auto kept =
        bench_->window.currentRun().acceptFallback("aten::embedding_renorm_", true, "rare");
    QVERIFY(!kept.ok() && kept.error().code == ErrorCode::kMalformed);
    // The next one is sound.
    std::filesystem::remove(path);
    QVERIFY(bench_->window.openRecording(record()).ok());
    QCOMPARE(banner(), QString());
  }

  void showsTheReadablePartOfATruncatedOne() {
    const auto path = bench_->folder.filePath("cut.highwater").toStdString();
    QVERIFY(test::writeLargeRecording(path, {.steps = 1000}));
    const auto whole = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, whole / 10 * 8);
    const auto opened = bench_->window.openRecording(path);
    QVERIFY2(opened.ok(), opened.ok() ? "" : opened.error().message.c_str());
    const auto steps = bench_->window.currentRun().store().steps().records.size();
    QVERIFY(steps > 10 && steps < 1000);
    QVERIFY2(banner().contains("the file is truncated (") &&
                 banner().contains(QString("%1 steps").arg(steps)),
             qPrintable(banner()));
    // The same behind the window and in a picture, which is a failure as in `report`.
    QVERIFY(bench_->window.openRecording(record()).ok());
    QCOMPARE(banner(), QString());
    bench_->window.openInBackground(path);
    QTRY_COMPARE(bench_->window.currentRun().store().steps().records.size(), steps);
    QTRY_VERIFY(banner().contains("the file is truncated ("));
    const auto image = bench_->folder.filePath("cut.png").toStdString();
    const auto drawn = window::exportWindowPicture(path, image, {});
    QVERIFY(drawn.ok() && drawn->cutOff && std::filesystem::exists(image));
    // Nothing is shown of one whose beginning is lost, and that is said once.
    std::filesystem::resize_file(path, 20'000);
    bench_->window.openInBackground(path);
    QTRY_VERIFY(banner().endsWith("nothing could be read"));
    std::filesystem::resize_file(path, 300);
    QVERIFY(!bench_->window.openRecording(path).ok());
    QCOMPARE(bench_->window.currentRun().store().steps().records.size(), steps);
    bench_->window.openInBackground(path);
    QTRY_VERIFY(banner().endsWith("nothing could be read"));
  }

  void keepsAReasonWithoutTheSpacesAroundIt() {
    QVERIFY(bench_->window.openRecording(record()).ok());
    run::Run& run = bench_->window.currentRun();
    QVERIFY(run.acceptFallback("aten::gelu", true, "  rare \n").ok());
    QCOMPARE(run.store().acceptanceOf("aten::gelu")->reason, std::string("rare"));
  }

  void saysThatOneIsBeingWritten() {
    const auto path = bench_->folder.filePath("b.highwater").toStdString();
    auto writer = store::RecordingWriter::create(path);
    QVERIFY(writer.ok());
    QVERIFY(bench_->window.openRecording(path).ok());
    QVERIFY2(banner().contains("b.highwater is still being written"), qPrintable(banner()));
    // It is not overwritten either.
    QVERIFY(bench_->window.openRecording(record()).ok());
    const auto saved = bench_->window.currentRun().saveAs(path);
    QVERIFY(!saved.ok() && saved.error().code == ErrorCode::kExists);
    QVERIFY((*writer)->close().ok());
    QVERIFY(bench_->window.currentRun().saveAs(path).ok());
  }

  /// How it does is tested in tst_window_op_read_back.
  void readsDroppedOpsBack() {
    const auto path = bench_->folder.filePath("ops.highwater").toStdString();
    constexpr std::int64_t kStepNs = 100'000'000;
    QVERIFY(test::writeLargeRecording(path, {.steps = 700, .stepNs = kStepNs}));
    run::Run& run = bench_->window.currentRun();
    run.setMemoryBudget(std::size_t{64} << 20);
    QVERIFY(bench_->window.openRecording(path).ok());
    const analysis::OpColumns& ops = run.store().ops();
    QVERIFY(ops.isMissing(10 * kStepNs, 12 * kStepNs));
    bench_->window.timeAxis().setVisible({10 * kStepNs, 12 * kStepNs});
    QTRY_VERIFY(!ops.isMissing(10 * kStepNs, 12 * kStepNs));
    QCOMPARE(banner(), QString());
    // Of a file that is gone it says so.
    std::filesystem::remove(path);
    bench_->window.timeAxis().setVisible({100 * kStepNs, 101 * kStepNs});
    QTRY_VERIFY(banner().contains("ops.highwater"));
  }

  void readsALargeOneBehindTheWindow() {
    const auto path = bench_->folder.filePath("large.highwater").toStdString();
    QVERIFY(test::writeLargeRecording(path, {.steps = 1500}));
    QVERIFY(std::filesystem::file_size(path) > (16U << 20));
    auto* page = bench_->window.findChild<window::OpeningPage*>();
    page->setPatience(0);
    QSignalSpy overviews(page, &window::OpeningPage::overviewShown);
    bool tableBefore = true;
    QStringList panes;
    connect(page, &window::OpeningPage::overviewShown, this, [&] {
      tableBefore = !bench_->window.currentRun().recordingPath().empty();
      for (const auto* pane : page->findChildren<views::TimePane*>()) panes << pane->objectName();
    });
    bench_->window.openInBackground(path);
    QTRY_VERIFY(bench_->window.currentRun().showsFile());
    // The overview came first, and no table had been made from it.
    QCOMPARE(overviews.size(), 1);
    QVERIFY(!tableBefore);
    // Nothing of it counts the steps or events of a part as if they were all.
    panes.sort();
    QCOMPARE(panes, QStringList({"memoryPane", "overviewPane", "ruler"}));
    QVERIFY(!page->isVisible());
    QCOMPARE(bench_->window.currentRun().store().steps().records.size(), std::size_t(1500));
    QCOMPARE(bench_->window.currentRun().recordingPath().string(), path);
  }

  /// The ops of a run without findings about events are shown once they are counted.
  void showsTheOpsOfOneWithMany_data() {
    QTest::addColumn<bool>("behind");
    QTest::newRow("at once") << false;
    QTest::newRow("behind the window") << true;
  }
  void showsTheOpsOfOneWithMany() {
    QFETCH(const bool, behind);
    const auto path = bench_->folder.filePath("ops.highwater").toStdString();
    QVERIFY(test::writeLargeRecording(path, {.steps = 100, .opsAStep = 6'000}));
    auto* ops = bench_->window.findChild<QTableView*>(QStringLiteral("opsTable"));
    if (behind) {
      bench_->window.openInBackground(path);
      QTRY_VERIFY(bench_->window.currentRun().showsFile());
    } else {
      QVERIFY(bench_->window.openRecording(path).ok());
      QVERIFY(ops->isVisible());
    }
    QTRY_VERIFY(ops->isVisible());
    QVERIFY(ops->model()->rowCount() > 0);
  }

  void cancelsWhatIsBeingRead() {
    const auto large = bench_->folder.filePath("large.highwater").toStdString();
    QVERIFY(test::writeLargeRecording(large, {.steps = 1500}));
    QVERIFY(bench_->window.openRecording(record()).ok());
    auto* page = bench_->window.findChild<window::OpeningPage*>();
    page->setPatience(0);
    auto* cancel = page->findChild<QToolButton*>("cancelOpeningButton");
    bool shown = false;
    const auto whenShown = [&](auto act) {
      return connect(page, &window::OpeningPage::worthShowing, this, [&shown, page, act] {
        shown = page->isVisible();
        act();
      });
    };
    const auto click = whenShown([cancel] { QTest::mouseClick(cancel, Qt::LeftButton); });
    bench_->window.openInBackground(large);
    QTRY_VERIFY(shown);
    QVERIFY(!page->isVisible() && !page->reads());
    // The run on screen stayed, with its docks.
    QCOMPARE(bench_->window.currentRun().store().steps().records.size(), std::size_t(60));
    QVERIFY(bench_->window.findChild<QDockWidget*>("findingsDock")->isVisible());
    // Esc does the same.
    disconnect(click);
    shown = false;
    whenShown([page] { QTest::keyClick(page, Qt::Key_Escape); });
    bench_->window.openInBackground(large);
    QTRY_VERIFY(shown && !page->reads());
    QCOMPARE(bench_->window.currentRun().store().steps().records.size(), std::size_t(60));
  }

  void explainsWhatCannotBeRead() {
    const auto path = bench_->folder.filePath("broken.highwater");
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("not a recording") > 0);
    file.close();
    QVERIFY(bench_->window.openRecording(record()).ok());
    bench_->window.openInBackground(path.toStdString());
    QTRY_VERIFY(banner().contains("broken.highwater"));
    QCOMPARE(bench_->window.currentRun().store().steps().records.size(), std::size_t(60));
  }

  void followsOneThatIsBeingWritten() {
    const auto path = bench_->folder.filePath("growing.highwater").toStdString();
    GrowingRecording growing(path);
    QVERIFY(growing.writer.ok());
    growing.writeUpTo(growing.frames.size() / 3);
    QTRY_VERIFY((*growing.writer)->bytesWritten() > 0);
    QVERIFY(bench_->window.openRecording(path).ok());
    QVERIFY2(banner().contains("still being written by another process"), qPrintable(banner()));
    const analysis::LiveStore& store = bench_->window.currentRun().store();
    const auto steps = [&store] { return store.steps().records.size(); };
    const auto* status = bench_->window.findChild<QLabel*>(QStringLiteral("statusState"));
    QTRY_VERIFY2(status->text().startsWith("Still being written, following"),
                 qPrintable(status->text()));
    QTRY_VERIFY(steps() > 0);
    const std::size_t before = steps();
    QVERIFY(before < 60);
    const std::int64_t beforeNs = bench_->window.timeAxis().extent().endNs;
    growing.writeUpTo(2 * growing.frames.size() / 3);
    QTRY_VERIFY(steps() > before);
    QTRY_VERIFY(bench_->window.timeAxis().extent().endNs > beforeNs);
    QVERIFY(bench_->window.timeAxis().follows());
    const auto* recorded = bench_->window.findChild<QWidget*>(QStringLiteral("recordingIndicator"));
    const auto length = [&store] {
      return QString::fromStdString(formatRunTime(store.completeUpToNs(), 0));
    };
    QTRY_COMPARE(recorded->accessibleName(), QStringLiteral("Recorded run, %1").arg(length()));
    QVERIFY(steps() < 60 && !store.end());
    growing.writeUpTo(growing.frames.size());
    QVERIFY((*growing.writer)->close().ok());
    QTRY_COMPARE(steps(), std::size_t(60));
    QTRY_VERIFY(!bench_->window.currentRun().condition().beingWritten);
    QTRY_COMPARE(banner(), QString());
    QTRY_VERIFY2(
        status->text().startsWith("Ended after 60 steps") || status->text().startsWith("Finished"),
        qPrintable(status->text()));
    // Each event was taken once, as by one who opens it now.
    analysis::LiveStore whole;
    QVERIFY(run::loadRecording(path, whole).ok());
    QCOMPARE(store.eventCount(), whole.eventCount());
    QCOMPARE(store.markers().size(), whole.markers().size());
    // And it was closed: its writer left no WAL behind because of the reader.
    QVERIFY(!std::filesystem::exists(path + "-wal"));
  }

  /// What is followed keeps its length, which must not be that of a run without a step yet.
  void followsOneThatHasOnlyBegun() {
    const auto path = bench_->folder.filePath("young.highwater").toStdString();
    GrowingRecording growing(path);
    QVERIFY(growing.writer.ok());
    growing.writeUpTo(3);
    QTRY_VERIFY((*growing.writer)->bytesWritten() > 0);
    QVERIFY(bench_->window.openRecording(path).ok());
    const analysis::LiveStore& store = bench_->window.currentRun().store();
    QVERIFY(store.steps().records.empty());
    growing.writeUpTo(growing.frames.size());
    QTRY_COMPARE(store.steps().records.size(), std::size_t(60));
    const views::TimeAxis& axis = bench_->window.timeAxis();
    QTRY_COMPARE(axis.extent().endNs, store.completeUpToNs());
    QVERIFY(axis.follows());
    QVERIFY2(axis.visibleNs() >= 1'000'000'000, qPrintable(QString::number(axis.visibleNs())));
    QVERIFY(axis.visible().endNs >= axis.extent().endNs);
    QVERIFY((*growing.writer)->close().ok());
  }

  void saysThatTheLiveOneIsGone() {
    bench_->window.startRun();
    const auto& run = bench_->window.currentRun();
    QTRY_VERIFY(!run.store().steps().records.empty());
    const auto path = run.recordingPath();
    QVERIFY(std::filesystem::remove(path));
    QTRY_VERIFY(banner().contains("was deleted while it was written"));
    QVERIFY2(run.live(), "the training goes on");
    bench_->window.currentRun().stop();
    QTRY_VERIFY(!run.live());
    QCOMPARE(run.recordingBytes(), std::uint64_t(0));
    QVERIFY(!std::filesystem::exists(path));
  }
};

HIGHWATER_TEST(TestWindowRecordings, QApplication)
#include "tst_window_recordings.moc"
