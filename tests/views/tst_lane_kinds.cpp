// The table of lane kinds: what holds for every kind, and what only some have.
#include <QImage>
#include <QPainter>
#include <QTest>
#include <algorithm>
#include <limits>

#include "support/sample_run.h"
#include "support/test_program.h"
#include "views/lanes/lane_kind.h"
#include "views/theme.h"

using namespace highwater;
using namespace highwater::views;

namespace {

constexpr Lane kLanes[] = {Lane::kSteps,   Lane::kPhases, Lane::kSyncPoints, Lane::kFallbacks,
                           Lane::kMarkers, Lane::kOps,    Lane::kDevice,     Lane::kNamed};

}  // namespace

class TestLaneKinds : public QObject {
  Q_OBJECT

 private:
  analysis::LiveStore store_;

 private slots:
  void initTestCase() {
    test::feed(test::makeSampleRun({.steps = 40, .opsFromStep = 5}), store_);
    test::OwnedBatch named;
    named.namedSpans.emplace_back(1'000'000, 2'000'000, 1u, test::kLinear, test::kTrainingThread,
                                  std::uint8_t{0});
    store_.apply(named.view());
  }

  void eachKindIsItsOwn() {
    for (const Lane lane : kLanes) QCOMPARE(laneKind(lane).look().lane, lane);
  }

  void phasesDifferInGreyscale() {
    for (const Theme& theme : {Theme::light(), Theme::dark()}) {
      std::vector<int> greys;
      for (int i = 0; i <= static_cast<int>(events::Phase::MAX); ++i) {
        const auto phase = static_cast<events::Phase>(i);
        if (phase != events::Phase::None) greys.push_back(qGray(theme.phase(phase).rgb()));
      }
      std::sort(greys.begin(), greys.end());
      for (std::size_t i = 1; i < greys.size(); ++i) QVERIFY(greys[i] - greys[i - 1] >= 22);
    }
  }

  void eachEventReadsTheSameEverywhere() {
    for (const Lane lane : kLanes) {
      const EventRef event{lane, 0};
      QVERIFY(exists(store_, event));
      const EventText text = eventText(store_, event);
      QVERIFY(!text.name.isEmpty());
      QVERIFY(text.joined().startsWith(text.name));
      QVERIFY(eventTitle(store_, event).startsWith(text.name));
      const auto facts = eventFacts(store_, event);
      QVERIFY(!facts.empty());
      for (const EventFact& fact : facts) QVERIFY(!fact.name.isEmpty() && !fact.value.isEmpty());
      const TimeRange range = timeRangeOf(store_, event);
      QVERIFY(range.endNs >= range.beginNs);
    }
  }

  void anEventIsFoundWhereItIsDrawn() {
    for (const Lane lane : kLanes) {
      LaneRow row{lane, 0, laneKind(lane).height(false), {}};
      if (lane == Lane::kOps) row.ops.key = store_.ops().lanes.begin()->first;
      const std::uint32_t index =
          lane == Lane::kOps ? store_.ops().lanes.begin()->second[0].payload : 0;
      const std::int64_t at = laneKind(lane).range(store_, index).beginNs;
      QCOMPARE(laneKind(lane).at(store_, row, at, 0), std::optional(index));
      QVERIFY(laneKind(lane).isIn(row, store_, index));
      QVERIFY(!laneKind(lane).label(store_, row).text.isEmpty());
      QVERIFY(!laneKind(lane).labelTip(store_, row).isEmpty());
    }
  }

  void onlyCallsHaveAnOp() {
    for (const Lane lane : kLanes) {
      const bool isCall =
          lane == Lane::kSyncPoints || lane == Lane::kFallbacks || lane == Lane::kOps;
      QCOMPARE(opOf(store_, {lane, 0}).has_value(), isCall);
    }
  }

  void withoutAnEventThereIsNothingToSay() {
    const analysis::LiveStore empty;
    for (const Lane lane : kLanes) {
      QVERIFY(!exists(empty, {lane, 0}));
      QVERIFY(eventText(empty, {lane, 0}).name.isEmpty());
      QVERIFY(eventFacts(empty, {lane, 0}).empty());
      QVERIFY(!opOf(empty, {lane, 0}));
      QCOMPARE(timeRangeOf(empty, {lane, 0}).endNs, 0);
    }
  }

