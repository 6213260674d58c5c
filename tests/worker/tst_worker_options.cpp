#include "core/result.h"
#include "support/test_program.h"
#include "worker/options.h"

using namespace highwater;

/// The worker's command line, as far as it can be judged without libtorch.
class TestWorkerOptions : public QObject {
  Q_OBJECT

 private:
  /// Why the arguments are refused; empty: they are not.
  static QString refusalOf(const QStringList& arguments) {
    std::vector<std::string> words{"highwater-worker"};
    for (const QString& each : arguments) words.push_back(each.toStdString());
    std::vector<const char*> argv;
    for (const std::string& each : words) argv.push_back(each.c_str());
    const auto parsed = worker::parseOptions(static_cast<int>(argv.size()), argv.data());
    if (!parsed) {
      return parsed.error().code == ErrorCode::kUsage
                 ? QString::fromStdString(parsed.error().message)
                 : QStringLiteral("not a usage error");
    }
    const auto* options = std::get_if<worker::Options>(&*parsed);
    if (!options) return {};
    const auto sizes = worker::resolveSizes(*options, false);
    return sizes ? QString() : QString::fromStdString(sizes.error().message);
  }

 private slots:
  void refuses_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("says");
    const auto row = [](const QStringList& arguments, const char* says) {
      QTest::newRow(qPrintable(arguments.join(u' '))) << arguments << QString::fromUtf8(says);
    };
    row({"--batch", "0"}, "--batch is \"0\"; give a whole number from 1");
    row({"--batch", "-1"}, "--batch");
    row({"--batch", "1000000000"}, "1 to 4096");
    row({"--seq", "600"}, "1 to 512");
    row({"--max-seq", "0600", "--seq", "0601"}, "1 to 600");
    row({"--set", "2:seq=513"}, "1 to 512");
    row({"--set", "2:batch=2,loss-every=0"}, "loss-every of --set");
    row({"--set", "five"}, "STEP:KNOB=VALUE");
    row({"--set", "2:precision=double"}, "--set");
    row({"--dtype", "float16"}, "float16");
    row({"--width", "100", "--heads", "3"}, "multiple");
    row({"--nope"}, "argument was not expected: --nope");
    row({"--sampling-hz", "5000"}, "1 to 1000");
    row({"--data-held-out", "x.csv"}, "--data");
    row({"--memory-fraction", "0"}, "a number from 0.01 to 2");
    row({"--lr", "0"}, "a number from 1e-09 to 10");
    row({"--precision", "float8"}, "float32");
  }

  void refuses() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, says);
    const QString refusal = refusalOf(QStringList{"--stdio", "--device", "cpu"} + arguments);
    QVERIFY2(refusal.contains(says), qPrintable(refusal));
  }

  void takesWhatIsAllowed() {
    QCOMPARE(refusalOf({"--stdio", "--batch", "4096", "--seq", "512", "--set", "2:batch=1,seq=512",
                        "--lr", "10", "--sampling-hz", "1000", "--width", "96", "--heads", "3"}),
             QString());
  }
};

HIGHWATER_TEST(TestWorkerOptions, QCoreApplication)
#include "tst_worker_options.moc"
