// The real window with the real worker on the simulated device, offscreen.
#include <signal.h>
#include <unistd.h>

#include <QAction>
#include <QComboBox>
#include <QDirIterator>
#include <QFileInfo>
#include <QLineEdit>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QTableView>
#include <QToolButton>

#include "core/clock.h"
#include "core/exit_codes.h"
#include "core/units.h"
#include "e2e/hands.h"
#include "e2e/runs.h"
#include "models/step_model.h"
#include "run/recording_loader.h"
#include "support/processes.h"
#include "support/test_program.h"
#include "views/panels/findings_panel.h"

using namespace highwater;
using events::MarkerKind;
using namespace highwater::test;
using models::StepModel;
using session::LaunchOptions;

namespace {

LaunchOptions smallRun() {
  LaunchOptions options = test::workerRun();
  options.lossEvery = 10;
  return options;
}

std::vector<events::Marker> markersOf(const analysis::LiveStore& store, MarkerKind kind) {
  std::vector<events::Marker> found;
  for (const events::Marker& marker : store.markers()) {
    if (marker.kind() == kind) found.push_back(marker);
  }
  return found;
}

template <typename Events>
bool sameBytes(const Events& a, const Events& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return std::memcmp(&one, &other, sizeof(one)) == 0;
  });
}

QString badgeOf(const Hands& hands) {
  return hands.find<QWidget>("deviceBadge")->accessibleName();
}

/// The window shows the run that is in `other`.
void compare(Hands& hands, const analysis::LiveStore& other) {
  const analysis::LiveStore& store = hands.store();
  QVERIFY(sameBytes(store.steps().records, other.steps().records));
  QVERIFY(sameBytes(store.markers(), other.markers()));
  QCOMPARE(store.phases().size(), other.phases().size());
  QCOMPARE(store.syncPoints().size(), other.syncPoints().size());
  QCOMPARE(store.fallbacks().size(), other.fallbacks().size());
  QVERIFY(sameBytes(store.ops().records, other.ops().records));
  QCOMPARE(store.memory().timesNs.size(), other.memory().timesNs.size());
  QCOMPARE(store.eventCount(), other.eventCount());
  QCOMPARE(store.completeUpToNs(), other.completeUpToNs());
  QCOMPARE(store.end()->message, other.end()->message);
}

}  // namespace