  void theEndOfARunIsMarkedOnlyIfItWasNotPlanned() {
    const EventRef end{Lane::kMarkers, static_cast<std::uint32_t>(store_.markers().size())};
    QVERIFY(!exists(store_, end));  // the sample run finishes
    analysis::LiveStore crashed;
    test::feed(test::makeSampleRun({.steps = 5, .ended = false}), crashed);
    RunEnd run;
    run.reason = RunEnd::Reason::kCrashed;
    run.signal = 11;
    crashed.apply(run);
    const EventRef mark{Lane::kMarkers, static_cast<std::uint32_t>(crashed.markers().size())};
    QVERIFY(exists(crashed, mark));
    QCOMPARE(timeRangeOf(crashed, mark).beginNs, crashed.completeUpToNs());
    const LaneRow row{Lane::kMarkers, 0, 26, {}};
    QCOMPARE(laneKind(Lane::kMarkers).at(crashed, row, crashed.completeUpToNs(), 10),
             std::optional(mark.index));
  }

  /// The text of the end is red, the others are grey: no column of pixels has both, and a gap lies
  /// between them, wherever the last marker stands.
  void theEndLeavesRoomToTheMarkersBeforeIt() {
    constexpr int kWide = 400, kHigh = 26;
    constexpr std::int64_t kNsPerPixel = 1'000'000;
    for (int before = 0; before <= 200; before += 3) {
      analysis::LiveStore store;
      test::OwnedBatch batch;
      batch.completeUpToNs = kWide * kNsPerPixel;
      batch.markers.emplace_back(std::int64_t{(kWide - before) * kNsPerPixel}, 16.0, 32.0, 4u,
                                 kNoId, events::MarkerKind::BatchSize);
      store.apply(batch.view());
      RunEnd end;
      end.reason = RunEnd::Reason::kExited;
      end.exitCode = 7;
      store.apply(end);

      const Theme& theme = Theme::light();
      QImage image(kWide + 12, kHigh, QImage::Format_RGB32);
      image.fill(theme.plot);
      QPainter painter(&image);
      const LaneFrame frame{painter, store, theme, {{0, kWide * kNsPerPixel}, 0, kWide}, 0, kWide};
      const LaneRow row{Lane::kMarkers, 0, kHigh, {}};
      laneKind(Lane::kMarkers).draw(frame, row);
      painter.end();

      std::vector<int> red, grey;
      for (int x = 0; x < image.width(); ++x) {
        bool isRed = false, isGrey = false;
        for (int y = 0; y < kHigh; ++y) {
          const QColor color = image.pixelColor(x, y);
          if (color.blue() > 190) continue;  // the ground, and the soft edges of letters
          (color.red() - color.blue() > 24 ? isRed : isGrey) = true;
        }
        if (isRed) red.push_back(x);
        if (isGrey && !isRed) grey.push_back(x);
      }
      // More than the glyph: some of the text, if not all.
      QVERIFY2(red.size() > 25,
               qPrintable(QString("%1 before the end: %2").arg(before).arg(red.size())));
      QVERIFY(before < 24 || !grey.empty());
      for (const int x : grey) {
        const auto near = std::count_if(red.begin(), red.end(),
                                        [&](int other) { return std::abs(other - x) <= 3; });
        QVERIFY2(near == 0 || before < 24, qPrintable(QString("%1 before the end").arg(before)));
      }
    }
  }

  /// Where not all have room, the next multiple may be above the largest number of a step.
  void theLargestStepNumbersAreDrawn() {
    constexpr int kWide = 400, kHigh = 26, kSteps = 40;
    constexpr std::int64_t kNsPerPixel = 1'000'000, kStepNs = kWide / kSteps * kNsPerPixel;
    analysis::LiveStore store;
    test::OwnedBatch batch;
    batch.completeUpToNs = kWide * kNsPerPixel;
    for (std::uint32_t i = 0; i < kSteps; ++i) {
      batch.steps.emplace_back(i * kStepNs, kStepNs, 1, 1, -1,
                               std::numeric_limits<std::uint32_t>::max() - (kSteps - 1) + i, 16, 64,
                               1024, 0, 0, 0);
    }
    store.apply(batch.view());
    const Theme& theme = Theme::light();
    QImage image(kWide, kHigh, QImage::Format_RGB32);
    image.fill(theme.plot);
    QPainter painter(&image);
    const LaneFrame frame{painter, store, theme, {{0, kWide * kNsPerPixel}, 0, kWide}, 0, kWide};
    laneKind(Lane::kSteps).draw(frame, {Lane::kSteps, 0, kHigh, {}});
    painter.end();
    int inked = 0;
    for (int x = 0; x < kWide; ++x) {
      for (int y = 0; y < kHigh; ++y) inked += qGray(image.pixel(x, y)) < 140;
    }
    QVERIFY(inked > 50);
  }
};

HIGHWATER_TEST(TestLaneKinds, QApplication)
#include "tst_lane_kinds.moc"
