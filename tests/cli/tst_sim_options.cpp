#include <QRegularExpression>

#include "cli/options.h"
#include "core/exit_codes.h"
#include "core/sim_knobs.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::cli;
using highwater::test::runHighwater;

class TestSimOptions : public QObject {
  Q_OBJECT

 private:
  static std::variant<Invocation, EarlyExit> parse(const QStringList& words) {
    std::vector<QByteArray> bytes = {"highwater"};
    for (const QString& word : words) bytes.push_back(word.toUtf8());
    std::vector<const char*> argv;
    for (const QByteArray& word : bytes) argv.push_back(word.constData());
    return parseCommandLine(static_cast<int>(argv.size()), argv.data());
  }
  static QStringList environmentOf(const QStringList& words) {
    const auto result = parse(words);
    if (const auto* early = std::get_if<EarlyExit>(&result)) qFatal("%s", early->text.c_str());
    const auto& invocation = std::get<Invocation>(result);
    if (const auto* record = std::get_if<RecordOptions>(&invocation)) {
      return record->launch.environment;
    }
    if (const auto* doctor = std::get_if<DoctorOptions>(&invocation)) {
      return doctor->launch.environment;
    }
    return std::get<WindowOptions>(invocation).launch.environment;
  }

  /// The row of docs/simulated-mps.md that describes a knob.
  static QString rowOf(const SimKnob& knob) {
    const QString option = QString::fromUtf8(knob.option),
                  metavar = QString::fromUtf8(knob.metavar);
    const QString call =
        option.isEmpty() ? QString("none") : "`" + (option + ' ' + metavar).trimmed() + "`";
    return QString("| `%1` | %2 | %3 | %4 |")
        .arg(QLatin1String(knob.variable), call, QString::fromUtf8(knob.defaultValue),
             QString::fromUtf8(knob.help));
  }

 private slots:
  void everyOptionSetsItsVariable() {
    for (const QStringList& command :
         {QStringList{}, QStringList{"doctor"}, QStringList{"record", "-o", "f.hw"}}) {
      QVERIFY(environmentOf(command).isEmpty());
      for (const SimKnob& knob : kSimKnobs) {
        if (*knob.option == '\0') continue;
        const bool isFlag = *knob.metavar == '\0';
        const QStringList given =
            isFlag ? QStringList{knob.option} : QStringList{knob.option, "a b"};
        const QString value = isFlag ? "1" : "a b";
        QCOMPARE(environmentOf(command + given), QStringList{knob.variable + ('=' + value)});
      }
    }
  }

  void refusesWhatTheDeviceWouldIgnore_data() {
    QTest::addColumn<QStringList>("words");
    QTest::addColumn<QString>("names");
    const auto row = [](const QStringList& words, const char* names) {
      QTest::newRow(qPrintable(words.join(' '))) << words << names;
    };
    row({"doctor", "--device", "cpu", "--sim-slowdown", "2"},
        "--sim-slowdown is for the simulated");
    row({"--device", "mps", "--sim-hang-at", "2"}, "leave it out for --device mps");
    row({"doctor", "--device", "cpu", "--fallback"}, "--fallback is for MPS");
    row({"doctor", "--sim-ledger", ""}, "--sim-ledger is \"\"; give FILE");
    row({"report", "f.hw", "--sim-slowdown", "2"}, "--sim-slowdown");
    row({"doctor", "--fallback=false"}, "--fallback takes no value");
  }
  void refusesWhatTheDeviceWouldIgnore() {
    QFETCH(QStringList, words);
    QFETCH(QString, names);
    const auto result = parse(words);
    const auto* early = std::get_if<EarlyExit>(&result);
    QVERIFY(early);
    QCOMPARE(early->exitCode, int(kExitUsage));
    QVERIFY2(QString::fromStdString(early->text).contains(names), early->text.c_str());
  }

  void realMpsTakesPyTorchsOwn() {
    QCOMPARE(
        environmentOf({"--device", "mps", "--fallback", "--high-watermark", "1.2"}),
        (QStringList{"PYTORCH_ENABLE_MPS_FALLBACK=1", "PYTORCH_MPS_HIGH_WATERMARK_RATIO=1.2"}));
  }

