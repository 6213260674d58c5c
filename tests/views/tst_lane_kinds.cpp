// The table of lane kinds: what holds for every kind, and what only some have.
#include <QTest>
#include <algorithm>

#include "support/sample_run.h"
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
};

QTEST_MAIN(TestLaneKinds)
#include "tst_lane_kinds.moc"
