#include "analysis/lost_time_lines.h"
#include "core/names.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

constexpr NameId kItem = 2;
/// The same line, called from two places, and a line that calls a library.
constexpr CallSiteId kFirst = 3, kSecond = 5, kTrainer = 6;

struct LineRun {
  LiveStore store;
  OwnedBatch batch;

  LineRun() {
    store.apply(
        Definitions{{{kItem, "aten::_local_scalar_dense"},
                     {kEvaluation, kEvaluationSpan},
                     {kAugment, "augment"}},
                    {},
                    {{2, kNoId, "main", "/home/me/train.py", 9},
                     {kFirst, 2, "log", "/home/me/train.py", 12},
                     {4, kNoId, "main", "/home/me/train.py", 20},
                     {kSecond, 4, "log", "/home/me/train.py", 12},
                     {kTrainer, kNoId, "main, in transformers/trainer.py:1911 Trainer.train",
                      "/home/me/train.py", 30}},
                    {}});
  }
  void wait(std::int64_t atMs, std::int64_t ms, CallSiteId site, bool planned = false) {
    batch.syncPoints.emplace_back(atMs * kMs, ms * kMs, 4, 1, kItem, kNoId, site, kTrainingThread,
                                  events::SyncKind::ScalarRead, events::Phase::None, planned);
  }
  [[nodiscard]] LostTimeLines lines() {
    store.apply(batch.view());
    return summarizeLines(store);
  }
};

}  // namespace

class TestLostTimeLines : public QObject {
  Q_OBJECT

 private slots:
  void hasARowForEachLine() {
    LineRun run;
    run.wait(0, 3, kFirst);
    run.wait(5, 4, kSecond);  // the same line of another caller
    run.wait(10, 5, kTrainer);
    const auto waits = run.lines().waits;
    QCOMPARE(waits.size(), 2U);
    QCOMPARE(waits[0].site.line, std::string("train.py:12"));
    QCOMPARE(waits[0].site.function, std::string("log"));
    QVERIFY(waits[0].site.library.empty());
    QCOMPARE(waits[0].count, 2U);
    QCOMPARE(waits[0].totalNs, 7 * kMs);
    QCOMPARE(waits[0].bytes, 8U);
    QCOMPARE(waits[1].site.line, std::string("train.py:30"));
    QCOMPARE(waits[1].site.function, std::string("main"));
    QCOMPARE(waits[1].site.library, std::string("transformers/trainer.py:1911 Trainer.train"));
  }

  void tellsPlannedFromUnplanned() {
    LineRun run;
    run.wait(0, 3, kFirst);
    run.wait(5, 4, kFirst, true);
    const auto waits = run.lines().waits;
    QCOMPARE(waits.size(), 2U);
    QVERIFY(waits[0].deliberate);
    QVERIFY(!waits[1].deliberate);
  }

  void namesTheEvaluationAndTheScriptsOwnPhases() {
    LineRun run;
    run.wait(1, 4, kFirst, true);
    run.wait(11, 3, kFirst);
    run.wait(21, 2, kFirst);
    run.batch.namedSpans.emplace_back(0, 10 * kMs, 1, kEvaluation, kTrainingThread, 0);
    run.batch.namedSpans.emplace_back(10 * kMs, 10 * kMs, 1, kAugment, kTrainingThread, 0);
    const auto waits = run.lines().waits;
    QCOMPARE(waits.size(), 3U);
    QCOMPARE(waits[0].where, std::string("evaluation"));
    QCOMPARE(waits[1].where, std::string("augment"));
    QCOMPARE(waits[2].where, std::string("outside a phase"));
  }

  void fallbacksToo() {
    LineRun run;
    run.batch.fallbacks.emplace_back(0, 5 * kMs, kMs, 100, 50, 1, kItem, kNoId, kFirst,
                                     kTrainingThread, events::Phase::Forward);
    run.batch.fallbacks.emplace_back(9 * kMs, 5 * kMs, kMs, 100, 50, 1, kItem, kNoId, kTrainer,
                                     kTrainingThread, events::Phase::Forward);
    run.batch.fallbacks.emplace_back(20 * kMs, 5 * kMs, kMs, 100, 50, 1, kItem, kNoId, kNoId,
                                     kTrainingThread, events::Phase::Backward);
    const auto fallbacks = run.lines().fallbacks;
    QCOMPARE(fallbacks.size(), 3U);
    std::set<std::string> lines;
    for (const LineTotal& each : fallbacks) {
      lines.insert(each.site.line);
      QCOMPARE(each.bytes, 150U);
    }
    QCOMPARE(lines, (std::set<std::string>{"", "train.py:12", "train.py:30"}));
  }
};

HIGHWATER_TEST(TestLostTimeLines, QCoreApplication)
#include "tst_lost_time_lines.moc"
