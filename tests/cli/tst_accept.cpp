// The program `highwater accept`.

#include "analysis/live_store.h"
#include "core/exit_codes.h"
#include "run/recording_loader.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

class TestAccept : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  QString path_;

  [[nodiscard]] bool accepted() const {
    analysis::LiveStore store;
    return run::loadRecording(path_.toStdString(), store) &&
           store.acceptanceOf("aten::embedding_renorm_");
  }

 private slots:
  void init() {
    path_ = folder_.filePath(QStringLiteral("run.highwater"));
    QVERIFY(test::writeRecording(path_.toStdString(), test::makeSampleRun()));
  }

  void namesWhatFellBack() {
    for (const char* op : {"aten::embeding_renorm_", "aten::gelu"}) {
      const auto outcome = runHighwater({"accept", path_, "--fallback", op, "--reason", "rare"});
      QCOMPARE(outcome.exitCode, int{kExitUsage});
      QVERIFY2(outcome.err.contains("did not fall back in this recording; what did: "
                                    "aten::embedding_renorm_"),
               qPrintable(outcome.err));
    }
  }

  void refusesABlankReason() {
    const auto outcome =
        runHighwater({"accept", path_, "--fallback", "embedding_renorm_", "--reason", "   "});
    QCOMPARE(outcome.exitCode, int{kExitUsage});
    QVERIFY2(outcome.err.contains("the reason of an accepted fallback is \"   \"; give"),
             qPrintable(outcome.err));
    QVERIFY(!accepted());
  }

  void takesBackWhatWasAccepted() {
    const QStringList op = {"accept", path_, "--fallback", "embedding_renorm_"};
    auto outcome = runHighwater(op + QStringList{"--withdraw"});
    QCOMPARE(outcome.exitCode, int{kExitUsage});
    QVERIFY2(outcome.err.contains("is not accepted in this recording; nothing is"),
             qPrintable(outcome.err));
    // The report explains how to accept it, until it is accepted.
    const QString how = QStringLiteral("or accept it (highwater accept)");
    QVERIFY(test::reportText(path_).contains(how));
    QCOMPARE(runHighwater(op + QStringList{"--reason", "rare"}).exitCode, int{kExitDone});
    QVERIFY(accepted());
    QVERIFY(!test::reportText(path_).contains(how));
    outcome = runHighwater({"accept", path_, "--fallback", "gelu", "--withdraw"});
    QVERIFY2(outcome.err.contains("what is: aten::embedding_renorm_"), qPrintable(outcome.err));
    outcome = runHighwater(op + QStringList{"--withdraw"});
    QCOMPARE(outcome.exitCode, int{kExitDone});
    QVERIFY(outcome.out.contains("aten::embedding_renorm_ is no longer accepted on the CPU"));
    QVERIFY(!accepted());
    // It can be accepted again.
    QCOMPARE(runHighwater(op + QStringList{"--reason", "still rare"}).exitCode, int{kExitDone});
    QVERIFY(accepted());
  }
};

HIGHWATER_TEST(TestAccept, QCoreApplication)
#include "tst_accept.moc"
