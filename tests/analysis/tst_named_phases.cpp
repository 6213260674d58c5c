#include "analysis/named_phases.h"
#include "core/names.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

constexpr NameId kSave = 4;

struct NamedRun {
  LiveStore store;
  OwnedBatch batch;

  NamedRun() {
    store.apply(Definitions{
        {{kEvaluation, kEvaluationSpan}, {kAugment, "augment"}, {kSave, "save"}}, {}, {}, {}});
  }
  void span(std::int64_t atMs, std::int64_t ms, std::uint32_t step, NameId name,
            bool continued = false) {
    batch.namedSpans.emplace_back(atMs * kMs, ms * kMs, step, name, kTrainingThread, continued);
  }
};

}  // namespace

class TestNamedPhases : public QObject {
  Q_OBJECT

 private slots:
  void nothing() { QVERIFY(summarizeNamedPhases(LiveStore()).empty()); }

  void anEvaluationIsNoPhaseOfTheScripts() {
    NamedRun run;
    QVERIFY(!namesPhases(run.store));
    run.span(0, 5, 8, kEvaluation);
    run.store.apply(run.batch.view());
    QVERIFY(!namesPhases(run.store));
    NamedRun other;
    other.span(0, 5, 8, kEvaluation);
    other.span(10, 5, 9, kAugment);
    other.store.apply(other.batch.view());
    QVERIFY(namesPhases(other.store));
  }

  /// Of the built-in workload Highwater keeps checkpoints; a script may call a phase of its own so.
  void whatHighwaterNamesIsNoPhaseOfTheScripts() {
    LiveStore store;
    QCOMPARE(nameKind(store, kCheckpointSpan), NameKind::Highwater);
    QCOMPARE(nameKind(store, kOwnWorkSpan), NameKind::Own);
    RunDescription run;
    run.ownScript = true;
    store.apply(run);
    QCOMPARE(nameKind(store, kCheckpointSpan), NameKind::Own);
    QCOMPARE(nameKind(store, kOwnWorkSpan), NameKind::Highwater);
    QCOMPARE(nameKind(store, kLoaderStartSpan), NameKind::LoaderStart);
    QCOMPARE(nameKind(store, kEvaluationSpan), NameKind::Evaluation);
  }

  /// A phase that another one interrupts comes in several spans.
  void addsUpThePhasesOfTheScript() {
    NamedRun run;
    run.span(0, 2, 1, kAugment);
    run.span(5, 3, 1, kAugment, true);
    run.span(10, 2, 2, kAugment);
    run.span(20, 9, 2, kSave);
    run.store.apply(run.batch.view());
    const std::vector<NamedPhase> all = summarizeNamedPhases(run.store);
    QCOMPARE(all.size(), 2U);
    QCOMPARE(all[0].name, std::string("save"));
    QCOMPARE(all[1].name, std::string("augment"));
    QCOMPARE(all[1].count, 2U);
    QCOMPARE(all[1].totalNs, 7 * kMs);
  }

  void advisesToNameWhatMostOfTheStepsIs() {
    RunSummary summary;
    QCOMPARE(shareOutsidePhases(summary), 0.0);
    summary.stepsMs = 100;
    summary.phaseMs[static_cast<std::size_t>(events::Phase::Forward)] = 30;
    summary.phaseMs[static_cast<std::size_t>(events::Phase::Backward)] = 20;
    QCOMPARE(shareOutsidePhases(summary), 0.5);

    NamedRun run;
    QVERIFY(phaseNamingHint(run.store, summary).empty());  // not a script
    RunDescription script;
    script.ownScript = true;
    run.store.apply(script);
    QVERIFY(!phaseNamingHint(run.store, summary).empty());
    run.span(0, 5, 1, kEvaluation);
    run.store.apply(run.batch.view());
    QVERIFY(!phaseNamingHint(run.store, summary).empty());
    RunSummary mostlyPhases = summary;
    mostlyPhases.phaseMs[static_cast<std::size_t>(events::Phase::Backward)] = 21;
    QVERIFY(phaseNamingHint(run.store, mostlyPhases).empty());
    RunSummary waiting = summary;
    waiting.plannedSyncMs = 1;
    QVERIFY(phaseNamingHint(run.store, waiting).empty());

    NamedRun named;
    named.store.apply(script);
    named.span(0, 5, 1, kAugment);
    named.store.apply(named.batch.view());
    QVERIFY(phaseNamingHint(named.store, summary).empty());
  }

  void findsTheSpanAtATime() {
    NamedRun run;
    run.span(10, 5, 1, kAugment);
    run.store.apply(run.batch.view());
    QVERIFY(!namedSpanAt(run.store, 10 * kMs - 1));
    QVERIFY(namedSpanAt(run.store, 10 * kMs));
    QVERIFY(namedSpanAt(run.store, 15 * kMs - 1));
    QVERIFY(!namedSpanAt(run.store, 15 * kMs));
  }
};

HIGHWATER_TEST(TestNamedPhases, QCoreApplication)
#include "tst_named_phases.moc"
