#include "session/option_names.h"
#include "support/test_program.h"

using highwater::session::withOptionNames;

class TestOptionNames : public QObject {
  Q_OBJECT

 private slots:
  void namesTheOptionThatWasGiven() {
    QCOMPARE(withOptionNames("HIGHWATER_SIM_QUEUE: \"0\"; HIGHWATER_SIM_QUEUE must be positive",
                             {"HIGHWATER_SIM_QUEUE=0"}),
             std::string("--sim-queue: \"0\"; --sim-queue must be positive"));
  }

  void keepsAVariableThatNoOptionSet() {
    const std::string message = "HIGHWATER_SIM_QUEUE: \"0\"";
    QCOMPARE(withOptionNames(message, {}), message);
    QCOMPARE(withOptionNames(message, {"HIGHWATER_SIM_QUEUE_X=0", "OTHER=1"}), message);
  }
};

HIGHWATER_TEST(TestOptionNames, QCoreApplication)
#include "tst_option_names.moc"
