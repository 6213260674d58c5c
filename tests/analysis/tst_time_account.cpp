#include "analysis/account/time_account.h"
#include "analysis/run_summary.h"
#include "core/names.h"
#include "core/units.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;
using events::Phase;
using events::SyncKind;

namespace {

constexpr NameId kLoaders = 30, kKeeps = 31;
constexpr ThreadId kLogger = 9;

/// A run whose times are short, so that a walk can look at each ns.
struct SmallRun {
  LiveStore store;
  OwnedBatch batch;

  SmallRun() {
    store.apply(Definitions{{{kEvaluation, kEvaluationSpan},
                             {kAugment, "augment"},
                             {kLoaders, kLoaderStartSpan},
                             {kKeeps, kCheckpointSpan}},
                            {},
                            {},
                            {}});
  }
  void step(std::uint32_t step, std::int64_t beginNs, std::int64_t ns) {
    batch.steps.emplace_back(beginNs, ns, 1, 1, -1, step, 16, 64, 64, 0, 0, 0);
  }
  void phase(std::int64_t beginNs, std::int64_t ns, Phase phase) {
    batch.phases.emplace_back(beginNs, ns, 1, kTrainingThread, phase);
  }
  void named(std::int64_t beginNs, std::int64_t ns, NameId name) {
    batch.namedSpans.emplace_back(beginNs, ns, 1, name, kTrainingThread, 0);
  }
  void wait(std::int64_t beginNs, std::int64_t ns, ThreadId thread = kTrainingThread,
            Phase phase = Phase::None, NameId op = kCopy) {
    batch.syncPoints.emplace_back(beginNs, ns, 4, 1, op, kNoId, kNoId, thread, SyncKind::ScalarRead,
                                  phase, 0);
  }
  void fallback(std::int64_t beginNs, std::int64_t ns, std::int64_t waitNs) {
    batch.fallbacks.emplace_back(beginNs, ns, waitNs, 1, 1, 1, kRenorm, kNoId, kNoId,
                                 kTrainingThread, Phase::None);
  }
  void marker(std::int64_t ns, events::MarkerKind kind) {
    batch.markers.emplace_back(ns, 0, 0, 1, kNoId, kind);
  }
  void end(std::int64_t ns) { batch.completeUpToNs = ns; }
  LiveStore& applied() {
    store.apply(batch.view());
    return store;
  }
};

template <typename Spans>
auto holding(const Spans& spans, std::int64_t ns) {
  return std::find_if(spans.begin(), spans.end(), [ns](const auto& each) {
    return ns >= beginNsOf(each) && ns < endNsOf(each);
  });
}

/// What the account says of a moment, found by looking at all events of the run.
struct Moment {
  Region region = Region::StartUp;
  Phase phase = Phase::None;
  Activity activity = Activity::Work;
  auto operator<=>(const Moment&) const = default;
};

Region regionAt(const OwnedBatch& run, std::int64_t ns) {
  std::optional<std::int64_t> pausedNs;
  for (const events::Marker& each : run.markers) {
    if (each.time_ns() > ns) break;
    if (each.kind() == events::MarkerKind::Paused) pausedNs = each.time_ns();
    if (each.kind() == events::MarkerKind::Resumed) pausedNs.reset();
  }
  if (pausedNs) return Region::Pause;
  if (holding(run.steps, ns) != run.steps.end()) return Region::Step;
  std::int64_t fromNs = -1'000'000, toNs = 1'000'000;
  for (const events::StepRecord& each : run.steps) {
    if (endNsOf(each) <= ns) fromNs = endNsOf(each);
    if (each.begin_ns() > ns) toNs = std::min(toNs, each.begin_ns());
  }
  std::int64_t evaluatesNs = toNs, evaluatedNs = fromNs;
  for (const events::NamedSpan& each : run.namedSpans) {
    if (each.name() != kEvaluation || each.begin_ns() < fromNs || each.begin_ns() >= toNs) continue;
    evaluatesNs = std::min(evaluatesNs, each.begin_ns());
    evaluatedNs = std::max(evaluatedNs, endNsOf(each));
  }
  // Its results are read by the wait that follows it, before anything with a name.
  std::int64_t readNs = toNs, readUntilNs = 0;
  for (const events::SyncPoint& each : run.syncPoints) {
    const bool trains = each.thread() == kTrainingThread || each.phase() == Phase::Backward;
    if (!trains || each.begin_ns() < evaluatedNs || each.begin_ns() >= readNs) continue;
    readNs = each.begin_ns();
    readUntilNs = std::min(endNsOf(each), toNs);
  }
  const bool isNamed =
      std::any_of(run.namedSpans.begin(), run.namedSpans.end(), [&](const events::NamedSpan& each) {
        return each.begin_ns() >= evaluatedNs && each.begin_ns() < readNs;
      });
  if (evaluatesNs < toNs && !isNamed) evaluatedNs = std::max(evaluatedNs, readUntilNs);
  std::int64_t fetchNs = evaluatesNs;
  for (const events::PhaseSpan& each : run.phases) {
    const bool within = each.begin_ns() >= fromNs && each.begin_ns() < evaluatesNs;
    if (within && each.phase() == Phase::BatchAssembly)
      fetchNs = std::min(fetchNs, each.begin_ns());
  }
  if (evaluatesNs < toNs && ns >= fetchNs && ns < evaluatedNs) return Region::Evaluation;
  const auto named = holding(run.namedSpans, ns);
  if (named != run.namedSpans.end() && named->name() == kAugment) return Region::NamedPhase;
  if (named != run.namedSpans.end() && named->name() == kKeeps) return Region::Highwater;
  if (run.steps.empty() || ns < run.steps.front().begin_ns()) return Region::StartUp;
  return ns >= endNsOf(run.steps.back()) ? Region::AfterSteps : Region::BetweenSteps;
}

Moment momentAt(const OwnedBatch& run, std::int64_t ns) {
  Moment moment{regionAt(run, ns)};
  const auto phase = holding(run.phases, ns);
  if (phase != run.phases.end()) moment.phase = phase->phase();
  const auto named = holding(run.namedSpans, ns);
  if (named != run.namedSpans.end() && named->name() == kLoaders) {
    moment.activity = Activity::LoaderStart;
  }
  for (const events::SyncPoint& each : run.syncPoints) {
    const bool trains = each.thread() == kTrainingThread || each.phase() == Phase::Backward;
    if (trains && ns >= each.begin_ns() && ns < endNsOf(each)) moment.activity = Activity::Wait;
  }
  const auto fallback = holding(run.fallbacks, ns);
  if (fallback != run.fallbacks.end()) {
    const bool waits = ns < fallback->begin_ns() + fallback->wait_ns();
    moment.activity = waits ? Activity::Wait : Activity::Fallback;
  }
  return moment;
}

/// Spans one after the other, with gaps.
template <typename Add>
void fill(std::mt19937& random, std::int64_t endNs, int longest, Add&& add) {
  const auto upTo = [&random](int most) {
    return std::int64_t{1} + static_cast<int>(random() % most);
  };
  for (std::int64_t ns = upTo(longest); ns < endNs;) {
    const std::int64_t length = upTo(longest);
    add(ns, length);
    ns += length + (random() % 3 == 0 ? 0 : upTo(longest));
  }
}

void makeRandom(std::mt19937& random, SmallRun& run, std::int64_t endNs) {
  std::uint32_t number = 0;
  if (random() % 8 != 0) {
    fill(random, endNs, 60, [&](auto ns, auto length) { run.step(++number, ns, length); });
  }
  fill(random, endNs, 15, [&](auto ns, auto length) {
    if (random() % 3 != 0) {
      run.phase(ns, length, static_cast<Phase>(1 + random() % 6));
    } else {
      constexpr std::array kNames = {kEvaluation, kEvaluation, kAugment, kLoaders, kKeeps};
      run.named(ns, length, kNames.at(random() % kNames.size()));
    }
  });
  fill(random, endNs, 12, [&](auto ns, auto length) {
    if (random() % 3 == 0) {
      run.fallback(ns, length, static_cast<std::int64_t>(random() % 8));
    } else {
      const bool autograd = random() % 3 == 0;
      run.wait(ns, length, autograd ? kAutogradThread : kTrainingThread,
               autograd ? Phase::Backward : Phase::None);
    }
  });
  fill(random, endNs, 40, [&](auto ns, auto length) { run.wait(ns, length, kLogger); });
  if (random() % 2 == 0) {
    run.marker(endNs / 3, events::MarkerKind::Paused);
    if (random() % 2 == 0) run.marker(endNs / 2, events::MarkerKind::Resumed);
  }
  run.end(endNs);
}

std::int64_t nsOf(const TimeAccount& account, Region region, Phase phase, Activity activity) {
  return account.nsWhere([&](const AccountRow& row) {
    return row.part.region == region && row.part.phase == phase && row.activity == activity;
  });
}

}  // namespace