class TestWindow : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir home_;

  /// Wherever the program keeps its recordings below its home.
  [[nodiscard]] static QString recordingBelow(const QString& folder) {
    QDirIterator files(folder, {QStringLiteral("*.highwater")}, QDir::Files,
                       QDirIterator::Subdirectories);
    return files.hasNext() ? files.next() : QString();
  }

  void acceptsWhileItRuns(Hands& hands) {
    const auto* panel = hands.window.findChild<views::FindingsPanel*>();
    const auto fallback = [panel]() -> const views::FindingCard* {
      for (const auto* each : panel->cards()) {
        if (each->finding().kind == analysis::FindingKind::Fallback) return each;
      }
      return nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(fallback(), kWaitMs);
    const auto* card = fallback();
    const std::string op = card->finding().ops.front();
    card->findChild<QToolButton*>(QStringLiteral("acceptFallbackButton"))->click();
    hands.find<QLineEdit>("acceptReason")->setText("a demonstration");
    hands.find<QPushButton>("acceptButton")->click();
    QVERIFY(hands.store().acceptanceOf(op));
    for (const auto* each : panel->cards()) {
      QVERIFY(each->finding().ops.empty() || each->finding().ops.front() != op);
    }
    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), Hands::State::kEnded, kWaitMs);
    analysis::LiveStore recorded;
    QVERIFY(run::loadRecording(hands.window.currentRun().recordingPath(), recorded));
    compare(hands, recorded);
    QVERIFY(recorded.acceptanceOf(op));
    QCOMPARE(recorded.acceptanceOf(op)->reason, std::string("a demonstration"));
  }

 private slots:
  void initTestCase() {
    QVERIFY(home_.isValid());
    test::useHome(home_);
  }

  void drivesARun() {
    Hands hands(smallRun());
    hands.trigger("runAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.steps() >= 5, kWaitMs);
    QVERIFY2(badgeOf(hands).contains("mps simulated"), qPrintable(badgeOf(hands)));

    // The batch slider, by keyboard: two stops up.
    auto* slider = hands.find<QSlider>("batchSlider");
    auto* batch = hands.find<QSpinBox>("batchSpin");
    QTRY_COMPARE(batch->value(), 8);
    slider->setFocus();
    QTest::keyClick(slider, Qt::Key_Right);
    QTest::keyClick(slider, Qt::Key_Right);
    const auto wanted = static_cast<std::uint32_t>(batch->value());
    QVERIFY(wanted > 8);
    QTRY_COMPARE_WITH_TIMEOUT(markersOf(hands.store(), MarkerKind::BatchSize).size(),
                              std::size_t(1), kWaitMs);
    const events::Marker marker = markersOf(hands.store(), MarkerKind::BatchSize)[0];
    QVERIFY(marker.step() > 1);
    QCOMPARE(marker.value_before(), 8.0);
    QCOMPARE(marker.value_after(), double(wanted));
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().steps().records.back().step() > marker.step() + 2,
                             kWaitMs);
    // And in the table on screen, the newest step first.
    const auto* table = hands.find<QTableView>("stepTable")->model();
    const auto shown = [&](int row, int column) {
      return table->index(row, column).data().toString().remove(u',').toUInt();
    };
    QTRY_VERIFY(table->rowCount() > 0 && shown(0, StepModel::kStep) > marker.step());
    QCOMPARE(shown(0, StepModel::kBatch), wanted);

    // The loss interval, typed.
    hands.type(hands.find<QSpinBox>("lossEverySpin"), "3");
    QTRY_COMPARE_WITH_TIMEOUT(markersOf(hands.store(), MarkerKind::LossInterval).size(),
                              std::size_t(1), kWaitMs);
    const events::Marker interval = markersOf(hands.store(), MarkerKind::LossInterval)[0];
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().steps().records.back().step() > interval.step() + 6,
                             kWaitMs);

    // Pause: time goes on, steps do not.
    hands.trigger("pauseAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), Hands::State::kPaused, kWaitMs);
    QTRY_VERIFY(hands.store().paused());
    const std::size_t before = hands.steps();
    const std::int64_t pausedNs = hands.store().completeUpToNs();
    QTRY_VERIFY(hands.store().completeUpToNs() > pausedNs + 800'000'000);
    QCOMPARE(hands.steps(), before);
    // What happens meanwhile is drawn, and the recorded time is that of the recording.
    hands.trigger("emptyCacheAction");
    QTRY_COMPARE_WITH_TIMEOUT(markersOf(hands.store(), MarkerKind::CacheEmptied).size(),
                              std::size_t(1), kWaitMs);
    const std::int64_t emptiedNs = markersOf(hands.store(), MarkerKind::CacheEmptied)[0].time_ns();
    QTRY_VERIFY(hands.window.timeAxis().visible().endNs > emptiedNs);
    QVERIFY(hands.window.timeAxis().follows());
    const auto* indicator = hands.find<QWidget>("recordingIndicator");
    const auto recorded = [&] {
      return "Recording, " +
             QString::fromStdString(formatRunTime(hands.store().completeUpToNs(), 0));
    };
    QTRY_COMPARE(indicator->accessibleName(), recorded());
    hands.trigger("pauseAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.steps() > before, kWaitMs);
    QCOMPARE(markersOf(hands.store(), MarkerKind::Paused).size(), std::size_t(1));
    QCOMPARE(markersOf(hands.store(), MarkerKind::Resumed).size(), std::size_t(1));

    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), Hands::State::kEnded, kWaitMs);
    const analysis::LiveStore& live = hands.store();
    QVERIFY2(live.end()->reason == RunEnd::Reason::kStopped, live.end()->message.c_str());
    QVERIFY(!hands.banner()->isVisible());
    QCOMPARE(live.dropped(), std::uint64_t(0));
    for (const events::StepRecord& step : live.steps().records) {
      QCOMPARE(step.batch_size(), step.step() < marker.step() ? 8u : wanted);
      if (step.step() == 1) continue;
      const std::uint32_t every = step.step() < interval.step() ? 10 : 3;
      QCOMPARE(step.loss_read() != 0, step.step() % every == 0);
    }

    // A fresh window on the file shows the same run.
    const auto path = hands.window.currentRun().recordingPath();
    QVERIFY2(QString::fromStdString(path.string()).startsWith(home_.path()), path.c_str());
    QVERIFY(!QFile::exists(QString::fromStdString(path.string() + "-wal")));
    Hands fresh;
    const auto opened = fresh.window.openRecording(path);
    QVERIFY2(opened.ok(), opened ? "" : opened.error().message.c_str());
    compare(fresh, live);
    QVERIFY2(badgeOf(fresh).contains("mps simulated"), qPrintable(badgeOf(fresh)));
    QVERIFY(!fresh.banner()->isVisible());
  }

  void recordsOpsForAWhile() {
    LaunchOptions options = smallRun();
    options.scenario = "hidden-fallback";
    options.steps = 100'000;  // the scenario's 40 may be over before a busy machine looks again
    Hands hands(options);
    const auto* level = hands.find<QToolButton>("levelButton");
    QCOMPARE(level->text(), QString("monitor"));
    QVERIFY(!hands.find<QAction>("recordOpsAction")->isEnabled());
    hands.trigger("runAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.steps() >= 8, kWaitMs);
    QVERIFY(hands.store().ops().empty());
    const auto* offer = hands.find<QToolButton>("offerOpsButton");
    QTRY_VERIFY(offer->isVisible());
    hands.trigger("recordOpsAction");
    const auto levels = [&] { return markersOf(hands.store(), MarkerKind::ProbeLevel); };
    QTRY_VERIFY_WITH_TIMEOUT(!levels().empty(), kWaitMs);
    QTRY_VERIFY_WITH_TIMEOUT(level->text() == QString("ops") || levels().size() == 2, kWaitMs);
    QTRY_COMPARE_WITH_TIMEOUT(levels().size(), std::size_t(2), kWaitMs);
    QTRY_COMPARE_WITH_TIMEOUT(level->text(), QString("monitor"), kWaitMs);
    QCOMPARE(levels()[1].step() - levels()[0].step(), 20u);
    // What was recorded can be found, and more of it recorded.
    QTRY_COMPARE(offer->text(), QString("Record 20 more"));
    auto* show = hands.find<QToolButton>("showOpsButton");
    QVERIFY(offer->isVisible() && show->isVisible());
    QTest::mouseClick(show, Qt::LeftButton);
    // Their time, with some room at either side: steps are as long as the machine is busy.
    const auto shownRange = hands.window.timeAxis().visible();
    const auto& records = hands.store().steps().records;
    const auto ofStep = [&](std::uint32_t step) {
      return *std::find_if(records.begin(), records.end(),
                           [step](const auto& each) { return each.step() == step; });
    };
    const events::StepRecord firstStep = ofStep(levels()[0].step());
    const events::StepRecord lastStep = ofStep(levels()[1].step() - 1);
    const std::int64_t lastEndNs = lastStep.begin_ns() + lastStep.duration_ns();
    const std::int64_t room = (lastEndNs - firstStep.begin_ns()) / 4;
    QVERIFY(shownRange.beginNs <= firstStep.begin_ns());
    QVERIFY2(shownRange.beginNs >= firstStep.begin_ns() - room,
             qPrintable(QStringLiteral("%1 to %2 ns is shown, steps from %3 to %4 ns, extent to %5")
                            .arg(shownRange.beginNs)
                            .arg(shownRange.endNs)
                            .arg(firstStep.begin_ns())
                            .arg(lastEndNs)
                            .arg(hands.window.timeAxis().extent().endNs)));
    QVERIFY(shownRange.endNs >= lastEndNs);
    QVERIFY(shownRange.endNs <= lastEndNs + room);
    std::set<std::uint32_t> steps;
    for (const auto& op : hands.store().ops().records) {
      if (op.step() != 0) steps.insert(op.step());
    }
    QCOMPARE(steps.size(), std::size_t(20));
    QCOMPARE(*steps.begin(), levels()[0].step());
    // Some of them are the fallbacks: the probe gives both the same begin.
    std::size_t fallbacks = 0;
    for (const auto& [key, lane] : hands.store().ops().lanes) {
      for (std::size_t i = 0; i < lane.size(); ++i) {
        fallbacks += (lane[i].category & analysis::OpLook::kFallback) != 0;
      }
    }
    QVERIFY2(fallbacks >= 20, qPrintable(QString::number(fallbacks)));
    acceptsWhileItRuns(hands);
  }

  void offersWhatFittedAfterOutOfMemory() {
    LaunchOptions options = smallRun();
    options.environment << QStringLiteral("HIGHWATER_SIM_RECOMMENDED_MAX=64MiB");
    options.outOfMemory = OutOfMemoryPolicy::kStop;
    Hands hands(options);
    hands.trigger("runAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.steps() >= 3, kWaitMs);
    auto* batch = hands.find<QSpinBox>("batchSpin");
    auto* length = hands.find<QSpinBox>("sequenceSpin");
    const int fitted = batch->value(), wasLong = length->value();
    hands.type(batch, QByteArray::number(batch->maximum()));
    QTRY_VERIFY_WITH_TIMEOUT(markersOf(hands.store(), MarkerKind::BatchSize).size() == 1, kWaitMs);
    hands.type(length, QByteArray::number(length->maximum()));
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), Hands::State::kEnded, kWaitMs);
    QVERIFY2(hands.store().end()->exitCode == kExitEndedEarly,
             hands.store().end()->message.c_str());
    auto* again = hands.banner()->findChild<QToolButton*>(QStringLiteral("runAgainButton"));
    QVERIFY2(again->text().startsWith("Run again with "), qPrintable(again->text()));
    // The controls do not stay where it failed, and the next run gets what they show.
    QVERIFY(batch->value() * length->value() < batch->maximum() * length->maximum());
    if (length->value() == wasLong) QCOMPARE(batch->value(), fitted);
    const auto shownBatch = static_cast<std::uint32_t>(batch->value());
    QTest::mouseClick(again, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(hands.state() == Hands::State::kRunning && hands.store().run(),
                             kWaitMs);
    QCOMPARE(hands.store().run()->knobs.batchSize, shownBatch);
    hands.trigger("stopAction");
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), Hands::State::kEnded, kWaitMs);
  }

  void offersToStopATrainingThatStandsStill() {
    // Longer than a worker is silent that waits for a core. Three times as long it must have stood
    // 5 s after Stop, or it is waited for any further.
    qputenv("HIGHWATER_HANG_TIMEOUT_MS", "3000");
    qputenv("FAKE_WORKER", "stuck");
    LaunchOptions options = smallRun();
    options.workerProgram = QStringLiteral(HIGHWATER_FAKE_WORKER);
    Hands hands(options);
    hands.trigger("runAction");
    QTRY_VERIFY_WITH_TIMEOUT(hands.banner()->isVisible(), kWaitMs);
    test::useHome(home_);
    QString said = hands.banner()->message();
    QVERIFY2(said.startsWith("Step 5 has stood in loss read for "), qPrintable(said));
    QVERIFY2(said.endsWith(" s, in aten::_local_scalar_dense"), qPrintable(said));
    QTRY_VERIFY_WITH_TIMEOUT(hands.banner()->message() != said, kWaitMs);  // the seconds go on
    QVERIFY(hands.banner()->message().startsWith("Step 5 has stood in loss read for "));
    QCOMPARE(hands.state(), Hands::State::kRunning);
    // A dismissed banner stays away while the stall goes on.
    hands.banner()->findChild<QToolButton*>(QStringLiteral("dismissBannerButton"))->click();
    const std::int64_t dismissedNs = hands.store().completeUpToNs();
    QTRY_VERIFY_WITH_TIMEOUT(hands.store().completeUpToNs() > dismissedNs + 2'500'000'000, kWaitMs);
    QVERIFY(!hands.banner()->isVisible());
    hands.banner()->show();
    auto* stop = hands.banner()->findChild<QToolButton*>(QStringLiteral("runAgainButton"));
    QCOMPARE(stop->text(), QString("Stop"));
    QTest::mouseClick(stop, Qt::LeftButton);
    QCOMPARE(hands.state(), Hands::State::kStopping);
    QTRY_COMPARE_WITH_TIMEOUT(hands.state(), Hands::State::kEnded, kWaitMs);
    said = hands.banner()->message();
    QVERIFY(hands.banner()->isVisible());
    QVERIFY2(said.contains("which did not stop within 5 s"), qPrintable(said));
    QVERIFY2(said.contains("aten::_local_scalar_dense"), qPrintable(said));
  }

  void anEndedWindowTakesItsWorkerWithIt_data() {
    QTest::addColumn<int>("signal");
    QTest::addColumn<bool>("closesItsRecording");
    QTest::newRow("killed") << SIGKILL << false;
    QTest::newRow("asked to end") << SIGTERM << true;
  }
  void anEndedWindowTakesItsWorkerWithIt() {
    QFETCH(int, signal);
    QFETCH(bool, closesItsRecording);
    const QTemporaryDir home;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("HOME"), home.path());
    environment.insert(QStringLiteral("XDG_DATA_HOME"), home.path());
    QProcess process;
    process.setProcessEnvironment(environment);
    process.setProcessChannelMode(QProcess::ForwardedChannels);
    process.start(HIGHWATER_BIN_DIR "/highwater",
                  {"--run", "--device", "sim", "--batch", "4", "--seq", "16"});
    const auto recordedSteps = [&]() -> std::size_t {
      analysis::LiveStore store;
      const QString file = recordingBelow(home.path());
      if (file.isEmpty() || !run::loadRecording(file.toStdString(), store)) return 0;
      return store.steps().records.size();
    };
    // The file is only weighed until the kill: a reader at each poll would slow what it waits for.
    const auto recordedBytes = [&] {
      const QString file = recordingBelow(home.path());
      return file.isEmpty() ? 0 : QFileInfo(file).size() + QFileInfo(file + "-wal").size();
    };
    QTRY_VERIFY_WITH_TIMEOUT(recordedBytes() > 256 * 1024, kWaitMs);
    const qint64 worker = workerOf(process.processId());
    QVERIFY(worker > 0 && !isGone(worker));
    QCOMPARE(::kill(static_cast<pid_t>(process.processId()), signal), 0);
    QVERIFY(process.waitForFinished(kWaitMs));
    QTRY_VERIFY_WITH_TIMEOUT(isGone(worker), kWaitMs);
    QVERIFY(recordedSteps() > 0);
    if (!closesItsRecording) return;
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    analysis::LiveStore store;
    const QString file = recordingBelow(home.path());
    QVERIFY(run::loadRecording(file.toStdString(), store));
    QVERIFY(store.end());
    QVERIFY(!QFile::exists(file + "-wal"));
  }
};

HIGHWATER_TEST(TestWindow, QApplication)
#include "tst_window.moc"
