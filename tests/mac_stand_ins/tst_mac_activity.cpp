// The request that a Mac neither slows the process down nor falls asleep.

#include "core/activity.h"
#include "mac_stand_ins/mac.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::mac;

class TestMacActivity : public QObject {
  Q_OBJECT

 private slots:
  void init() { mac() = {}; }
  void cleanup() {
    QCOMPARE(mac().openPools, 0);
    QCOMPARE(mac().messagesOutsideOfPools, 0);
  }

  void lastsAsLongAsTheObject() {
    std::optional<Activity> activity;
    activity.emplace("Highwater trains");
    QVERIFY(activity->held());
    QCOMPARE(mac().activities.size(), std::size_t{1});
    const auto& begun = mac().activities[0];
    QCOMPARE(begun.reason, std::string("Highwater trains"));
    QVERIFY(!begun.ended);
    QCOMPARE(begun.retains, 1);  // else it would end with the pool
    activity.reset();
    QVERIFY(mac().activities[0].ended);
    QCOMPARE(mac().activities[0].retains, 0);
  }

  /// NSActivityUserInitiated with its bit 20, no idle sleep; without bit 40, the display may sleep,
  /// and without those of NSActivityLatencyCritical.
  void asksForNoMoreThanItNeeds() {
    const Activity activity("a run");
    QCOMPARE(mac().activities[0].options, std::uint64_t{0x00FF'FFFF});
    QVERIFY((mac().activities[0].options & (std::uint64_t{1} << 20)) != 0);
  }

  void twoAtOnceEndOnTheirOwn() {
    std::optional<Activity> first, second;
    first.emplace("first");
    second.emplace("second");
    first.reset();
    QVERIFY(mac().activities[0].ended && !mac().activities[1].ended);
    second.reset();
    QVERIFY(mac().activities[1].ended);
  }

  void aSystemThatRefusesIsNoError_data() {
    QTest::addColumn<bool>("foundation");
    QTest::addColumn<bool>("method");
    QTest::addColumn<bool>("refuses");
    QTest::newRow("no Foundation") << false << true << false;
    QTest::newRow("no such method") << true << false << false;
    QTest::newRow("a nil token") << true << true << true;
  }
  void aSystemThatRefusesIsNoError() {
    QFETCH(bool, foundation);
    QFETCH(bool, method);
    QFETCH(bool, refuses);
    mac().hasFoundation = foundation;
    if (!method) mac().lackedMethods = {"beginActivityWithOptions:reason:"};
    mac().refusesActivities = refuses;
    const Activity activity("a run");
    QVERIFY(!activity.held());
    QVERIFY(mac().activities.empty());
  }
};

HIGHWATER_TEST(TestMacActivity, QCoreApplication)
#include "tst_mac_activity.moc"