class TestTimeAccount : public QObject {
  Q_OBJECT

 private slots:
  void nothing() {
    QVERIFY(accountTime(LiveStore()).rows.empty());
    SmallRun run;
    run.end(100);
    const TimeAccount account = accountTime(run.applied());
    QCOMPARE(account.rows.size(), 1U);
    QCOMPARE(account.nsIn(Region::StartUp), 100);
  }

  /// Each ns of random runs, and of ranges of them, is where a look at all events says that it is.
  void everyNanosecondIsInItsPlace() {
    for (std::uint32_t seed = 0; seed < 150; ++seed) {
      std::mt19937 random(seed);
      SmallRun run;
      makeRandom(random, run, 600);
      const LiveStore& store = run.applied();
      const TimeRange all = wholeRun(store);
      for (int part = 0; part < 4; ++part) {
        TimeRange range = all;
        if (part > 0) {
          range.beginNs = static_cast<std::int64_t>(random() % 600);
          range.endNs = range.beginNs + static_cast<std::int64_t>(random() % 200);
        }
        std::map<Moment, std::int64_t> expected, found;
        for (std::int64_t ns = range.beginNs; ns < range.endNs; ++ns) {
          ++expected[momentAt(run.batch, ns)];
        }
        const TimeAccount account = accountTime(store, range);
        for (const AccountRow& row : account.rows) {
          found[{row.part.region, row.part.phase, row.activity}] += row.ns;
        }
        QVERIFY2(found == expected, qPrintable(QString("seed %1, part %2").arg(seed).arg(part)));
        QCOMPARE(account.nsWhere([](const AccountRow&) { return true; }),
                 range.endNs - range.beginNs);
        std::int64_t atNs = range.beginNs;
        walkAccount(store, range, [&](const AccountSpan& span) {
          QCOMPARE(span.beginNs, atNs);
          atNs = span.endNs;
        });
        QCOMPARE(atNs, range.endNs);
      }
    }
  }

