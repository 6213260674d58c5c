#include "core/missing_op.h"
#include "support/test_program.h"

using namespace highwater;

class TestMissingOp : public QObject {
  Q_OBJECT

 private slots:
  void readsPyTorchsMessage() {
    const auto missing = missingOp(
        "NotImplementedError: The operator 'aten::_ctc_loss' is not currently implemented for the "
        "MPS device. If you want this op to be considered for addition please comment on "
        "https://github.com/pytorch/pytorch/issues/141287. (train.py:24)");
    QVERIFY(missing);
    QCOMPARE(missing->op, std::string("aten::_ctc_loss"));
    QCOMPARE(missing->message, std::string("The operator 'aten::_ctc_loss' is not currently "
                                           "implemented for the MPS device"));
    const std::string advice = missingOpAdvice(*missing);
    QVERIFY(advice.find("PYTORCH_ENABLE_MPS_FALLBACK=1") != std::string::npos);
    QVERIFY(advice.find("log_probs.cpu()") != std::string::npos);
  }

  void otherMessages_data() {
    QTest::addColumn<QString>("text");
    QTest::newRow("nothing") << "";
    QTest::newRow("another device") << "The operator 'aten::x' is not implemented for CUDA";
    QTest::newRow("no name") << "The operator '' is not currently implemented for the MPS device";
    QTest::newRow("no begin") << "' is not currently implemented for the MPS device";
    QTest::newRow("long name") << "The operator '" + QString(300, 'a') +
                                      "' is not currently implemented for the MPS device";
  }
  void otherMessages() {
    QFETCH(QString, text);
    QVERIFY(!missingOp(text.toStdString()));
  }
};

HIGHWATER_TEST(TestMissingOp, QCoreApplication)
#include "tst_missing_op.moc"
