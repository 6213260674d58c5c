#include "analysis/device/device_work.h"
#include "judged_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::analysis;

namespace {

constexpr NameId kMmOp = 900, kBmmOp = 901, kAddOp = 902, kSortOp = 903, kShapes = 904;
constexpr NameId kNormOp = 909, kNoiseOp = 910, kCatOp = 911;
constexpr CallSiteId kHeadLine = 905;
constexpr ModuleId kHeadModule = 906, kBelowHead = 907, kBesideHead = 908;
constexpr std::uint64_t kMB = 1'000'000;

events::OpWork workOf(NameId op, CallSiteId site, std::uint64_t bytes, std::uint64_t flops,
                      std::uint32_t calls = 1, ModuleId module = kNoId, bool isBackward = false) {
  return events::OpWork(1, bytes, flops, 3, calls, op, module, site, kShapes,
                        events::Phase::Forward, static_cast<std::uint8_t>(isBackward));
}

std::vector<ModuleDefinition> modules() {
  std::vector<ModuleDefinition> all{
      {kHeadModule, kNoId, "head"}, {kBelowHead, kHeadModule, "0"}, {kBesideHead, kNoId, "header"}};
  for (ModuleId id = 2000; id < 2010; ++id) all.push_back({id, kNoId, "m" + std::to_string(id)});
  return all;
}

void fill(LiveStore& store, std::vector<events::OpWork> rows, bool simulated = false) {
  Hello hello;
  hello.device.selected = "mps";
  hello.device.simulated = simulated;
  store.apply(hello);
  store.apply(Definitions{{{kMmOp, "aten::mm"},
                           {kBmmOp, "aten::bmm"},
                           {kAddOp, "aten::add"},
                           {kSortOp, "aten::sort"},
                           {kCatOp, "aten::cat"},
                           {kShapes, "[8, 4] float32, [8, 4] float32, [4] int64"}},
                          modules(),
                          {{kHeadLine, kNoId, "forward", "/home/me/train.py", 52}},
                          {}});
  EventBatch batch;
  batch.completeUpToNs = 1000;
  batch.opWork = rows;
  store.apply(batch);
}

events::StepRecord stepOf(std::uint32_t step, std::uint32_t batch) {
  return events::StepRecord(1000 + step, 1, 0, 0, -1, step, batch, 0, 0, 0, 0, 0);
}

RunDescription runThat(bool isOwnScript) {
  RunDescription run;
  run.ownScript = isOwnScript;
  return run;
}

DeviceWork estimate(std::vector<events::OpWork> rows, bool simulated = false) {
  LiveStore store;
  fill(store, std::move(rows), simulated);
  return estimateDeviceWork(store);
}

}  // namespace

class TestDeviceWork : public QObject {
  Q_OBJECT

 private slots:
  void nothingWhereNothingWasCounted() {
    const DeviceWork work = estimate({});
    QCOMPARE(work.step, 0U);
    QVERIFY(work.places.empty());
    QVERIFY(largestWorkText(work).empty());
  }

