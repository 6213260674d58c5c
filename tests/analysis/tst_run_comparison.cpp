#include "analysis/run_comparison.h"

#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::analysis;

namespace {

bool has(const std::vector<Finding>& findings, FindingKind kind) {
  return std::any_of(findings.begin(), findings.end(),
                     [kind](const Finding& each) { return each.kind == kind; });
}

bool saysOneOf(const std::vector<std::string>& sentences, const char* part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [part](const std::string& each) { return each.find(part) != each.npos; });
}

}  // namespace

class TestRunComparison : public QObject {
  Q_OBJECT

 private:
  static std::unique_ptr<LiveStore> stored(const test::SampleRunOptions& run) {
    auto store = std::make_unique<LiveStore>();
    test::feed(test::makeSampleRun(run), *store);
    return store;
  }

 private slots:
  void aRunIsLikeItself() {
    const auto run = stored({});
    const auto compared = compareRecordings(*run, *run);
    QVERIFY(compared);
    QVERIFY(compared->settings.empty());
    QVERIFY(compared->gone.empty() && compared->come.empty());
    QVERIFY(comparisonText(compared->numbers)
                .starts_with("The median step does not differ beyond the noise"));
    for (const ComparedRegion& each : compared->regions) QCOMPARE(each.msA, each.msB);
  }

  void findingsGoAndCome() {
    const auto before = stored({.doubleBatchAtStep = 0});
    const auto after = stored({.doubleBatchAtStep = 0, .fallbackEvery = 0});
    const auto mended = compareRecordings(*before, *after);
    QVERIFY(mended && has(mended->gone, FindingKind::Fallback));
    QVERIFY(!has(mended->come, FindingKind::Fallback));
    const auto worse = compareRecordings(*after, *before);
    QVERIFY(worse && has(worse->come, FindingKind::Fallback));
    QCOMPARE(worse->come.size(), mended->gone.size());
  }

  void whatDiffersIsSaid() {
    const auto a = stored({.batchSize = 16, .doubleBatchAtStep = 0});
    const auto b = stored({.batchSize = 32, .doubleBatchAtStep = 0});
    const auto compared = compareRecordings(*a, *b);
    QVERIFY(compared);
    const auto& settings = compared->settings;
    const auto batch = std::find_if(settings.begin(), settings.end(), [](const auto& each) {
      return each.name == "batch size at first";
    });
    QVERIFY(batch != settings.end());
    QCOMPARE(batch->a, std::string("16"));
    QCOMPARE(batch->b, std::string("32"));
    QVERIFY(!compared->numbers.sameTokens);
    QVERIFY(saysOneOf(compared->cautions, "has 1024 tokens, one of B 2048"));
    QVERIFY(comparisonText(compared->numbers).find("tokens/s") != std::string::npos);
  }

  void opsOfOneRunAreSaid() {
    const auto with = stored({.doubleBatchAtStep = 0, .opsFromStep = 30}),
               without = stored({.doubleBatchAtStep = 0});
    const auto one = compareRecordings(*with, *without), both = compareRecordings(*with, *with);
    QVERIFY(one && saysOneOf(one->cautions, "recorded every op"));
    QVERIFY(both && !saysOneOf(both->cautions, "recorded every op"));
  }

  void fewStepsAreSaid() {
    const auto a = stored({.steps = 3}), b = stored({});
    const auto compared = compareRecordings(*a, *b);
    QVERIFY(compared && comparisonText(compared->numbers).starts_with("Too few steps"));
  }

  void whatWasNotLookedForIsNotGone() {
    auto off = test::makeSampleRun({.fallbackEvery = 0, .unplannedSyncEvery = 0});
    for (test::OwnedMessage& message : off) {
      auto* batch = std::get_if<test::OwnedBatch>(&message);
      if (!batch) continue;
      batch->phases.clear();
      batch->syncPoints.clear();
    }
    for (test::OwnedMessage& message : off) {
      if (auto* run = std::get_if<RunDescription>(&message)) {
        run->probeLevel = events::ProbeLevel::Off;
      }
    }
    LiveStore store;
    test::feed(off, store);
    QVERIFY(store.isUnobserved());
    const auto run = stored({});
    for (const auto& [a, b] : {std::pair{&store, run.get()}, std::pair{run.get(), &store}}) {
      const auto compared = compareRecordings(*a, *b);
      QVERIFY(compared && saysOneOf(compared->cautions, "did not record waits"));
      QVERIFY(compared->gone.empty() && compared->come.empty() && compared->numbers.ops.empty());
    }
  }

  void whatDidNotEndIsSaid() {
    const auto run = stored({}), cut = stored({.ended = false});
    const auto compared = compareRecordings(*run, *cut);
    QVERIFY(compared && saysOneOf(compared->cautions, "B did not run to its end"));
    QVERIFY(!saysOneOf(compared->cautions, "A did not run to its end"));
  }

  void withoutStepsThereIsNothingToCompare() {
    const auto run = stored({});
    const LiveStore nothing;
    const auto first = compareRecordings(nothing, *run), second = compareRecordings(*run, nothing),
               both = compareRecordings(nothing, nothing);
    QVERIFY(!first && first.error().message.starts_with("A has no finished step"));
    QVERIFY(!second && second.error().message.starts_with("B has no finished step"));
    QVERIFY(!both && both.error().message.starts_with("A and B have no finished step"));
  }
};

HIGHWATER_TEST(TestRunComparison, QCoreApplication)
#include "tst_run_comparison.moc"
