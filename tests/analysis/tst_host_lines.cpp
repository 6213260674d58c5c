#include "analysis/account/host_lines.h"
#include "step_events.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

/// The same line, called from two places, and a line that calls a library.
constexpr CallSiteId kDump = 3, kDumpElsewhere = 5, kTrainerLine = 6;
constexpr TimeRange kAll{0, 1000 * kMs};

struct SampledRun {
  LiveStore store;
  OwnedBatch batch;

  SampledRun() {
    store.apply(
        Definitions{{},
                    {},
                    {{2, kNoId, "main", "/home/me/train.py", 9, "log(step)"},
                     {kDump, 2, "log", "/home/me/train.py", 12, "json.dumps(history)"},
                     {4, kNoId, "main", "/home/me/train.py", 20, "log(0)"},
                     {kDumpElsewhere, 4, "log", "/home/me/train.py", 12, ""},
                     {kTrainerLine, kNoId, "main, in transformers/trainer.py:1911 Trainer.train",
                      "/home/me/train.py", 30, "trainer.train()"}},
                    {}});
  }
  void sample(std::int64_t ms, CallSiteId site, std::uint32_t step = 1) {
    batch.hostSamples.emplace_back(ms * kMs, step, site, kTrainingThread, events::Phase::None);
  }
  const LiveStore& done() {
    store.apply(batch.view());
    return store;
  }
};

}  // namespace

class TestHostLines : public QObject {
  Q_OBJECT

 private slots:
  void countsByLine() {
    SampledRun run;
    run.sample(0, kTrainerLine);
    run.sample(40, kDump);
    run.sample(80, kDumpElsewhere);
    run.sample(120, kNoId);
    const auto lines = hostLines(run.done(), kAll);
    QCOMPARE(lines.size(), std::size_t{3});
    QCOMPARE(lines[0].site.line, std::string("train.py:12"));
    QCOMPARE(lines[0].samples, std::uint64_t{2});
    QCOMPARE(lines[0].share, 0.5);
    double shares = 0;
    for (const HostLine& each : lines) shares += each.share;
    QCOMPARE(shares, 1.0);
    const auto trainer = std::find_if(lines.begin(), lines.end(), [](const HostLine& each) {
      return each.site.library == "transformers/trainer.py:1911 Trainer.train";
    });
    QVERIFY(trainer != lines.end());
    QCOMPARE(trainer->site.text, std::string("trainer.train()"));
  }

  void countsInTheRangesAlone() {
    SampledRun run;
    for (std::int64_t ms = 0; ms < 100; ms += 10) run.sample(ms, ms < 50 ? kDump : kTrainerLine);
    const LiveStore& store = run.done();
    const auto first = hostLines(store, TimeRange{0, 50 * kMs});  // without its end
    QCOMPARE(first.size(), std::size_t{1});
    QCOMPARE(first[0].samples, std::uint64_t{5});
    const std::vector<TimeRange> ranges = {{40 * kMs, 60 * kMs}, {90 * kMs, 200 * kMs}};
    const auto both = hostLines(store, ranges);
    QCOMPARE(both.size(), std::size_t{2});
    QCOMPARE(both[0].site.line, std::string("train.py:30"));
    QCOMPARE(both[0].samples, std::uint64_t{2});
    QVERIFY(hostLines(store, TimeRange{500 * kMs, 600 * kMs}).empty());
  }

  void countsWhatTheFilterLetsThrough() {
    SampledRun run;
    run.sample(0, kDump, 1);
    run.sample(40, kTrainerLine, 2);
    const auto lines = hostLines(run.done(), kAll,
                                 [](const events::HostSample& each) { return each.step() == 2; });
    QCOMPARE(lines.size(), std::size_t{1});
    QCOMPARE(lines[0].site.line, std::string("train.py:30"));
    QCOMPARE(lines[0].share, 1.0);
  }

  void samplesThatCameMoreOftenStandForLess() {
    SampledRun run;
    RunDescription description;
    description.signs.push_back({std::string(kFirstHostSamplesSign), "", "", 0.25});
    run.store.apply(description);
    run.sample(0, kTrainerLine);  // before the first of them
    std::int64_t ms = 40;
    for (std::uint32_t i = 0; i < kFirstHostSamples; ++i, ms += 10) run.sample(ms, kDump, 2);
    for (int i = 0; i < 50; ++i, ms += 40) run.sample(ms, kTrainerLine, 3);
    const auto lines = hostLines(run.done(), TimeRange{0, ms * kMs});
    QCOMPARE(lines[0].site.line, std::string("train.py:30"));
    QCOMPARE(lines[0].samples, std::uint64_t{51});
    QCOMPARE(lines[0].of, std::uint64_t{251});
    QCOMPARE(lines[0].share, 51.0 / 101);
    QCOMPARE(lines[1].share, 50.0 / 101);
  }

  void countsByFunction() {
    SampledRun run;
    run.sample(0, kDump);
    run.sample(40, kDumpElsewhere);
    run.sample(80, kTrainerLine);
    run.sample(120, kNoId);
    const std::vector<TimeRange> ranges = {kAll};
    const auto functions = hostFunctions(run.done(), ranges);
    QCOMPARE(functions.size(), std::size_t{2});
    QCOMPARE(functions[0].site.function, std::string("log"));
    QCOMPARE(functions[0].site.line, std::string("train.py:12"));
    QCOMPARE(functions[0].share, 0.5);
    QCOMPARE(functions[1].site.function, std::string("main"));
    QCOMPARE(functions[1].share, 0.25);
  }

  void fewSamplesNameNoLineByChance() {
    const auto isNamed = [](std::uint64_t samples, std::uint64_t all, std::size_t lines) {
      return standsOut(
          {.site = {}, .samples = samples, .of = all, .share = double(samples) / double(all)},
          lines);
    };
    // By a table of the binomial distribution: P(X >= 2 of 3) = 0.028 at p = 0.1, of 4: 0.052.
    QVERIFY(isNamed(2, 2, 1) && !isNamed(2, 3, 2) && !isNamed(2, 4, 2) && !isNamed(2, 5, 2));
    // P(X >= 3 of 5) = 0.0086, P(X >= 3 of 12) = 0.1109, P(X >= 5 of 12) = 0.0043
    QVERIFY(isNamed(3, 5, 3) && !isNamed(3, 12, 1) && isNamed(5, 12, 8));
    QVERIFY(!isNamed(1, 1, 1) && !isNamed(200, 1000, 5) && isNamed(250, 1000, 700));
  }

  /// Ten lines with a tenth of the work each: none of them is what takes the time.
  void noneOfTenEqualLinesStandsOut() {
    std::mt19937 random(5);
    for (const int samples : {3, 4, 8, 15, 24, 60}) {
      int named = 0;
      constexpr int kRounds = 2000;
      for (int round = 0; round < kRounds; ++round) {
        std::array<std::uint64_t, 10> counts{};
        for (int i = 0; i < samples; ++i) ++counts.at(random() % counts.size());
        const auto lines = std::size_t(std::count_if(counts.begin(), counts.end(),
                                                     [](std::uint64_t each) { return each > 0; }));
        named += std::any_of(counts.begin(), counts.end(), [&](std::uint64_t each) {
          return standsOut({.site = {},
                            .samples = each,
                            .of = std::uint64_t(samples),
                            .share = double(each) / samples},
                           lines);
        });
      }
      QVERIFY2(named < kRounds / 8, qPrintable(QString("%1: %2").arg(samples).arg(named)));
    }
  }
};

HIGHWATER_TEST(TestHostLines, QCoreApplication)
#include "tst_host_lines.moc"