  void thePageHasTheTable() {
    QFile page(HIGHWATER_SOURCE_DIR "/docs/simulated-mps.md");
    QVERIFY(page.open(QIODevice::ReadOnly));
    const QStringList lines = QString::fromUtf8(page.readAll()).split('\n');
    for (const SimKnob& knob : kSimKnobs)
      QVERIFY2(lines.contains(rowOf(knob)), qPrintable(rowOf(knob)));
    static const QRegularExpression row("^\\| `(HIGHWATER_SIM|PYTORCH)_");
    QCOMPARE(lines.filter(row).size(), qsizetype(kSimKnobs.size()));
  }

#ifdef HIGHWATER_WITH_SIMULATION
  // With the real worker.
  void doctorListsWhatIsSet() {
    QTemporaryDir folder;
    QFile ledger(folder.filePath("ledger.jsonl"));
    QVERIFY(ledger.open(QIODevice::WriteOnly) && ledger.write("kept") == 4);
    ledger.close();
    const auto outcome = runHighwater({"doctor", "--device", "sim", "--sim-slowdown", "2"},
                                      {"HIGHWATER_SIM_SLOWDOWN=3", "HIGHWATER_SIM_QUEUE=sync",
                                       "HIGHWATER_SIM_LEDGER=" + ledger.fileName()});
    QCOMPARE(outcome.exitCode, int(kExitDone));
    for (const QString& part :
         {QString("HIGHWATER_SIM_SLOWDOWN = 2\n"), QString("A kernel takes this many times"),
          QString("HIGHWATER_SIM_QUEUE = sync"), "HIGHWATER_SIM_LEDGER = " + ledger.fileName()}) {
      QVERIFY2(outcome.out.contains(part), qPrintable(outcome.out));
    }
    QVERIFY(!outcome.out.contains("HIGHWATER_SIM_HANG_AT"));
    QVERIFY(ledger.open(QIODevice::ReadOnly));
    QCOMPARE(ledger.readAll(), QByteArray("kept"));
  }

  void aRefusedValueIsWrongUsage_data() {
    QTest::addColumn<QStringList>("option");
    QTest::addColumn<QString>("says");
    const auto row = [](const QStringList& option, const QString& says) {
      QTest::newRow(qPrintable(option.join(' '))) << option << says;
    };
    row({"--sim-slowdown", "0.5"},
        "--sim-slowdown: \"0.5\" is not allowed; give a number from 1 (none) to 1000");
    row({"--sim-ledger", "/no/such/folder/l.jsonl"},
        "--sim-ledger: \"/no/such/folder/l.jsonl\" cannot be written");
  }
  void aRefusedValueIsWrongUsage() {
    QFETCH(QStringList, option);
    QFETCH(QString, says);
    QTemporaryDir folder;
    const QString file = folder.filePath("f.highwater");
    const auto record = runHighwater(
        QStringList{"record", "--device", "sim", "--steps", "2", "-o", file} + option, {});
    QCOMPARE(record.exitCode, int(kExitUsage));
    QVERIFY2(record.err.contains(says), qPrintable(record.err));
    QVERIFY(!QFile::exists(file));
    const auto doctor = runHighwater(QStringList{"doctor", "--device", "sim"} + option, {});
    QVERIFY2(!record.err.contains("HIGHWATER_SIM_"), qPrintable(record.err));
    if (option.first() == "--sim-ledger") return;  // doctor opens none
    QCOMPARE(doctor.exitCode, int(kExitUsage));
    QVERIFY2(doctor.err.contains(says), qPrintable(doctor.err));
  }

  void aSimulatedCrashEndsTheRunEarly() {
    QTemporaryDir folder;
    const auto record = runHighwater({"record", "--device", "sim", "--steps", "9", "--sim-crash-at",
                                      "500", "-o", folder.filePath("f.highwater")});
    QCOMPARE(record.exitCode, int(kExitEndedEarly));
    QVERIFY2(record.err.contains("failed assertion `a crash was asked for at kernel 500"),
             qPrintable(record.err));
    QVERIFY2(record.err.contains("SIGABRT"), qPrintable(record.err));
  }
#endif
};

HIGHWATER_TEST(TestSimOptions, QCoreApplication)
#include "tst_sim_options.moc"
