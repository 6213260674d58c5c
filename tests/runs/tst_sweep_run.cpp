// A sweep on a live session, whose worker obeys knobs and commands as the real one does.
#include <QSemaphore>
#include <QThreadPool>
#include <memory>

#include "analysis/live_store.h"
#include "run/sweep_run.h"
#include "session/session_probe.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::run;
using State = session::Session::State;
using highwater::test::kWaitMs;

namespace {

/// A session of the fake worker with its store.
struct SweptRun {
  explicit SweptRun(session::LaunchOptions options) : session(std::move(options)) {
    session.addSink(&store);
    session.start();
  }
  bool trains(std::size_t steps = 3) {
    return QTest::qWaitFor(
        [&] { return session.state() == State::kRunning && store.steps().records.size() >= steps; },
        kWaitMs);
  }
  /// Whether `steps` more steps were trained.
  bool goesOn(std::size_t steps = 3) { return trains(store.steps().records.size() + steps); }
  bool isPaused() {
    return QTest::qWaitFor([&] { return session.state() == State::kPaused && store.paused(); },
                           kWaitMs);
  }
  bool sweeps(SweepRunOptions options) {
    sweep = std::make_unique<SweepRun>(&session, &store, std::move(options));
    const auto started = sweep->start();
    if (!started) qWarning("%s", started.error().message.c_str());
    return started.ok();
  }
  bool finishes() {
    return QTest::qWaitFor([&] { return sweep->isFinished(); }, kWaitMs);
  }
  std::size_t notes() const {
    return static_cast<std::size_t>(std::count_if(
        store.markers().begin(), store.markers().end(),
        [](const auto& marker) { return marker.kind() == events::MarkerKind::Note; }));
  }

  analysis::LiveStore store;
  session::Session session;
  std::unique_ptr<SweepRun> sweep;
};

session::LaunchOptions accumulating() {
  session::LaunchOptions options = test::fakeWorker("knobs");
  options.batchSize = 8;
  options.sequenceLength = 64;
  options.accumulation = 4;
  options.keepEffectiveBatch = true;
  options.outOfMemory = OutOfMemoryPolicy::kStop;
  return options;
}

SweepRunOptions small(std::uint32_t mostBatch = 64) {
  SweepRunOptions options;
  options.sweep.largestBatch = mostBatch;
  options.sweep.lengths = {32, 64};
  options.sweep.mostSettings = 3;
  options.measuredSteps = 3;
  return options;
}

}  // namespace

class TestSweepRun : public QObject {
  Q_OBJECT

 private slots:
  /// Batch 8 × 4 is 8 × 4 again after batch 64, although the effective batch is kept.
  void restoresEveryKnob() {
    SweptRun run(accumulating());
    QVERIFY(run.trains());
    const Knobs before = run.store.knobs();
    QVERIFY(before.batchSize == 8 && before.accumulation == 4 && before.keepEffectiveBatch);
    QVERIFY(run.sweeps(small()));
    QVERIFY(run.finishes());
    QVERIFY2(run.sweep->settings().size() >= 2, run.sweep->result().reason.c_str());
    QVERIFY(run.goesOn());
    QVERIFY(run.store.knobs() == before);
    for (const events::Marker& marker : run.store.markers()) {
      QVERIFY(marker.kind() != events::MarkerKind::Accumulation);
    }
    run.session.abort();
  }

  void appliesTheBestWithTheEffectiveBatchOfBefore() {
    SweptRun run(accumulating());
    QVERIFY(run.trains());
    SweepRunOptions options = small(16);
    options.sweep.smallestBatch = 16;
    options.appliesBest = true;
    QVERIFY(run.sweeps(options));
    QVERIFY(run.finishes());
    QVERIFY(run.sweep->result().best);
    QCOMPARE(run.sweep->result().best->batch, 16U);
    QVERIFY(run.goesOn());
    const Knobs after = run.store.knobs();
    QCOMPARE(after.batchSize, 16U);
    QCOMPARE(after.accumulation, 2U);
    QVERIFY(after.keepEffectiveBatch && after.outOfMemory == OutOfMemoryPolicy::kStop);
    run.session.abort();
  }

