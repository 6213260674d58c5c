#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <vector>

#include "analysis/account/host_lines.h"
#include "analysis/account/host_time.h"
#include "core/names.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::MarkerKind;
using events::Phase;
using events::SyncKind;

namespace {

constexpr CallSiteId kData = 3, kDataElsewhere = 5, kLog = 6, kRead = 7;

/// Two steps of 100 ms: 40 ms of data, 40 ms of forward, of which a wait takes 10, and 20 ms more.
/// The samples are in the first step's forward and outside of phases.
struct TwoSampledSteps {
  LiveStore store;
  OwnedBatch batch;

  TwoSampledSteps() {
    store.apply(Definitions{{},
                            {},
                            {{kData, kNoId, "main", "/home/me/train.py", 9, "rows = augment(rows)"},
                             {4, kNoId, "main", "/home/me/train.py", 20, "once()"},
                             {kDataElsewhere, 4, "main", "/home/me/train.py", 9, ""},
                             {kLog, kNoId, "main", "/home/me/train.py", 12, "log(step)"},
                             {kRead, kNoId, "main", "/home/me/train.py", 15, "loss.item()"}},
                            {}});
    for (std::uint32_t step = 1; step <= 2; ++step) {
      const std::int64_t ms = 100 * step;
      batch.steps.push_back(stepAt(step, ms, 100));
      batch.phases.push_back(phaseAt(step, Phase::BatchAssembly, ms, 40));
      batch.phases.push_back(phaseAt(step, Phase::Forward, ms + 40, 40));
      batch.syncPoints.emplace_back((ms + 60) * kMs, 10 * kMs, 4, step, kCopy, kNoId, kRead,
                                    kTrainingThread, SyncKind::ScalarRead, Phase::Forward, 0);
    }
    batch.completeUpToNs = 350 * kMs;
  }
  void sample(std::int64_t ms, CallSiteId site) {
    batch.hostSamples.emplace_back(ms * kMs, 1, site, kTrainingThread, Phase::None);
  }
  const LiveStore& done() {
    store.apply(batch.view());
    return store;
  }
};

const HostTimeRow* stepRow(const std::vector<HostTimeRow>& rows, Phase phase, Activity activity,
                           std::uint32_t line) {
  for (const HostTimeRow& each : rows) {
    const bool inSteps = each.part.region == Region::Step && each.part.phase == phase;
    if (inSteps && each.activity == activity && each.site.number == line) return &each;
  }
  return nullptr;
}

std::int64_t totalNsOf(const std::vector<HostTimeRow>& rows) {
  std::int64_t ns = 0;
  for (const HostTimeRow& each : rows) ns += each.ns;
  return ns;
}

}  // namespace

class TestHostTime : public QObject {
  Q_OBJECT

