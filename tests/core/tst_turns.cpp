#include <QTest>
#include <memory>
#include <optional>
#include <vector>

#include "core/turns.h"
#include "support/test_program.h"

using namespace highwater;

namespace {

using Log = std::vector<int>;

Turns<int> sumInTurns(Log& log, int from, int to) {
  int sum = 0;
  for (int i = from; i <= to; ++i) {
    log.push_back(i);
    sum += i;
    co_await NextTurn{};
  }
  co_return sum;
}

Turns<> nothing() {
  co_return;
}

/// Awaits others, one within the other, and some that end without a turn.
Turns<Log> nested(Log& log, int depth) {
  Log sums;
  if (depth > 0) sums = co_await nested(log, depth - 1);
  co_await nothing();
  sums.push_back(co_await sumInTurns(log, 10 * depth, 10 * depth + 2));
  co_await nothing();
  co_return sums;
}

Turns<> holding(std::shared_ptr<int> held) {
  co_await NextTurn{};
  *held += 1;
  co_await NextTurn{};
}

}  // namespace

class TestTurns : public QObject {
  Q_OBJECT

 private slots:
  void nothingIsDoneBeforeTheFirstTurn() {
    Log log;
    auto turns = sumInTurns(log, 1, 3);
    QVERIFY(log.empty());
    QVERIFY(!turns.isDone());
    QVERIFY(turns.advance());
    QCOMPARE(log, Log{1});
  }

  /// A turn goes on where the last one ended, however deep that is, and in the same order as all at
  /// once.
  void turnsOfAwaitedComputationsAreTurns() {
    Log atOnce;
    const Log sums = nested(atOnce, 3).finish();
    QCOMPARE(sums, (Log{3, 33, 63, 93}));
    Log log;
    auto turns = nested(log, 3);
    std::size_t count = 0;
    for (; turns.advance(); ++count) QCOMPARE(log.size(), count + 1);
    QCOMPARE(count, std::size_t{12});
    QCOMPARE(log, atOnce);
    QVERIFY(turns.isDone());
    QVERIFY(!turns.advance());
    QCOMPARE(turns.finish(), sums);
  }

  void whatIsLeftCanBeDoneAtOnce() {
    Log log;
    auto turns = nested(log, 1);
    QVERIFY(turns.advance());
    QCOMPARE(turns.finish(), (Log{3, 33}));
  }

  /// One that is given up, also within another, releases what it holds.
  void oneThatIsGivenUpReleasesWhatItHolds() {
    const auto held = std::make_shared<int>(0);
    {
      const auto outer = [](std::shared_ptr<int> inner) -> Turns<> { return holding(inner); };
      std::optional<Turns<>> turns = outer(held);
      QVERIFY(turns->advance());
      turns = holding(held);
      QVERIFY(turns->advance() && turns->advance());
      QCOMPARE(*held, 1);
    }
    QCOMPARE(held.use_count(), 1L);
  }
};

HIGHWATER_TEST(TestTurns, QCoreApplication)
#include "tst_turns.moc"