  /// The key figures, which the window counts as events come, and the account are of one run.
  void theSummaryAddsUpTheSame() {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
      std::mt19937 random(seed);
      SmallRun run;
      std::uint32_t number = 0;
      std::int64_t endNs = 0;
      const auto work = [&](std::int64_t beginNs, std::int64_t ns) {
        fill(random, ns, 15, [&](auto atNs, auto length) {
          run.phase(beginNs + atNs, std::min(length, ns - atNs),
                    static_cast<Phase>(1 + random() % 6));
        });
        fill(random, ns, 9, [&](auto atNs, auto length) {
          length = std::min(length, ns - atNs);
          if (random() % 3 == 0) {
            run.fallback(beginNs + atNs, length, std::min<std::int64_t>(length, random() % 8));
          } else {
            run.wait(beginNs + atNs, length);
          }
        });
      };
      fill(random, 600, 60, [&](auto ns, auto length) {
        work(endNs, ns - endNs);  // between two steps
        run.step(++number, ns, length);
        work(ns, length);
        endNs = ns + length;
      });
      run.end(endNs);
      const LiveStore& store = run.applied();
      for (const TimeRange range : {wholeRun(store), TimeRange{150, 420}}) {
        const RunSummary summary = summarize(store, range);
        if (summary.steps == 0) continue;
        const TimeAccount account = accountTime(store, withoutCutSteps(store, range));
        const auto msOf = [&](auto&& is) {
          return toMs(account.nsWhere(
              [&](const AccountRow& row) { return row.part.region == Region::Step && is(row); }));
        };
        const auto isOfFallback = [](const AccountRow& row) { return row.op == kRenorm; };
        const auto isWait = [&](const AccountRow& row) {
          return row.activity == Activity::Wait && !isOfFallback(row);
        };
        const QString place = QString("seed %1").arg(seed);
        const auto isSame = [](double a, double b) { return std::abs(a - b) < 1e-9; };
        QVERIFY2(isSame(summary.stepsMs, msOf([](const AccountRow&) { return true; })),
                 qPrintable(place));
        QVERIFY2(isSame(summary.unplannedSyncMs + summary.plannedSyncMs, msOf(isWait)),
                 qPrintable(place));
        QVERIFY2(isSame(summary.fallbackMs, msOf(isOfFallback)), qPrintable(place));
        for (std::size_t phase = 1; phase < summary.phaseMs.size(); ++phase) {
          const double ms = msOf([phase](const AccountRow& row) {
            return static_cast<std::size_t>(row.part.phase) == phase;
          });
          QVERIFY2(isSame(summary.phaseMs.at(phase), ms), qPrintable(place));
        }
      }
    }
  }

  void whatLiesOutsideOfPhasesComesAfterOne() {
    SmallRun run;
    run.step(1, 10, 100);
    run.phase(20, 10, Phase::Forward);
    run.phase(50, 10, Phase::OptimizerStep);
    run.step(2, 110, 50);
    run.end(160);
    const TimeAccount account = accountTime(run.applied());
    const auto after = [&](Phase phase) {
      return account.nsWhere([phase](const AccountRow& row) {
        return row.part.region == Region::Step && row.part.phase == Phase::None &&
               row.part.after == phase;
      });
    };
    QCOMPARE(after(Phase::None), 10 + 50);  // a new step begins anew
    QCOMPARE(after(Phase::Forward), 20);
    QCOMPARE(after(Phase::OptimizerStep), 50);
    QCOMPARE(account.visits[static_cast<std::size_t>(Region::Step)], 2U);
  }

  void anEvaluationBeginsWithItsFirstBatch() {
    SmallRun run;
    run.step(1, 0, 10);
    run.phase(20, 30, Phase::BatchAssembly);
    run.named(50, 5, kEvaluation);
    run.wait(56, 3);
    run.phase(60, 30, Phase::BatchAssembly);
    run.named(90, 5, kEvaluation);
    run.step(2, 100, 10);
    run.end(120);
    const TimeAccount account = accountTime(run.applied());
    QCOMPARE(account.nsIn(Region::Evaluation), 75);
    QCOMPARE(nsOf(account, Region::Evaluation, Phase::BatchAssembly, Activity::Work), 60);
    QCOMPARE(nsOf(account, Region::Evaluation, Phase::None, Activity::Wait), 3);
    QCOMPARE(account.nsIn(Region::BetweenSteps), 15);
    QCOMPARE(account.nsIn(Region::AfterSteps), 10);
    QCOMPARE(account.visits[static_cast<std::size_t>(Region::Evaluation)], 1U);
  }

  /// A recording may claim a span of no length.
  void anEvaluationOfNoLengthLeavesNoHole() {
    SmallRun run;
    run.step(1, 0, 10);
    run.named(20, 0, kEvaluation);
    run.step(2, 50, 10);
    run.end(80);
    const TimeAccount account = accountTime(run.applied());
    QCOMPARE(account.nsIn(Region::BetweenSteps), 40);
    QCOMPARE(account.nsIn(Region::AfterSteps), 20);
  }

  void countsAnEventOnceWhereItBegan() {
    SmallRun run;
    run.step(1, 0, 50);
    run.phase(0, 20, Phase::Forward);
    run.wait(10, 30);        // goes on after forward
    run.fallback(44, 5, 2);  // waits, then computes
    run.step(2, 50, 50);
    run.end(100);
    const TimeAccount account = accountTime(run.applied());
    std::uint64_t waits = 0, fallbacks = 0;
    for (const AccountRow& row : account.rows) {
      if (row.activity == Activity::Wait && row.kind == SyncKind::ScalarRead) waits += row.count;
      if (row.activity == Activity::Fallback) fallbacks += row.count;
    }
    QCOMPARE(waits, 1U);
    QCOMPARE(fallbacks, 1U);
  }
};

HIGHWATER_TEST(TestTimeAccount, QCoreApplication)

#include "tst_time_account.moc"
