#include "core/names.h"
#include "session/training_position.h"
#include "support/sample_run.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::session;
using highwater::test::OwnedBatch;

namespace {

constexpr std::int64_t kMs = 1'000'000;

}  // namespace

class TestTrainingPosition : public QObject {
  Q_OBJECT

 private:
  TrainingPosition position_;

  void stepDone(std::uint32_t step, std::int64_t endMs) {
    OwnedBatch batch;
    batch.completeUpToNs = endMs * kMs;
    batch.steps.emplace_back((endMs - 10) * kMs, 10 * kMs, 1, 1, -1, step, 16, 64, 1024, 0, 0, 0);
    position_.take(batch.view());
  }
  void heartbeat(std::uint32_t step, std::int64_t timeMs) {
    OwnedBatch batch;
    batch.heartbeats.emplace_back(timeMs * kMs, step, 0);
    position_.take(batch.view());
  }
  void open(std::uint32_t step, NameId name, events::Phase phase, std::int64_t beginMs,
            std::int64_t seenMs) {
    OwnedBatch batch;
    batch.openSpans.emplace_back(beginMs * kMs, seenMs * kMs, step, name, test::kTrainingThread, 0,
                                 phase);
    position_.take(batch.view());
  }

 private slots:
  void init() {
    position_ = {};
    RunDescription run;
    run.plannedSteps = 60;
    position_.take(run);
    Definitions definitions;
    definitions.names = {
        {test::kNonzero, "aten::nonzero"}, {20, "loss read"}, {21, "a\nb"}, {22, kEvaluationSpan}};
    position_.take(definitions);
  }

  void isTheRunningStep() {
    QCOMPARE(position_.text(), std::string());
    heartbeat(4, 100);
    QCOMPARE(position_.text(), std::string("in step 4"));
    stepDone(5, 150);  // newer than the heartbeat
    QCOMPARE(position_.text(), std::string("in step 6"));
    stepDone(60, 900);
    QCOMPARE(position_.text(), std::string("after step 60"));
  }

  void namesWhatIsOpen() {
    stepDone(4, 100);
    open(5, test::kNonzero, events::Phase::Forward, 110, 300);
    QCOMPARE(position_.text(), std::string("in step 5, forward, while aten::nonzero was open"));
    QCOMPARE(position_.openOp(), std::string("aten::nonzero"));
    stepDone(5, 310);
    QCOMPARE(position_.openOp(), std::string());
    QCOMPARE(position_.text(), std::string("in step 6"));
    open(5, test::kNonzero, events::Phase::None, 320, 500);  // between steps 5 and 6
    QCOMPARE(position_.text(), std::string("after step 5, while aten::nonzero was open"));
  }

  void hasAStallOfTheOpenSpan() {
    QVERIFY(!position_.stall());
    stepDone(4, 100);
    open(5, test::kNonzero, events::Phase::Forward, 110, 12'310);
    const auto stall = position_.stall();
    QVERIFY(stall);
    QCOMPARE(stall->step, 5u);
    QVERIFY(stall->phase == events::Phase::Forward);
    QCOMPARE(stall->op, std::string("aten::nonzero"));
    QVERIFY(stall->duration == std::chrono::milliseconds(12'200));
  }

  void aLongEvaluationIsNoStall() {
    stepDone(60, 100);
    open(60, 22, events::Phase::None, 110, 20'000);
    QVERIFY(!position_.stall());
    open(60, test::kNonzero, events::Phase::None, 5'000, 20'000);
    QVERIFY(position_.stall());
    QCOMPARE(position_.stall()->op, std::string("aten::nonzero"));
  }

  void saysAStall_data() {
    QTest::addColumn<quint32>("step");
    QTest::addColumn<int>("phase");
    QTest::addColumn<QByteArray>("op");
    QTest::addColumn<QString>("text");
    const int none = int(events::Phase::None), lossRead = int(events::Phase::LossRead);
    QTest::newRow("op") << 31u << lossRead << QByteArray("aten::mm")
                        << "step 31 has stood in loss read for 12 s, in aten::mm";
    QTest::newRow("phase") << 31u << lossRead << QByteArray("loss read")
                           << "step 31 has stood in loss read for 12 s";
    QTest::newRow("between steps")
        << 0u << none << QByteArray("aten::mm") << "the training has stood in aten::mm for 12 s";
    QTest::newRow("control character") << 0u << none << QByteArray("a\x1b[0m")
                                       << u"the training has stood in a\uFFFD[0m for 12 s"_qs;
  }
  void saysAStall() {
    QFETCH(quint32, step);
    QFETCH(int, phase);
    QFETCH(QByteArray, op);
    QFETCH(QString, text);
    QCOMPARE(stallText({step, static_cast<events::Phase>(phase), op.toStdString(),
                        std::chrono::milliseconds(12'900)}),
             text);
  }
};

HIGHWATER_TEST(TestTrainingPosition, QCoreApplication)
#include "tst_training_position.moc"
