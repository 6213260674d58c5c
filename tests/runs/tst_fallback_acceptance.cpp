#include "analysis/live_store.h"
#include "run/fallback_acceptance.h"
#include "run/recording_loader.h"
#include "support/recording_file.h"
#include "support/test_program.h"
#include "wire/limits.h"

using namespace highwater;
using namespace highwater::run;

class TestFallbackAcceptance : public QObject {
  Q_OBJECT

 private slots:
  void parsesOpAndReason() {
    const auto parsed = parseAcceptance("aten::gelu=once an epoch = rare");
    QVERIFY(parsed);
    QCOMPARE(parsed->op, std::string("aten::gelu"));
    QCOMPARE(parsed->reason, std::string("once an epoch = rare"));
    QVERIFY(parsed->accepted && parsed->unixTimeNs > 0);
    QCOMPARE(parseAcceptance("gelu=rare")->op, std::string("aten::gelu"));
  }

  void refusesWhatHasNoOpOrReason() {
    for (const char* text : {"", "gelu", "=rare", "gelu=", "gelu= \t\u00a0"}) {
      const auto parsed = parseAcceptance(text);
      QVERIFY2(!parsed, text);
      QVERIFY2(parsed.error().code == ErrorCode::kUsage, text);
    }
  }

  void refusesWhatARecordingCannotKeep() {
    const auto codeOf = [](const auto& result) {
      return result ? ErrorCode::kFailed : result.error().code;
    };
    const std::string reason(wire::kMaxTextBytes, 'x');
    QVERIFY(checkReason(reason));
    QVERIFY(codeOf(checkReason(reason + 'x')) == ErrorCode::kUsage);
    const std::string op = "a::" + std::string(wire::kMaxNameBytes - 3, 'x');
    QVERIFY(makeAcceptance(op, "rare") && makeWithdrawal(op));
    QVERIFY(codeOf(makeAcceptance(op + 'x', "rare")) == ErrorCode::kUsage);
    QVERIFY(codeOf(makeWithdrawal(op + 'x')) == ErrorCode::kUsage);
    QVERIFY(codeOf(makeAcceptance("", "rare")) == ErrorCode::kUsage);
    QVERIFY(codeOf(makeWithdrawal("")) == ErrorCode::kUsage);
  }

  void trimsTheReason() { QCOMPARE(*checkReason("\t rare \n"), std::string("rare")); }

  void isKeptInARecording() {
    const QTemporaryDir folder;
    const auto path = test::recordIn(folder, "a.highwater", test::makeSampleRun({.steps = 2}));
    QVERIFY(!path.isEmpty());
    QVERIFY(appendAcceptance(path.toStdString(), *makeAcceptance("gelu", "rare")));
    {
      analysis::LiveStore store;
      QVERIFY(loadRecording(path.toStdString(), store));
      QVERIFY(store.acceptanceOf("aten::gelu"));
      QCOMPARE(store.acceptanceOf("aten::gelu")->reason, std::string("rare"));
    }
    QVERIFY(appendAcceptance(path.toStdString(), *makeWithdrawal("gelu")));
    analysis::LiveStore store;
    QVERIFY(loadRecording(path.toStdString(), store));
    QVERIFY(!store.acceptanceOf("aten::gelu"));
  }
};

HIGHWATER_TEST(TestFallbackAcceptance, QCoreApplication)
#include "tst_fallback_acceptance.moc"
