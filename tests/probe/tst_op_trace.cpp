#include <QTest>

#include "op_trace.h"
#include "support/test_program.h"

using namespace highwater::test;

namespace {

/// mul { empty, add }, sum
OpTrace sample() {
  OpTrace trace{{"sum", 200, 40}, {"add", 140, 50}, {"mul", 100, 100}, {"empty", 110, 20}};
  nestByTime(trace);
  return trace;
}

}  // namespace

class TestOpTrace : public QObject {
  Q_OBJECT
 private slots:
  void nestsByTime() {
    const OpTrace trace = sample();
    QCOMPARE(trace.size(), std::size_t{4});
    const char* names[] = {"mul", "empty", "add", "sum"};
    const std::uint32_t depths[] = {0, 1, 1, 0};
    for (std::size_t i = 0; i < trace.size(); ++i) {
      QCOMPARE(trace[i].name, std::string(names[i]));
      QCOMPARE(trace[i].depth, depths[i]);
    }
  }

  void sameOpsInOneSpanNestByLength() {
    OpTrace trace{{"inner", 100, 10}, {"outer", 100, 20}};
    nestByTime(trace);
    QCOMPARE(trace[0].name, std::string("outer"));
    QCOMPARE(trace[1].depth, 1u);
  }

  void findsWhatDiffers() {
    const OpTrace probe = sample();
    QCOMPARE(firstDifference(probe, probe), std::string());
    OpTrace kineto = probe;
    kineto.erase(kineto.begin() + 1);
    QVERIFY(firstDifference(probe, kineto).starts_with("op 1 of 4 and 3: the probe has empty"));
    kineto = probe;
    kineto.pop_back();
    QVERIFY(firstDifference(probe, kineto).find("kineto has nothing") != std::string::npos);
    kineto = probe;
    kineto[2].depth = 2;
    QVERIFY(firstDifference(probe, kineto).starts_with("op 2"));
    std::swap(kineto[2], kineto[1]);
    QVERIFY(firstDifference(probe, kineto).starts_with("op 1"));
  }
};

HIGHWATER_TEST(TestOpTrace, QCoreApplication)
#include "tst_op_trace.moc"