 private slots:
  void workIsSharedBySamplesAndWaitsAreMeasured() {
    TwoSampledSteps run;
    run.sample(110, kData);
    run.sample(120, kDataElsewhere);
    run.sample(125, kData);
    run.sample(130, kLog);
    run.sample(165, kLog);  // in the wait: no work
    const LiveStore& store = run.done();
    const auto rows = hostTime(store);

    const HostTimeRow* data = stepRow(rows, Phase::BatchAssembly, Activity::Work, 9);
    QVERIFY(data);
    QCOMPARE(data->samples, std::uint64_t{3});
    QCOMPARE(data->ns, 60 * kMs);  // three of four samples, of 80 ms
    // Wilson's interval of 3 of 4, by his formula: 0.3006 to 0.9544.
    QVERIFY(std::abs(data->lowNs - 24'051'000) < 10'000 &&
            std::abs(data->highNs - 76'349'000) < 10'000);
    QCOMPARE(stepRow(rows, Phase::BatchAssembly, Activity::Work, 12)->ns, 20 * kMs);

    const HostTimeRow* read = stepRow(rows, Phase::Forward, Activity::Wait, 15);
    QVERIFY(read);
    QCOMPARE(read->ns, 20 * kMs);
    QCOMPARE(read->count, std::uint64_t{2});
    QCOMPARE(read->id, kRead);
    QCOMPARE(read->lowNs, read->ns);

    // Nothing was sampled in forward: its work has no line, and is measured.
    const HostTimeRow* forward = stepRow(rows, Phase::Forward, Activity::Work, 0);
    QVERIFY(forward);
    QCOMPARE(forward->ns, 60 * kMs);
    QCOMPARE(forward->highNs, forward->ns);

    QCOMPARE(totalNsOf(rows), accountTime(store).nsOfRun());
    QVERIFY(std::is_sorted(rows.begin(), rows.end(),
                           [](const HostTimeRow& a, const HostTimeRow& b) { return a.ns > b.ns; }));
  }

  void highwatersOwnCodeIsNoLineOfTheUsers() {
    TwoSampledSteps run;
    constexpr CallSiteId kHooked = 8;
    run.store.apply(Definitions{{},
                                {},
                                {{kHooked, kNoId, "main, in highwater/_probe.py:398 _is_scripts",
                                  "/home/me/train.py", 9, "rows = augment(rows)"}},
                                {}});
    run.sample(110, kData);
    run.sample(120, kHooked);
    const auto rows = hostTime(run.done());
    QCOMPARE(stepRow(rows, Phase::BatchAssembly, Activity::Work, 9)->samples, std::uint64_t{1});
    const HostTimeRow* own = stepRow(rows, Phase::BatchAssembly, Activity::Work, 0);
    QVERIFY(own && own->site.line.empty());
    QCOMPARE(own->site.library, std::string(kHighwaters));
    QCOMPARE(own->ns, 40 * kMs);
  }

  /// Of two calls at one line the one that waits longer has its name.
  void aLineIsNamedByItsLongestWait() {
    TwoSampledSteps run;
    constexpr CallSiteId kShort = 8, kLong = 9;
    run.store.apply(Definitions{{},
                                {},
                                {{kShort, kNoId, "main, in torch/a.py:1 item", "/me/t.py", 30, ""},
                                 {kLong, kNoId, "main, in torch/a.py:2 cpu", "/me/t.py", 30, ""}},
                                {}});
    const auto wait = [&run](std::int64_t ms, std::int64_t length, CallSiteId site) {
      run.batch.syncPoints.emplace_back(ms * kMs, length * kMs, 4, 1, kCopy, kNoId, site,
                                        kTrainingThread, SyncKind::ScalarRead, Phase::None, 0);
    };
    wait(101, 1, kShort);
    wait(110, 20, kLong);
    wait(135, 2, kShort);
    const auto rows = hostTime(run.done());
    const HostTimeRow* row = stepRow(rows, Phase::BatchAssembly, Activity::Wait, 30);
    QVERIFY(row);
    QCOMPARE(row->ns, 23 * kMs);
    QCOMPARE(row->count, std::uint64_t{3});
    QCOMPARE(row->id, kLong);
    QCOMPARE(row->site.library, std::string("torch/a.py:2 cpu"));
  }

  void theStartOfLoadersHasItsLine() {
    TwoSampledSteps run;
    run.store.apply(Definitions{{{40, kLoaderStartSpan, kLog}}, {}, {}, {}});
    run.batch.namedSpans.emplace_back(105 * kMs, 30 * kMs, 1, 40, kTrainingThread, 0);
    const auto rows = hostTime(run.done());
    const HostTimeRow* row = stepRow(rows, Phase::BatchAssembly, Activity::LoaderStart, 12);
    QVERIFY(row);
    QCOMPARE(row->ns, 30 * kMs);
  }

  void countsTheRangeAlone() {
    TwoSampledSteps run;
    run.sample(110, kData);
    run.sample(210, kLog);
    const LiveStore& store = run.done();
    const auto rows = hostTime(store, TimeRange{200 * kMs, 260 * kMs});
    QCOMPARE(totalNsOf(rows), 60 * kMs);
    QVERIFY(!stepRow(rows, Phase::BatchAssembly, Activity::Work, 9));
    QCOMPARE(stepRow(rows, Phase::BatchAssembly, Activity::Work, 12)->ns, 40 * kMs);
    QVERIFY(hostTime(store, TimeRange{200 * kMs, 200 * kMs}).empty());
  }

  void pausesAreNoTimeOfTheHosts() {
    TwoSampledSteps run;
    run.batch.markers.emplace_back(200 * kMs, 0, 0, 1, kNoId, MarkerKind::Paused);
    run.batch.markers.emplace_back(250 * kMs, 0, 0, 1, kNoId, MarkerKind::Resumed);
    const LiveStore& store = run.done();
    QCOMPARE(totalNsOf(hostTime(store)), 300 * kMs);
  }

  /// The lines of a part add up to it, whatever the samples were.
  void linesAddUpToTheirPart() {
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
      TwoSampledSteps run;
      std::vector<std::int64_t> times(random() % 60);
      for (std::int64_t& each : times) each = 100 + static_cast<std::int64_t>(random() % 200);
      std::sort(times.begin(), times.end());
      for (const std::int64_t ms : times) {
        run.sample(ms, std::array{kData, kLog, kRead, kDataElsewhere}[random() % 4]);
      }
      const LiveStore& store = run.done();
      const auto rows = hostTime(store);
      QVERIFY(std::abs(totalNsOf(rows) - accountTime(store).nsOfRun()) <= std::ssize(rows));
      for (const HostTimeRow& each : rows) {
        QVERIFY(0 <= each.lowNs && each.lowNs <= each.ns && each.ns <= each.highNs);
      }
    }
  }
};

HIGHWATER_TEST(TestHostTime, QCoreApplication)
#include "tst_host_time.moc"
