#include <QMap>

#include "support/run_program.h"
#include "support/test_program.h"

/// The ledger of a real training process (check_training.cpp) is complete and consistent.
class LedgerOfTraining : public QObject {
  Q_OBJECT

  using Lines = std::vector<QJsonObject>;

  QTemporaryDir folder_;
  QString printed_;  ///< output of the last check
  Lines training_;   ///< the ledger of 50 steps

  static qint64 number(const QJsonObject& line, const char* key) {
    return line.value(QLatin1String(key)).toInteger(-1);
  }
  static QString text(const QJsonObject& line, const char* key) {
    return line.value(QLatin1String(key)).toString();
  }

  /// Runs a check with a ledger; returns its exit code, or -1 if a signal ended it.
  int check(const QString& name, const QString& file, const QStringList& environment = {}) {
    const highwater::test::Outcome outcome =
        highwater::test::runProgram(SIMMPS_CHECK, {SIMMPS_LIBRARY, name},
                                    environment + QStringList{"HIGHWATER_SIM_LEDGER=" + file});
    printed_ = outcome.out.trimmed();
    return outcome.exitCode;
  }

  /// All lines; empty if one of them is no JSON object.
  static Lines linesOf(const QString& path) {
    QFile file(path);
    Lines lines;
    if (!file.open(QIODevice::ReadOnly)) return lines;
    while (!file.atEnd()) {
      const QByteArray line = file.readLine();
      const QJsonObject object = QJsonDocument::fromJson(line).object();
      if (object.isEmpty() || !line.endsWith('\n')) return {};
      lines.push_back(object);
    }
    return lines;
  }

 private slots:
  void initTestCase() {
    const QString file = folder_.filePath("training");
    QCOMPARE(check("classifierLossesMatchTheCpu", file, {"HIGHWATER_SIM_GRAPH_CACHE=1000"}), 0);
    training_ = linesOf(file);
    QVERIFY(training_.size() > 1000);
    QCOMPARE(text(training_[0], "event"), "header");
  }

  void entriesAddUp() {
    qint64 current = 0, driver = 0, currentAtExit = -1;
    QMap<QString, int> counts;
    QMap<qint64, qint64> blocks;
    for (const QJsonObject& line : training_) {
      const QString event = text(line, "event");
      ++counts[event];
      const qint64 bytes = number(line, "bytes"), address = number(line, "address");
      if (event == "allocate") {
        QVERIFY(!blocks.contains(address));
        blocks[address] = bytes;
        current += bytes;
        QVERIFY(bytes >= number(line, "requested_bytes"));
      } else if (event == "free") {
        QCOMPARE(blocks.take(address), bytes);
        current -= bytes;
      } else if (event == "reserve_heap" || event == "graph_cache") {
        driver += bytes;
      } else if (event == "release_heap") {
        driver -= bytes;
      } else {
        if (text(line, "cause") == "exit") currentAtExit = current;
        continue;
      }
      QCOMPARE(number(line, "current_bytes"), current);
      QCOMPARE(number(line, "driver_bytes"), driver);
    }
    QVERIFY(counts["allocate"] > 500 && counts["reserve_heap"] > 0 && counts["graph_cache"] > 0);
    // PyTorch's count at the end: the models are gone, and libtorch keeps a little for the process.
    QCOMPARE(printed_, "current bytes: " + QString::number(currentAtExit));
    QVERIFY2(currentAtExit < 1 << 20, qPrintable(printed_));
  }

  void timesAreInOrder() {
    qint64 lastEnd = number(training_[0], "time_ns");
    QMap<QString, int> causes;
    int kernels = 0;
    for (const QJsonObject& line : training_) {
      if (text(line, "event") == "kernel") {
        ++kernels;
        QVERIFY(number(line, "enqueued_ns") <= number(line, "start_ns"));
        QVERIFY(number(line, "start_ns") >= lastEnd);
        lastEnd = number(line, "end_ns");
        QVERIFY(lastEnd >= number(line, "start_ns"));
        QVERIFY(text(line, "op") != "manual_seed");
      } else if (text(line, "event") == "drain") {
        ++causes[text(line, "cause")];
        QVERIFY(number(line, "end_ns") >= number(line, "begin_ns"));
        QVERIFY(number(line, "call_ns") <= number(line, "begin_ns"));
        QVERIFY(number(line, "return_ns") >= number(line, "end_ns"));
      }
    }
    QVERIFY(kernels > 1000);
    QCOMPARE(causes["scalar_read"], 50);  // the loss of each step
    QVERIFY(causes["copy_to_device"] >= 100);
    QCOMPARE(causes["exit"], 1);
  }

  void fallbacksHaveTheirBytes() {
    const QString file = folder_.filePath("fallback");
    QCOMPARE(check("missingOpFallsBack", file, {"PYTORCH_ENABLE_MPS_FALLBACK=1"}), 0);
    int fallbacks = 0;
    for (const QJsonObject& line : linesOf(file)) {
      if (text(line, "event") != "fallback") continue;
      ++fallbacks;
      QCOMPARE(text(line, "op"), "aten::rrelu_with_noise");
      // Input and noise, 8 x 8 floats each; the result and the noise that was written.
      QCOMPARE(number(line, "bytes_to_cpu"), 512);
      QCOMPARE(number(line, "bytes_to_device"), 512);
      QVERIFY(number(line, "end_ns") > number(line, "begin_ns"));
    }
    QCOMPARE(fallbacks, 1);
  }

  void recordsACrash() {
    const QString file = folder_.filePath("crash");
    QCOMPARE(check("classifierLossesMatchTheCpu", file, {"HIGHWATER_SIM_CRASH_AT=100"}), -1);
    const Lines lines = linesOf(file);
    QVERIFY(!lines.empty());
    qint64 kernels = 0;
    for (const QJsonObject& line : lines) kernels += text(line, "event") == "kernel" ? 1 : 0;
    QCOMPARE(kernels, 99);
    const auto crash = std::find_if(lines.begin(), lines.end(), [](const QJsonObject& line) {
      return text(line, "event") == "crash";
    });
    QVERIFY(crash != lines.end());
    QCOMPARE(number(*crash, "kernel"), 100);
  }
};

HIGHWATER_TEST(LedgerOfTraining, QCoreApplication)
#include "tst_ledger_of_training.moc"