  void aWaitForOneOpIsMeasured() {
    constexpr std::int64_t kStepNs = 20'000'000, kWaitNs = 5'000'000;
    // By its sizes the line does next to nothing; the second wait at it follows the first at once.
    for (const std::int64_t sinceNs : {10'000, 2'000'000}) {
      LiveStore store;
      fill(store, {workOf(kMmOp, kNoId, 90 * kMB, 0), workOf(kAddOp, kHeadLine, kMB, 0)});
      OwnedBatch batch;
      for (std::uint32_t step = 1; step <= 3; ++step) {
        const std::int64_t begin = step * kStepNs;
        batch.steps.emplace_back(begin, kStepNs, 0, 0, -1, step, 8, 0, 0, 0, 0, 0);
        for (const std::int64_t at : {begin, begin + kWaitNs + sinceNs}) {
          batch.syncPoints.emplace_back(at, kWaitNs, 4, step, kAddOp, kNoId, kHeadLine, 1,
                                        events::SyncKind::Nonzero, events::Phase::Forward, 0);
        }
      }
      store.apply(batch.view());
      const DeviceWork work = estimateDeviceWork(store);
      const bool isAtOnce = sinceNs == 10'000;
      QCOMPARE(work.measured, isAtOnce);
      QCOMPARE(work.places.size(), std::size_t{2});
      const DeviceWorkPlace &others = work.places[0], &waited = work.places[1];
      QCOMPARE(waited.site.line, std::string("train.py:52"));
      if (!isAtOnce) continue;
      QVERIFY(std::abs(waited.low - 0.2505) < 1e-9);
      QVERIFY(waited.high > 0.5 / 0.7 && waited.high < 0.75);
      QVERIFY(others.high < 0.75 && others.low <= others.high);
      QVERIFY(contains(largestWorkText(work), "and the waits for their results"));
    }
  }

  void anEvaluationIsApart() {
    LiveStore store;
    events::OpWork ofEvaluation = workOf(kAddOp, kHeadLine, 30 * kMB, 0);
    ofEvaluation.mutate_step(0);
    fill(store, {workOf(kMmOp, kNoId, 10 * kMB, 0), ofEvaluation});
    const DeviceWork step = estimateDeviceWork(store), evaluation = estimateEvaluationWork(store);
    QCOMPARE(step.places.size(), std::size_t{1});
    QCOMPARE(step.step, 3U);
    QCOMPARE(step.places[0].op, std::string("mm"));
    QCOMPARE(evaluation.places.size(), std::size_t{1});
    QCOMPARE(evaluation.places[0].bytes, 30 * kMB);
    QCOMPARE(largestPlacesText(evaluation), std::string("train.py:52, 100 % (mostly add)"));
  }

  void whatGrowsIsFoundByALaterStep() {
    const auto later = [](events::OpWork work, std::uint32_t step = 23) {
      work.mutate_step(step);
      return work;
    };
    const auto found = [](std::vector<events::OpWork> rows, bool script = true,
                          std::uint32_t laterBatch = 16) {
      LiveStore store;
      fill(store, std::move(rows));
      store.apply(runThat(script));
      EventBatch batch;
      batch.completeUpToNs = 2000;
      const std::vector<events::StepRecord> steps{stepOf(3, 16), stepOf(23, laterBatch),
                                                  stepOf(179, laterBatch)};
      batch.steps = steps;
      store.apply(batch);
      return growingWork(store);
    };
    const events::OpWork model = workOf(kBmmOp, kNoId, 10 * kMB, 0, 1, kHeadModule);
    const std::vector<events::OpWork> rows = {model, workOf(kAddOp, kHeadLine, 2 * kMB, 0),
                                              later(model),
                                              later(workOf(kAddOp, kHeadLine, 16 * kMB, 0))};
    const auto growing = found(rows);
    QVERIFY(growing && !growing->joined);
    QCOMPARE(growing->line().place.site.line, std::string("train.py:52"));
    QCOMPARE(growingWorkText(*growing), std::string("train.py:52 (mostly add) reads and writes "
                                                    "1.9 MiB in step 3, 15.3 MiB in step 23"));
    // Of a worker that was restarted a step may have been counted twice.
    QVERIFY(!found(rows, false));
    QVERIFY(!found({rows[0], rows[1]}));
    QVERIFY(!found({rows[0], rows[1], rows[2], later(rows[1])}));
    // A larger batch has more to do, and one that is not known may have.
    QVERIFY(!found(rows, true, 64));
    QVERIFY(!found(rows, true, 0));
    // The newest counted step is compared.
    std::vector<events::OpWork> longer = rows;
    longer.push_back(later(workOf(kAddOp, kHeadLine, 160 * kMB, 0), 179));
    QCOMPARE(found(longer)->laterStep, 179U);
    // What joins tensors is named, though what works on the result has more to do.
    std::vector<events::OpWork> joins = rows;
    joins.push_back(workOf(kCatOp, kNoId, kMB / 2, 0));
    joins.push_back(later(workOf(kCatOp, kNoId, 4 * kMB, 0)));
    QVERIFY(found(joins)->joined);
    QCOMPARE(growingWorkText(*found(joins)),
             std::string("cat reads and writes 488.3 KiB in step 3, 3.8 MiB in step 23, and most "
                         "of what grows is train.py:52 (mostly add)"));
  }

  /// 100 MB of bytes against 4 GFLOP: 40 ops a byte are between what GPUs do.
  void arithmeticAgainstBytesHasBounds() {
    const DeviceWork work =
        estimate({workOf(kMmOp, kHeadLine, kMB, 4000 * kMB), workOf(kAddOp, kNoId, 100 * kMB, 0)});
    QCOMPARE(work.step, 3U);
    QCOMPARE(work.places.size(), std::size_t{2});
    const DeviceWorkPlace& mm = work.places[0];
    QCOMPARE(mm.site.line, std::string("train.py:52"));
    // 4000 / 100 = 40 of 140 MB at the least, 4000 / 8 = 500 of 600 at the most.
    QVERIFY2(mm.low > 0.27 && mm.low < 40.0 / 140 + 1e-9, qPrintable(QString::number(mm.low)));
    QVERIFY2(mm.high > 0.82 && mm.high < 0.84, qPrintable(QString::number(mm.high)));
    QVERIFY(work.places[1].high > 1 - mm.low - 1e-9);
  }

  void opsOfOneLineAreOnePlace() {
    const DeviceWork work = estimate(
        {workOf(kBmmOp, kHeadLine, 10 * kMB, 0), workOf(kAddOp, kHeadLine, 30 * kMB, 0, 2),
         workOf(kAddOp, kNoId, 60 * kMB, 0, 1, kHeadModule), workOf(kSortOp, kNoId, 0, 0)});
    QCOMPARE(work.places.size(), std::size_t{3});
    QCOMPARE(work.places[0].module, std::string("head"));
    const DeviceWorkPlace& line = work.places[1];
    QCOMPARE(line.op, std::string("add"));
    QCOMPARE(line.ops, (std::vector<std::string>{"add", "bmm"}));
    QCOMPARE(line.calls, 3U);
    QCOMPARE(line.bytes, 40 * kMB);
    QVERIFY(line.low <= 0.4 && line.high >= 0.4);
  }

  /// How often a sort reads its keys is not known.
  void aSortHasWideBounds() {
    const DeviceWork work =
        estimate({workOf(kSortOp, kHeadLine, 10 * kMB, 0), workOf(kAddOp, kNoId, 30 * kMB, 0)});
    const DeviceWorkPlace& sort = work.places[0].op == "sort" ? work.places[0] : work.places[1];
    QVERIFY(sort.low <= 0.25 && sort.high > 0.7);
  }

  void theTextNamesWhatIsLarge() {
    const DeviceWork one = estimate(
        {workOf(kAddOp, kHeadLine, 90 * kMB, 0, 1, kHeadModule), workOf(kSortOp, kNoId, kMB, 0)},
        true);
    const std::string text = largestWorkText(one);
    QVERIFY2(
        text.starts_with("By the sizes of its ops in step 3, its largest work is train.py:52, 9"),
        text.c_str());
    QVERIFY2(text.ends_with("(mostly add in head)."), text.c_str());
    QCOMPARE(largestOpText(one.places[0]),
             std::string("add in head of 2 \u00d7 [8, 4] float32, [4] int64"));
    QVERIFY(text.find(", and ") == std::string::npos);
    const DeviceWork two = estimate({workOf(kAddOp, kHeadLine, 50 * kMB, 0),
                                     workOf(kBmmOp, kNoId, 40 * kMB, 0, 1, kHeadModule)});
    QVERIFY2(largestWorkText(two).find(", and bmm in head, ") != std::string::npos,
             largestWorkText(two).c_str());
  }

  void aModuleHasTheForwardOfAllBelowIt() {
    LiveStore store;
    fill(store, {workOf(kAddOp, kNoId, 100 * kMB, 0, 1, kHeadModule),
                 workOf(kAddOp, kNoId, 200 * kMB, 0, 1, kBelowHead),
                 workOf(kAddOp, kNoId, 300 * kMB, 0, 1, kHeadModule, true),
                 workOf(kAddOp, kNoId, 400 * kMB, 0, 1, kBesideHead)});
    const DeviceWorkShare share = deviceWorkShare(store, "head");
    QVERIFY2(share.low > 0.29 && share.high < 0.31 && share.low <= share.high,
             qPrintable(QString::number(share.low)));
    QCOMPARE(deviceWorkShare(store, "decoder").high, 0.0);
  }

  void whatAParametrizationComputesAgain() {
    constexpr ModuleId kCell = 900, kNorm = 901, kInner = 902, kTop = 903;
    const auto found = [](std::vector<events::OpWork> rows, std::uint32_t calls) {
      LiveStore store;
      fill(store, std::move(rows));
      store.apply(
          Definitions{{{kNormOp, "aten::_weight_norm_interface"}, {kNoiseOp, "aten::normal_"}},
                      {{kCell, kHeadModule, "cell"},
                       {kNorm, kCell, "parametrizations.weight"},
                       {kInner, kNorm, "0"},
                       {kTop, kNoId, "parametrizations.bias.0"}},
                      {},
                      {}});
      return repeatedWeights(store, calls);
    };
    const std::vector<events::OpWork> rows = {
        workOf(kAddOp, kNoId, 100 * kMB, 0, 4, kInner),
        workOf(kMmOp, kHeadLine, 200 * kMB, 0, 8, kInner),  // twice each time
        workOf(kMmOp, kHeadLine, 100 * kMB, 0, 4, kInner, true),
        workOf(kMmOp, kHeadLine, 400 * kMB, 0, 4, kCell)};
    const RepeatedWeights all = found(rows, 1);
    QCOMPARE(all.times, 4U);
    QCOMPARE(all.modules, std::size_t{1});
    QVERIFY2(all.module.ends_with("cell"), all.module.c_str());
    QCOMPARE(all.site.line, std::string("train.py:52"));
    // Three of four times, of half of the bytes.
    QVERIFY2(all.low > 0.36 && all.high < 0.4, qPrintable(QString::number(all.low)));
    // Of two micro steps each may compute them once.
    const RepeatedWeights ofMicroSteps = found(rows, 2);
    QVERIFY2(ofMicroSteps.low > 0.24 && ofMicroSteps.high < 0.26,
             qPrintable(QString::number(ofMicroSteps.low)));
    QCOMPARE(found(rows, 4).modules, std::size_t{0});
    QCOMPARE(found(rows, 4).high, 0.0);
    // What has no parametrizations, and the older weight_norm, whose ops are the module's own.
    QCOMPARE(found({workOf(kMmOp, kHeadLine, 400 * kMB, 0, 4, kCell)}, 1).modules, std::size_t{0});
    QCOMPARE(found({workOf(kNormOp, kHeadLine, 400 * kMB, 0, 3, kCell)}, 1).times, 3U);
    // What backward computes again, and weights with noise.
    events::OpWork again = workOf(kNormOp, kHeadLine, 400 * kMB, 0, 3, kCell);
    again.mutate_phase(events::Phase::Backward);
    QCOMPARE(found({again}, 1).modules, std::size_t{0});
    std::vector<events::OpWork> noisy = rows;
    noisy.push_back(workOf(kNoiseOp, kHeadLine, 10 * kMB, 0, 4, kInner));
    QCOMPARE(found(noisy, 1).modules, std::size_t{0});
    // Those of the model itself.
    QCOMPARE(found({workOf(kMmOp, kHeadLine, 400 * kMB, 0, 3, kTop)}, 1).module, std::string());
  }

  void manySmallPlacesAreNotNamed() {
    std::vector<events::OpWork> rows;
    for (ModuleId module = 2000; module < 2010; ++module) {
      rows.push_back(workOf(kAddOp, kNoId, kMB, 0, 1, module));
    }
    const DeviceWork work = estimate(rows);
    QCOMPARE(work.places.size(), std::size_t{10});
    QVERIFY2(largestWorkText(work).empty(), largestWorkText(work).c_str());
  }
};

HIGHWATER_TEST(TestDeviceWork, QCoreApplication)
#include "tst_device_work.moc"
