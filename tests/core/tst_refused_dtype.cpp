#include "core/refused_dtype.h"
#include "support/test_program.h"

using namespace highwater;

class TestRefusedDtype : public QObject {
  Q_OBJECT

 private slots:
  void readsPyTorchsMessages_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("dtype");
    QTest::addColumn<bool>("newer");
    QTest::newRow("float64")
        << "Traceback (most recent call last):\n  x.to('mps')\nTypeError: Cannot "
           "convert a MPS Tensor to float64 dtype as the MPS framework doesn't "
           "support float64. Please use float32 instead.\nmore"
        << "float64" << false;
    QTest::newRow("float64 of a graph")
        << "Cannot convert a float64 Tensor to MPS as the MPS framework doesn't support float64."
        << "float64" << false;
    const QString other =
        "TypeError: Trying to convert %1 to the MPS backend but it does not have "
        "support for that dtype.";
    QTest::newRow("complex128") << other.arg("ComplexDouble") << "complex128" << false;
    QTest::newRow("float8") << other.arg("Float8_e4m3fn") << "float8_e4m3fn" << false;
    QTest::newRow("uint16") << other.arg("UInt16") << "uint16" << false;
    QTest::newRow("bfloat16") << "MPS bfloat16 type is supported on MacOS 14.0 or newer."
                              << "bfloat16" << true;
    QTest::newRow("complex64") << "MPS complex types are only supported on MacOS 14.0 or newer."
                               << "complex64" << true;
  }
  void readsPyTorchsMessages() {
    QFETCH(QString, text);
    const auto refused = refusedDtype(text.toStdString());
    QVERIFY(refused);
    QTEST(QString::fromStdString(refused->dtype), "dtype");
    QTEST(refused->needsNewerMacOs, "newer");
    QVERIFY(text.contains(QString::fromStdString(refused->message)));
    QVERIFY(!QString::fromStdString(refused->message).contains(u'\n'));
  }

  void advisesADtypeThatCanReplaceIt_data() {
    QTest::addColumn<QString>("dtype");
    QTest::addColumn<bool>("newer");
    QTest::addColumn<QString>("says");
    QTest::addColumn<QString>("saysNot");
    QTest::newRow("float64") << "float64" << false << "convert to float32 "
                             << "complex";
    QTest::newRow("complex128") << "complex128" << false << "convert to complex64 "
                                << "float32";
    QTest::newRow("complex64") << "complex64" << true << "macOS 14"
                               << "float32";
    QTest::newRow("bfloat16") << "bfloat16" << true << "or use float32"
                              << "CPU";
    QTest::newRow("uint16") << "uint16" << false << "int32 or int64"
                            << "float";
    QTest::newRow("float8") << "float8_e4m3fn" << false << "bfloat16"
                            << "macOS";
  }
  void advisesADtypeThatCanReplaceIt() {
    QFETCH(QString, dtype);
    QFETCH(bool, newer);
    QFETCH(QString, says);
    QFETCH(QString, saysNot);
    const std::string advice = dtypeAdvice({dtype.toStdString(), newer, {}});
    QVERIFY2(advice.find(says.toStdString()) != std::string::npos, advice.c_str());
    QVERIFY2(advice.find(saysNot.toStdString()) == std::string::npos, advice.c_str());
  }

  void leavesOtherTextsAlone_data() {
    QTest::addColumn<QString>("text");
    for (const char* text :
         {"", "\n\n", "ValueError: float64", "Trying to convert ", "Trying to convert x y z",
          "Trying to convert  to the MPS backend but it does not have support for that dtype.",
          "Trying to convert a b to the MPS backend but it does not have support for that dtype.",
          "MPS backend out of memory (MPS allocated: 1.50 GiB). Tried to allocate 1.00 GiB"}) {
      QTest::newRow(text) << text;
    }
  }
  void leavesOtherTextsAlone() {
    QFETCH(QString, text);
    QVERIFY(!refusedDtype(text.toStdString()));
  }
};

HIGHWATER_TEST(TestRefusedDtype, QCoreApplication)
#include "tst_refused_dtype.moc"
