#include "run/tried_knob.h"
#include "support/test_program.h"

using namespace highwater;
using run::triedKnobOf;

namespace {

analysis::LiveStore storeOf(bool ownScript) {
  analysis::LiveStore store;
  RunDescription description;
  description.ownScript = ownScript;
  description.knobs.accumulation = 1;
  description.knobs.precision = Precision::kFloat32;
  store.apply(description);
  if (!ownScript) return store;
  const auto offer = [&store](std::string name, ScriptKnob::Kind kind, double value,
                              std::vector<std::string> choices = {}) {
    ScriptKnob knob;
    knob.name = std::move(name);
    knob.kind = kind;
    knob.value = value;
    knob.choices = std::move(choices);
    if (knob.name == "every") {
      knob.minimum = -2;
      knob.maximum = 8;
    }
    store.apply(knob);
  };
  offer("every", ScriptKnob::Kind::kInteger, 4);
  offer("rate", ScriptKnob::Kind::kReal, 0.5);
  offer("loss", ScriptKnob::Kind::kChoice, 1, {"mean", "sum = all"});
  offer("batch_size", ScriptKnob::Kind::kInteger, 32);
  return store;
}

}  // namespace

class TestTriedKnob : public QObject {
  Q_OBJECT

 private slots:
  void readsAValue_data() {
    QTest::addColumn<bool>("ofScript");
    QTest::addColumn<QString>("knob");
    QTest::addColumn<QString>("value");
    QTest::addColumn<double>("before");
    QTest::addColumn<double>("number");
    QTest::newRow("whole") << true << "every"
                           << "8" << 4.0 << 8.0;
    QTest::newRow("negative") << true << "every"
                              << "-2" << 4.0 << -2.0;
    QTest::newRow("real") << true << "rate"
                          << "2.5e-1" << 0.5 << 0.25;
    QTest::newRow("choice") << true << "loss"
                            << "mean" << 1.0 << 0.0;
    QTest::newRow("precision") << false << "precision"
                               << "bfloat16" << 1.0 << 2.0;
    QTest::newRow("workload") << false << "accumulate"
                              << "4" << 1.0 << 4.0;
  }
  void readsAValue() {
    QFETCH(bool, ofScript);
    QFETCH(QString, knob);
    QFETCH(QString, value);
    const auto tried = triedKnobOf(storeOf(ofScript), knob.toStdString(), value.toStdString());
    QVERIFY2(tried.ok(), tried.ok() ? "" : tried.error().message.c_str());
    QTEST(tried->before, "before");
    QTEST(tried->value, "number");
  }

  void refusesAValue_data() {
    QTest::addColumn<bool>("ofScript");
    QTest::addColumn<QString>("knob");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("why");
    QTest::newRow("no knob") << true << "pace"
                             << "8"
                             << "there is every, rate, loss";
    QTest::newRow("the same") << true << "every"
                              << "4"
                              << "every is 4 already";
    QTest::newRow("above") << true << "every"
                           << "9"
                           << "whole numbers from -2 to 8";
    QTest::newRow("not whole") << true << "every"
                               << "1.5"
                               << "whole numbers from -2 to 8";
    QTest::newRow("two signs") << true << "every"
                               << "--1"
                               << "whole numbers from -2 to 8";
    QTest::newRow("no number") << true << "rate"
                               << "fast"
                               << "numbers";
    QTest::newRow("no choice") << true << "loss"
                               << "median"
                               << "mean, sum = all";
    QTest::newRow("batch") << true << "batch_size"
                           << "64"
                           << "highwater sweep";
    QTest::newRow("workload's batch") << false << "batch"
                                      << "64"
                                      << "highwater sweep";
    QTest::newRow("workload's knob") << false << "every"
                                     << "2"
                                     << "there is loss-every, accumulate, precision";
    QTest::newRow("workload's value") << false << "precision"
                                      << "int8"
                                      << "bfloat16";
    QTest::newRow("zero") << false << "accumulate"
                          << "0"
                          << "accumulate";
  }
  void refusesAValue() {
    QFETCH(bool, ofScript);
    QFETCH(QString, knob);
    QFETCH(QString, value);
    QFETCH(QString, why);
    const auto tried = triedKnobOf(storeOf(ofScript), knob.toStdString(), value.toStdString());
    QVERIFY(!tried.ok());
    QVERIFY2(tried.error().message.find(why.toStdString()) != std::string::npos,
             tried.error().message.c_str());
  }

  void offersWhatCanBeTried() {
    const auto ofScript = run::knobsToTry(storeOf(true));
    QCOMPARE(ofScript.size(), 3U);
    QCOMPARE(ofScript[2].now, std::string("sum = all"));
    QCOMPARE(ofScript[2].others, std::vector<std::string>{"mean"});
    const analysis::LiveStore workload = storeOf(false);
    for (const run::KnobToTry& each : run::knobsToTry(workload)) {
      for (const std::string& other : each.others) {
        QVERIFY(triedKnobOf(workload, each.name, other).ok());
      }
    }
  }
};

HIGHWATER_TEST(TestTriedKnob, QCoreApplication)
#include "tst_tried_knob.moc"
