#include "core/event_kinds.h"
#include "support/test_program.h"

using namespace highwater;

class TestEventKinds : public QObject {
  Q_OBJECT

 private slots:
  void listsEveryKindOnce() {
    std::set<events::EventKind> kinds;
    forEachEventType([&kinds]<typename Event>(std::type_identity<Event>) {
      kinds.insert(EventTraits<Event>::kKind);
    });
    QCOMPARE(kinds.size(), kEventKinds);
    QVERIFY(!kinds.contains(events::EventKind::None));
  }

  void findsTheStructOfAKind() {
    int calls = 0;
    for (int kind = 0; kind <= 255; ++kind) {
      withEventType(static_cast<events::EventKind>(kind),
                    [&]<typename Event>(std::type_identity<Event>) {
                      QCOMPARE(static_cast<int>(EventTraits<Event>::kKind), kind);
                      ++calls;
                    });
    }
    QCOMPARE(calls, static_cast<int>(kEventKinds));
  }

  /// The recording and the report are wrong without the others.
  void onlySamplesAndOpsMayBeLost() {
    std::set<events::EventKind> droppable;
    for (int kind = 0; kind <= 255; ++kind) {
      const auto each = static_cast<events::EventKind>(kind);
      if (isDroppable(each)) droppable.insert(each);
    }
    QCOMPARE(droppable, (std::set<events::EventKind>{
                            events::EventKind::MemorySample, events::EventKind::SystemSample,
                            events::EventKind::MachineSample, events::EventKind::OpSpan,
                            events::EventKind::HostSample}));
  }

  void keepsAMemberForEachKind() {
    PerEventKind<EventVector> all;
    all.of<events::Heartbeat>().emplace_back(5, 1, 0);
    all.of<events::Evaluation>().emplace_back(6, 1, 120, 0.5f, 1.0f);
    QCOMPARE(all.heartbeats.size(), std::size_t{1});
    QCOMPARE(all.size(), std::size_t{2});
    all.forEachKind([](auto& events) { events.clear(); });
    QCOMPARE(all.size(), std::size_t{0});
  }

  void knowsWhenAnEventBeginsAndEnds() {
    const events::Heartbeat moment(5, 1, 0);
    QCOMPARE(beginNsOf(moment), 5);
    QCOMPARE(endNsOf(moment), 5);
    const events::PhaseSpan span(10, 3, 1, 1, events::Phase::Forward);
    QCOMPARE(beginNsOf(span), 10);
    QCOMPARE(endNsOf(span), 13);
    const events::OpenSpan open(20, 27, 1, 2, 1, 0, events::Phase::Forward);
    QCOMPARE(beginNsOf(open), 20);
    QCOMPARE(endNsOf(open), 27);
  }
};

HIGHWATER_TEST(TestEventKinds, QCoreApplication)
#include "tst_event_kinds.moc"
