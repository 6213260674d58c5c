// Ops that the store has dropped come back from the recording while they are looked at.
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <filesystem>

#include "run/recording_loader.h"
#include "run/run.h"
#include "support/large_recording.h"
#include "support/own_home.h"
#include "support/test_program.h"
#include "views/panes/time_axis.h"
#include "window/op_read_back.h"

using namespace highwater;
using analysis::LiveStore;
using analysis::TimeRange;
using run::Run;
using window::OpReadBack;

namespace {

constexpr std::uint64_t kSteps = 700;
constexpr std::int64_t kStepNs = 100'000'000;
/// The least budget that a user can set. Of 700,000 ops the store keeps some 400,000, and takes
/// back 170,000: a batch of the recording, which is read as a whole, has 58,000.
constexpr std::size_t kBudget = std::size_t{64} << 20;

/// The begins of the ops of all lanes that begin in a range.
std::vector<std::int64_t> begins(const LiveStore& store, TimeRange range) {
  std::vector<std::int64_t> found;
  for (const auto& [key, lane] : store.ops().lanes) {
    const std::size_t last = lane.firstFrom(range.endNs);
    for (std::size_t i = lane.firstFrom(range.beginNs); i < last; ++i) {
      if (store.ops().at(lane[i].payload)) found.push_back(lane[i].beginNs);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TimeRange steps(std::int64_t first, std::int64_t count) {
  return {first * kStepNs, (first + count) * kStepNs};
}

}  // namespace

class TestWindowOpReadBack : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::filesystem::path recording_;
  LiveStore all_;
  std::unique_ptr<run::Run> run_;
  std::unique_ptr<views::TimeAxis> axis_;
  std::unique_ptr<OpReadBack> readBack_;

  /// A copy, for a test that spoils it.
  [[nodiscard]] std::filesystem::path copy(const char* name) const {
    const std::filesystem::path path = folder_.filePath(QLatin1String(name)).toStdString();
    std::filesystem::copy_file(recording_, path, std::filesystem::copy_options::overwrite_existing);
    return path;
  }
  void open(const std::filesystem::path& path) const {
    QVERIFY(run_->open(path).ok());
    axis_->setExtent({0, run_->store().completeUpToNs()});
    axis_->setFollows(false);
  }
  [[nodiscard]] bool isMissing(TimeRange range) const {
    return run_->store().ops().isMissing(range.beginNs, range.endNs);
  }
  /// Looks at a range until its ops are there. What was asked for before has come back by then.
  void waitForARead(TimeRange of) {
    axis_->setVisible(of);
    QTRY_VERIFY(!isMissing(of));
  }

 private slots:
  void initTestCase() {
    test::useOwnHome();
    recording_ = folder_.filePath("all.highwater").toStdString();
    QVERIFY(test::writeLargeRecording(recording_, {.steps = kSteps, .stepNs = kStepNs}).ok());
    QVERIFY(run::loadReadablePart(recording_, all_, {}).ok());
    QCOMPARE(all_.ops().forgottenUpToNs, std::int64_t{0});
  }
  void init() {
    run_ = std::make_unique<run::Run>(session::LaunchOptions{});
    run_->setMemoryBudget(kBudget);
    axis_ = std::make_unique<views::TimeAxis>();
    readBack_ = std::make_unique<OpReadBack>(run_.get(), axis_.get());
    open(recording_);
    QVERIFY(run_->store().ops().firstRow > 0);
  }
  void cleanup() {
    readBack_.reset();
    axis_.reset();
    run_.reset();
  }

  void showsWhatIsLookedAt_data() {
    QTest::addColumn<int>("first");
    QTest::addColumn<int>("count");
    QTest::newRow("the first step") << 0 << 1;
    QTest::newRow("ten steps") << 20 << 10;
    QTest::newRow("thirty steps, without room beside them") << 50 << 30;
  }
  void showsWhatIsLookedAt() {
    QFETCH(int, first);
    QFETCH(int, count);
    const TimeRange range = steps(first, count);
    QVERIFY(isMissing(range));
    axis_->setVisible(range);
    QTRY_VERIFY(!isMissing(range));
    QVERIFY(begins(all_, range).size() >= static_cast<std::size_t>(count) * 500);
    QCOMPARE(begins(run_->store(), range), begins(all_, range));
  }

  void hasRoomToPan() {
    axis_->setVisible(steps(20, 5));
    QTRY_VERIFY(!isMissing(steps(20, 5)));
    QVERIFY(!isMissing(steps(15, 15)));  // as much before and behind it
  }

  void followsTheView() {
    for (const std::int64_t first : {10, 60, 30}) {
      axis_->setVisible(steps(first, 5));
      QTRY_VERIFY(!isMissing(steps(first, 5)));
      QCOMPARE(begins(run_->store(), steps(first, 5)), begins(all_, steps(first, 5)));
    }
    QVERIFY(isMissing(steps(60, 5)));  // one range at a time
  }

  void readsNothingWhereThereIsTooMuch() {
    const auto forgotten = run_->store().ops().forgottenUpToNs;
    QVERIFY(forgotten > steps(0, 60).endNs);
    QSignalSpy tooMany(readBack_.get(), &OpReadBack::tooMany);
    axis_->setVisible({0, forgotten});
    QTRY_COMPARE(tooMany.count(), 1);
    QCOMPARE(run_->store().ops().readBackRange().second, std::int64_t{0});
    // A range around it is not even looked for; one within it is read.
    axis_->setVisible({0, forgotten + kStepNs});
    waitForARead(steps(5, 2));
    QCOMPARE(tooMany.count(), 1);
    const auto [beginNs, endNs] = run_->store().ops().readBackRange();
    QVERIFY(endNs - beginNs <= steps(0, 6).endNs);
  }

  void leavesWhatWasNeverDropped() {
    const std::uint64_t revision = run_->store().revision();
    axis_->setVisible(steps(kSteps - 3, 2));
    QVERIFY(!isMissing(steps(kSteps - 3, 2)));
    QTest::qWait(0);
    QCOMPARE(run_->store().revision(), revision);
    QCOMPARE(run_->store().ops().readBackRange().second, std::int64_t{0});
  }

  void saysOnceThatTheFileIsGone() {
    const auto path = copy("gone.highwater");
    open(path);
    std::filesystem::remove(path);
    QSignalSpy failed(readBack_.get(), &OpReadBack::failed);
    axis_->setVisible(steps(20, 5));
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY2(failed.front().front().toString().contains("gone.highwater"),
             qPrintable(failed.front().front().toString()));
    axis_->setVisible(steps(40, 5));
    open(recording_);  // the next recording is read, which is after that
    waitForARead(steps(10, 2));
    QCOMPARE(failed.count(), 1);
    // And it may fail again.
    open(copy("gone.highwater"));
    std::filesystem::remove(path);
    axis_->setVisible(steps(20, 5));
    QTRY_COMPARE(failed.count(), 2);
  }

  /// What was read of one run is never shown in another.
  void aRunThatIsReplacedTakesItsOpsAlong() {
    for (int round = 0; round < 3; ++round) {
      axis_->setVisible(steps(20, 10));
      QTest::qWait(round * 60);  // before, at and after the view has settled
      open(recording_);
      const auto [beginNs, endNs] = run_->store().ops().readBackRange();
      QCOMPARE(beginNs, std::int64_t{0});
      QCOMPARE(endNs, std::int64_t{0});
    }
    waitForARead(steps(30, 5));
    QCOMPARE(begins(run_->store(), steps(30, 5)), begins(all_, steps(30, 5)));
  }

  void endsWhileItReads() {
    axis_->setVisible(steps(20, 10));
    QTest::qWait(140);  // it may have begun
    readBack_.reset();
    axis_->setVisible(steps(30, 10));  // nobody follows
    QVERIFY(isMissing(steps(40, 5)));
  }
};

HIGHWATER_TEST(TestWindowOpReadBack, QApplication)
#include "tst_window_op_read_back.moc"