  /// The worker answers a pause while it still tries a step with ever smaller batches.
  void blamesOnlyTheSettingThatRanOutOfMemory() {
    session::LaunchOptions options = accumulating();
    options.environment << QStringLiteral("FAKE_WORKER_REFUSES_MIB=800");
    SweptRun run(options);
    QVERIFY(run.trains());
    SweepRunOptions sweep = small(256);
    sweep.sweep.start = tuning::Setting{256, 64};  // 8 GiB, and what is tried next 4 GiB
    sweep.sweep.mostSettings = 6;
    QVERIFY(run.sweeps(sweep));
    QVERIFY(run.finishes());
    const auto& settings = run.sweep->settings();
    QVERIFY(settings.size() > 1 && settings.front().outOfMemory);
    for (const tuning::SweptSetting& each : settings) {
      QCOMPARE(each.outOfMemory, 40 + each.setting.tokens() / 2 > 800);
    }
    QVERIFY(run.goesOn());
    QCOMPARE(run.store.knobs().batchSize, 8U);
    run.session.abort();
  }

  void anEvaluationIsNotASetting() {
    session::LaunchOptions options = accumulating();
    options.environment << QStringLiteral("FAKE_WORKER_EVALUATES=1");
    SweptRun run(options);
    QVERIFY(run.trains());
    QVERIFY(run.sweeps(small()));
    QVERIFY(run.finishes());
    QVERIFY2(run.sweep->settings().size() >= 2, run.sweep->result().reason.c_str());
    for (const tuning::SweptSetting& each : run.sweep->settings()) QVERIFY(!each.outOfMemory);
    run.session.abort();
  }

  /// Whenever it is stopped, a run that the user had paused is paused, and another one trains.
  void keepsThePause_data() {
    QTest::addColumn<bool>("paused");
    QTest::addColumn<int>("changes");
    for (const bool paused : {true, false}) {
      for (const int changes : {0, 1, 2, 3}) {
        QTest::addRow("%s, %d", paused ? "paused" : "training", changes) << paused << changes;
      }
    }
  }
  void keepsThePause() {
    QFETCH(bool, paused);
    QFETCH(int, changes);
    SweptRun run(accumulating());
    QVERIFY(run.trains());
    if (paused) {
      run.session.request(PauseTraining{});
      QVERIFY(run.isPaused());
    }
    QVERIFY(run.sweeps(small()));
    int seen = 0;
    connect(run.sweep.get(), &SweepRun::changed, run.sweep.get(), [&] {
      if (++seen == changes) run.sweep->interrupt();
    });
    if (changes == 0) run.sweep->interrupt();
    QVERIFY(run.finishes());
    QVERIFY(paused ? run.isPaused() : run.goesOn());
    if (paused) {
      run.session.request(ResumeTraining{});
      QVERIFY(run.goesOn());
    }
    QCOMPARE(run.store.knobs().batchSize, 8U);
    QCOMPARE(run.store.knobs().accumulation, 4U);
    run.session.abort();
  }

  /// Ops that are recorded for some steps are not what the run records for ever.
  void restoresTheLastingLevel() {
    SweptRun run(accumulating());
    QVERIFY(run.trains());
    run.session.request(SetProbeLevel{events::ProbeLevel::Ops, 100'000});
    QVERIFY(QTest::qWaitFor([&] { return run.store.probeLevel() == events::ProbeLevel::Ops; },
                            kWaitMs));
    QVERIFY(run.sweeps(small()));
    QVERIFY(run.finishes());
    QVERIFY(run.goesOn());
    QCOMPARE(run.store.probeLevel(), events::ProbeLevel::Monitor);
    run.session.request(SetProbeLevel{events::ProbeLevel::Off, 0});
    QVERIFY(QTest::qWaitFor([&] { return run.store.probeLevel() == events::ProbeLevel::Off; },
                            kWaitMs));
    QVERIFY(run.sweeps(small()));
    QVERIFY(run.finishes());
    QVERIFY(run.goesOn());
    QCOMPARE(run.store.probeLevel(), events::ProbeLevel::Off);
    run.session.abort();
  }

  /// The user's own batch in the middle of a setting is not credited to it.
  void creditsNoOtherBatch() {
    SweptRun run(accumulating());
    QVERIFY(run.trains());
    SweepRunOptions options = small();
    options.measuredSteps = 30;
    QVERIFY(run.sweeps(options));
    QVERIFY(QTest::qWaitFor([&] { return run.sweep->current().has_value(); }, kWaitMs));
    SetKnobs own;
    own.batchSize = 3;
    run.session.request(own);
    QVERIFY(run.finishes());
    QVERIFY(!run.sweep->stopReason().empty());
    for (const tuning::SweptSetting& each : run.sweep->settings()) {
      QCOMPARE(each.peakCurrent, (40 + each.setting.tokens() / 2) << 20U);
    }
    run.session.abort();
  }

  /// The plan cannot begin, let alone end: every thread that could make it is taken.
  void doesNotWaitForAPlanWhenDeleted() {
    SweptRun run(accumulating());
    QVERIFY(run.trains());
    QThreadPool& pool = *QThreadPool::globalInstance();
    QSemaphore begun, goOn;
    for (int i = 0; i < pool.maxThreadCount(); ++i) {
      pool.start([&] {
        begun.release();
        goOn.acquire();
      });
    }
    begun.acquire(pool.maxThreadCount());
    QVERIFY(run.sweeps(small()));
    run.sweep.reset();
    goOn.release(pool.maxThreadCount());
    QVERIFY(pool.waitForDone(kWaitMs));
    QCoreApplication::processEvents();  // nothing is delivered
    QVERIFY(run.notes() == 0);
    run.session.abort();
  }

  /// Nor when it is stopped: what was measured is kept, and the run goes on as before.
  void doesNotWaitForAPlanWhenStopped() {
    SweptRun run(accumulating());
    QVERIFY(run.trains());
    QVERIFY(run.sweeps(small()));
    QThreadPool& pool = *QThreadPool::globalInstance();
    QSemaphore begun, goOn;
    // While the first setting is measured, every thread that could plan the next is taken.
    QVERIFY(QTest::qWaitFor([&] { return run.sweep->current().has_value(); }, kWaitMs));
    for (int i = 0; i < pool.maxThreadCount(); ++i) {
      pool.start([&] {
        begun.release();
        goOn.acquire();
      });
    }
    begun.acquire(pool.maxThreadCount());
    const bool isPlanning = QTest::qWaitFor([&] { return !run.sweep->current(); }, kWaitMs);
    run.sweep->interrupt();
    const bool isFinished = run.sweep->isFinished();
    goOn.release(pool.maxThreadCount());
    QVERIFY(pool.waitForDone(kWaitMs));
    QVERIFY(isPlanning && isFinished);
    QCOMPARE(run.sweep->settings().size(), 1U);
    QVERIFY(run.sweep->settings().front().safe);
    QVERIFY(run.sweep->result().best && !run.sweep->result().complete);
    QCOMPARE(run.sweep->stopReason(), std::string("stopped by the user"));
    QCOMPARE(run.notes(), 2U);
    QVERIFY(run.goesOn());
    QCOMPARE(run.store.knobs().batchSize, 8U);
    run.session.abort();
  }

  /// A setting whose steps take far too long ends with those that there are, and larger ones are
  /// left out.
  void endsASettingThatTakesTooLong() {
    SweptRun run(accumulating());
    SweepRunOptions options = small();
    options.measuredSteps = 100'000;
    options.sweep.longestSettingS = 0.01;
    // Before its first step, nothing tells how long one takes.
    connect(&run.session, &session::Session::stateChanged, &run.session, [&](State state) {
      if (state == State::kRunning && !run.sweep) QVERIFY(run.sweeps(options));
    });
    QVERIFY(QTest::qWaitFor([&] { return run.sweep && run.sweep->isFinished(); }, kWaitMs));
    QVERIFY2(run.sweep->stopReason().empty(), run.sweep->stopReason().c_str());
    QVERIFY(!run.sweep->settings().empty());
    QVERIFY(run.sweep->settings().front().tokensPerS > 0);
    const auto& leftOut = run.sweep->result().leftOut;
    QVERIFY(!leftOut.empty());
    const auto says = std::any_of(leftOut.begin(), leftOut.end(), [](const auto& each) {
      return each.reason.find("steps would take about") != std::string::npos;
    });
    QVERIFY2(says, leftOut.front().reason.c_str());
    QVERIFY(run.goesOn());
    QCOMPARE(run.store.knobs().batchSize, 8U);
    // And now it does: nothing is measured again, and the result says why.
    QVERIFY(run.sweeps(options));
    QVERIFY(run.finishes());
    const std::string reason = run.sweep->result().reason;
    QVERIFY2(
        reason.find("nothing was measured, not even batch 1, length 32: its 100004 steps") == 0,
        reason.c_str());
    QVERIFY(run.goesOn());
    run.session.abort();
  }

  /// The user stops the run in the middle of a setting: nobody else has set anything.
  void endsWithARunThatIsStopped() {
    SweptRun run(accumulating());
    QVERIFY(run.trains());
    SweepRunOptions options = small();
    options.measuredSteps = 1000;
    QVERIFY(run.sweeps(options));
    QVERIFY(QTest::qWaitFor([&] { return run.sweep->current().has_value(); }, kWaitMs));
    run.session.stop();
    QVERIFY(run.finishes());
    QCOMPARE(run.sweep->stopReason(), std::string("the run was stopped"));
    QVERIFY(QTest::qWaitFor([&] { return run.session.state() == State::kEnded; }, kWaitMs));
    QCOMPARE(run.notes() + run.sweep->unsavedNotes().size(), 1U);
  }

  /// A large batch that has not been trained yet is not where a sweep begins, unless the user named
  /// it; one that has is known.
  void beginsSmall_data() {
    QTest::addColumn<bool>("trained");
    QTest::addColumn<bool>("named");
    QTest::addColumn<std::uint32_t>("first");
    QTest::newRow("untried") << false << false << 8U;
    QTest::newRow("named") << false << true << 64U;
    QTest::newRow("trained") << true << false << 64U;
  }
  void beginsSmall() {
    QFETCH(bool, trained);
    QFETCH(bool, named);
    QFETCH(std::uint32_t, first);
    session::LaunchOptions launch = accumulating();
    launch.batchSize = 64;
    SweptRun run(launch);
    std::unique_ptr<SweepRun> sweep;
    SweepRunOptions options = small(256);
    options.startsWithRun = named;
    std::optional<std::uint32_t> began;
    const auto begin = [&] {
      QVERIFY(run.sweeps(options));
      connect(run.sweep.get(), &SweepRun::changed, run.sweep.get(), [&] {
        if (!began && run.sweep->current()) began = run.sweep->current()->setting.batch;
      });
    };
    if (trained) {
      QVERIFY(run.trains());
      begin();
      QVERIFY(QTest::qWaitFor([&] { return began.has_value(); }, kWaitMs));
      QVERIFY2(*began >= first && *began <= 4 * first, qPrintable(QString::number(*began)));
    } else {
      // As soon as it trains, as the window and the command do.
      connect(&run.session, &session::Session::stateChanged, &run.session, [&](State state) {
        if (state == State::kRunning && !run.sweep) begin();
      });
      QVERIFY(QTest::qWaitFor([&] { return began.has_value(); }, kWaitMs));
      QCOMPARE(*began, first);
    }
    run.session.abort();
  }

  /// The end of the run at any moment loses neither a setting nor the end of the sweep.
  void keepsItsNotesWhenTheRunEnds_data() {
    QTest::addColumn<int>("changes");
    for (const int changes : {1, 2, 3, 4}) QTest::addRow("%d", changes) << changes;
  }
  void keepsItsNotesWhenTheRunEnds() {
    QFETCH(int, changes);
    SweptRun run(accumulating());
    QVERIFY(run.trains());
    bool hasEnded = false, endedFirst = false;
    connect(&run.session, &session::Session::ended, &run.session, [&] { hasEnded = true; });
    QVERIFY(run.sweeps(small()));
    connect(run.sweep.get(), &SweepRun::finished, run.sweep.get(), [&] { endedFirst = hasEnded; });
    int seen = 0;
    connect(run.sweep.get(), &SweepRun::changed, run.sweep.get(), [&] {
      if (++seen == changes) {
        QMetaObject::invokeMethod(&run.session, &session::Session::abort, Qt::QueuedConnection);
      }
    });
    QVERIFY(run.finishes());
    // With what the session did not take any more, which the owner then appends to the recording.
    const std::size_t kept = run.notes() + run.sweep->unsavedNotes().size();
    QCOMPARE(kept, run.sweep->settings().size() + 1);
    if (!run.sweep->unsavedNotes().empty()) QVERIFY(endedFirst);
  }
};

HIGHWATER_TEST(TestSweepRun, QCoreApplication)
#include "tst_sweep_run.moc"
