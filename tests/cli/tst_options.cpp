#include "cli/options.h"
#include "core/exit_codes.h"
#include "core/scenarios.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::cli;

class TestOptions : public QObject {
  Q_OBJECT

 private:
  /// Splits `line` at spaces. The word '' is an empty argument, and '_' stands for a space.
  static std::variant<Invocation, EarlyExit> parse(const QString& line) {
    std::vector<QByteArray> words = {"highwater"};
    for (QString word : line.split(u' ', Qt::SkipEmptyParts)) {
      if (word == "''") word.clear();
      words.push_back(word.replace("'_'", " ").toUtf8());
    }
    std::vector<const char*> argv;
    for (const QByteArray& word : words) argv.push_back(word.constData());
    return parseCommandLine(static_cast<int>(argv.size()), argv.data());
  }
  /// The options of a command line; aborts where it is refused or of another command.
  template <typename Options>
  static Options parsed(const QString& line) {
    const auto result = parse(line);
    if (const auto* early = std::get_if<EarlyExit>(&result)) qFatal("%s", early->text.c_str());
    return std::get<Options>(std::get<Invocation>(result));
  }

 private slots:
  void namesTheCommandThatWasMeant() {
    QVERIFY(noSuchFileText("recrod").find("\"recrod\"; did you mean record?") != std::string::npos);
    QVERIFY(noSuchFileText("a.highwater").find("did you mean") == std::string::npos);
  }

  void takesTheStepsOfAScenario() {
    const auto plain = parsed<RecordOptions>("record --scenario clean -o f.hw");
    QCOMPARE(plain.launch.scenario, std::string("clean"));
    QCOMPARE(plain.launch.steps, (*findScenario("clean"))->steps);
    QCOMPARE(parsed<RecordOptions>("record --scenario clean --steps 7 -o f.hw").launch.steps, 7u);
    const auto result = parse("record --scenario none-such -o f.hw");
    QCOMPARE(std::get<EarlyExit>(result).exitCode, int{kExitUsage});
    QVERIFY(std::get<EarlyExit>(result).text.find("shape-churn") != std::string::npos);
  }
  void readsAcceptedFallbacks() {
    const auto record = parsed<RecordOptions>(
        "record -o f.hw --accept-fallback gelu=rare --accept-fallback torchvision::nms=once=only");
    QCOMPARE(record.accepted.size(), 2u);
    QCOMPARE(record.accepted[0].op, std::string("aten::gelu"));
    QCOMPARE(record.accepted[1].op, std::string("torchvision::nms"));
    QCOMPARE(record.accepted[1].reason, std::string("once=only"));
    for (const char* wrong : {"gelu", "gelu=", "=rare", "gelu='_''_'", "gelu=\u00a0\t"}) {
      const auto result = parse(QString("record -o f.hw --accept-fallback ") + wrong);
      QCOMPARE(std::get<EarlyExit>(result).exitCode, int{kExitUsage});
    }
    QCOMPARE(record.launch.acceptedOps, (QStringList{"aten::gelu", "torchvision::nms"}));
    const auto accept = parsed<AcceptOptions>("accept f.hw --fallback aten::gelu --reason rare");
    QCOMPARE(accept.acceptance.op, std::string("aten::gelu"));
    QCOMPARE(accept.recording, std::string("f.hw"));
    QVERIFY(accept.acceptance.accepted);
    const auto withdraw = parsed<AcceptOptions>("accept f.hw --fallback gelu --withdraw");
    QCOMPARE(withdraw.acceptance.op, std::string("aten::gelu"));
    QVERIFY(!withdraw.acceptance.accepted && withdraw.acceptance.reason.empty());
    for (const char* wrong : {"--fallback gelu", "--fallback gelu --withdraw --reason x",
                              "--fallback gelu --reason '_'"}) {
      const auto result = parse(QString("accept f.hw ") + wrong);
      QCOMPARE(std::get<EarlyExit>(result).exitCode, int{kExitUsage});
    }
  }

  void readsARecording() {
    const auto record = parsed<RecordOptions>(
        "record --device sim --steps 60 --batch 16 --seq 64 --set 30:batch=32 --set "
        "40:seq=128,loss-every=2 --loss-every 5 --seed 7 --sampling-hz 100 --data a.csv -o f.hw");
    QCOMPARE(record.launch.device, std::string("sim"));
    QCOMPARE(record.launch.steps, 60u);
    QCOMPARE(record.launch.batchSize, 16u);
    QCOMPARE(record.launch.sequenceLength, 64u);
    QCOMPARE(record.launch.lossEvery, 5u);
    QCOMPARE(record.launch.samplingHz, 100u);
    QCOMPARE(*record.launch.seed, std::uint64_t{7});
    QCOMPARE(record.launch.dataFile, std::string("a.csv"));
    QCOMPARE(record.output, std::string("f.hw"));
    QVERIFY(!record.force);
    QCOMPARE(record.launch.scheduledKnobs.size(), std::size_t(2));
    QCOMPARE(record.launch.scheduledKnobs[0].atStep, 30u);
    QCOMPARE(*record.launch.scheduledKnobs[0].batchSize, 32u);
    QVERIFY(!record.launch.scheduledKnobs[0].sequenceLength);
    QCOMPARE(*record.launch.scheduledKnobs[1].sequenceLength, 128u);
    QCOMPARE(*record.launch.scheduledKnobs[1].lossEvery, 2u);
  }

  void hasDefaults() {
    const auto record = parsed<RecordOptions>("record -o f.hw");
    QCOMPARE(record.launch.steps, 200u);
    QCOMPARE(record.launch.device, std::string("auto"));
    QCOMPARE(record.launch.batchSize, 0u);
    QVERIFY(!record.launch.seed);
    const auto window = parsed<WindowOptions>("");
    QVERIFY(window.recording.empty());
    QCOMPARE(window.launch.steps, 0u);
  }

  void readsTheOtherCommands() {
    QCOMPARE(parsed<WindowOptions>("a.highwater").recording, std::string("a.highwater"));
    QCOMPARE(parsed<WindowOptions>("--device cpu").launch.device, std::string("cpu"));
    QVERIFY(parsed<ReportOptions>("report a.highwater --json").json);
    const auto picture =
        parsed<ExportOptions>("export a.hw --to b.png --size 800x600 --theme light");
    QCOMPARE(picture.size, QSize(800, 600));
    QVERIFY(!picture.dark);
    QVERIFY(!picture.fromNs && !picture.untilNs && !picture.steps);
    const auto part = parsed<ExportOptions>("export a.hw --to b.png --from 0:41.5 --until 52s");
    QCOMPARE(*part.fromNs, std::int64_t{41'500'000'000});
    QCOMPARE(*part.untilNs, std::int64_t{52'000'000'000});
    const auto late = parsed<ExportOptions>("export a.hw --to b.png --from 1:02:24.127");
    QCOMPARE(*late.fromNs, std::int64_t{3'744'127'000'000});
    const auto early = parsed<ExportOptions>("export a.hw --to b.png --until 850'_'ms");
    QCOMPARE(*early.untilNs, std::int64_t{850'000'000});
    const auto steps = parsed<ExportOptions>("export a.hw --to b.png --steps 120-139");
    QCOMPARE(*steps.steps, std::pair(120u, 139u));
    QCOMPARE(*parsed<ExportOptions>("export a.hw --to b.png --steps 7").steps, std::pair(7u, 7u));
    QVERIFY(parsed<ReportOptions>("report a.hw --full").full);
    const auto page = parsed<ReportPageOptions>("report a.hw --html b.html --force --full");
    QCOMPARE(page.recording, std::string("a.hw"));
    QCOMPARE(page.page, std::string("b.html"));
    QVERIFY(page.force && page.full);
    QVERIFY(parsed<RecordOptions>("record").output.empty());
    QCOMPARE(parsed<DoctorOptions>("doctor --json").json, std::optional<std::string>("-"));
    const auto report = parsed<DoctorOptions>("doctor --report a.tgz --python p");
    QVERIFY(report.question == DoctorOptions::Question::kReport);
    QCOMPARE(report.archive + report.interpreter.toStdString(), std::string("a.tgzp"));
    QCOMPARE(parsed<DoctorOptions>("doctor --report").archive, std::string());
  }

  void refusesWrongUsage_data() {
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("names");  // what the message must name
    const auto row = [](const char* line, const char* names) {
      QTest::newRow(line) << QString(line) << QString(names);
    };
    row("--nonsense", "--nonsense");
    row("record --nonsense -o f", "--nonsense");
    row("record -o f --batch 0", "--batch is \"0\"; give a whole number from 1 to 4096");
    row("record -o f --batch -1", "--batch is \"-1\"");
    row("record -o f --batch 1000000000", "--batch is \"1000000000\"");
    row("record -o f --batch 99999999999999999999", "--batch");
    row("record -o f --batch 16.5", "--batch is \"16.5\"");
    row("record -o f --batch x", "--batch is \"x\"");
    row("record -o f --batch 4097", "--batch is \"4097\"; give a whole number from 1 to 4096");
    row("record -o f --batch ''", "--batch is \"\"; give N: Batch size, 1 to 4096");
    row("record -o f --seq 513", "--seq is \"513\"; give a whole number from 1 to 512");
    row("record -o f --steps 100000001", "--steps is \"100000001\"");
    row("record -o f --set 5:batch=4097", "batch of --set 5:batch=4097 is \"4097\"; give");
    row("record -o f --steps 5 --steps 6",
        "--steps is given 2 times, with \"5\" and \"6\"; give it once");
    row("record -o f -o g", "--output is given 2 times");
    row("--device sim --device cpu", "--device is given 2 times");
    row("doctor --json a --json b", "--json is given 2 times");
    row("record -o f --steps", "--steps has no value; give N: Steps to train");
    row("record -o f --force=maybe", "--force takes no value");
    row("record -o f --stps 5", "did you mean --steps?");
    row("--batch 4 record -o f", "--batch stands before record");
    row("record -o f --scenario ''", "--scenario is \"\"; give NAME: A training program with");
    row("record -o f --scenario ''", "chatty-logging, clean");
    row("doctor --workload --scenario ''", "chatty-logging, clean");
    row("record -o f --data ''", "--data is \"\"");
    row("record -o ''", "--output is \"\"");
    row("report ''", "FILE is \"\"");
    row("''", "FILE is \"\"");
    row("record -o f --level '_'", "--level is \" \"; give off, monitor or ops");
    row("record -o f --seq 0", "--seq is \"0\"");
    row("record -o f --steps 0", "--steps is \"0\"");
    row("record -o f --steps -5", "--steps is \"-5\"");
    row("record -o f --loss-every 0", "--loss-every");
    row("record -o f --sampling-hz 1001", "--sampling-hz");
    row("record -o f --seed -1", "--seed");
    row("record -o f --device gpu", "gpu");
    row("record -o f --preset huge", "huge");
    row("record -o f --set 20", "--set is \"20\"; give STEP:KNOB=VALUE");
    row("record -o f --set 20:batch", "--set");
    row("record -o f --set 20:batch=", "batch of --set 20:batch=");
    row("record -o f --set 20:batch=0", "batch of --set");
    row("record -o f --set 0:batch=2", "the step of --set 0:batch=2");
    row("record -o f --set x:batch=2", "the step of --set x:batch=2");
    row("record -o f --set 20:width=2",
        "\"width\"; a run has the knobs batch, seq, loss-every, lr");
    row("record -o f --steps 10 --set 20:batch=2", "the run ends with step 10");
    row("record -o f --set 5:batch=2,", "--set is \"5:batch=2,\"; give a KNOB=VALUE after");
    row("doctor --selftest ,", "--selftest is \",\"; give names of checks");
    row("record -o f --set 5:batch=2 --set 5:batch=4", "again");
    row("record -o f --set 5:batch=2,batch=4", "twice");
    row("report", "FILE");
    row("report a b", "b");
    row("report a --html -", "give its name in place of -");
    row("report a --html ''", "--html");
    row("report a --html", "--html has no value");
    row("report a --html b.html --json", "--json");
    row("report a --html b.html --markdown", "--markdown");
    row("report a --force", "--html");
    row("export a.hw", "--to");
    row("export a.hw --to b.png --size 800", "--size is \"800\"");
    row("export a.hw --to b.png --size 0x600", "width of --size");
    row("export a.hw --to b.png --size 800x99999", "height of --size");
    row("export a.hw --to b.png --theme blue", "blue");
    for (const char* wrong : {"soon", "-1", "1:2:3:4", "0:61", "1:30s", "5min", "1e300"}) {
      const std::string text(wrong);
      row(("export a.hw --to b.png --from " + text).c_str(),
          ("--from is \"" + text + "\"; give a time since the start").c_str());
    }
    row("export a.hw --to b.png --from 0:50 --until 0:41", "--until 0:41 is not after --from 0:50");
    row("export a.hw --to b.png --until 0", "--until 0 is not after the start of the run");
    row("export a.hw --to 0:52", "the end of the range as --until");
    row("export a.hw --to b.png --steps 20-10", "--steps is \"20-10\"; give the first and the");
    row("export a.hw --to b.png --steps 0-3", "--steps is \"0-3\"");
    row("export a.hw --to b.png --steps 1-2-3", "--steps is \"1-2-3\"");
    row("export a.hw --to b.png --steps 1-2 --from 3", "--from");
    row("report --bogus", "unknown option --bogus");
    row("run --bogus -- python train.py", "unknown option --bogus; 'highwater run --help'");
    row("export --stpes 3", "unknown option --stpes; did you mean --steps?");
    row("reprot a.hw", "neither a recording nor a command \"reprot\"; did you mean report?");
    row("reprot a.hw --json", "neither a recording nor a command \"reprot\"; did you mean report?");
    row("doctr --selftest", "neither a recording nor a command \"doctr\"; did you mean doctor?");
    row("run python x.py --device cuda", "put -- before the program: highwater run -- python");
    row("run python x.py --level 3", "put -- before the program: highwater run -- python");
    row("run python x.py --lrs [1,2]", "\"[1,2]\" needs -- before the program");
    row("run --", "give it after --, as in highwater run -- python3 train.py");
    row("run", "give it after --, as in highwater run -- python3 train.py");
    row("benchmark --device cpu", "give --device mps, sim or auto");
    for (const char* matmul : {"512x768", "512x768x0", "1x2x3x4"}) {
      row((std::string("benchmark --matmul ") + matmul).c_str(), "MxKxN");
    }
    row("benchmark --dtype float64", "does not exist on MPS");
    row("benchmark --dtype float32,int8", "float32, bfloat16 or float16");
    row("benchmark --mps-precision half", "float32, bfloat16 or float16");
    row("benchmark --only speed", "matmul, step or drift");
    row("benchmark --only step --matmul 8x8x8", "leaves out");
    row("benchmark --rounds 0", "--rounds");
    row("benchmark --steps many", "--steps");
    row("doctor --workload --device cpu", "give --device mps, sim or auto");
    row("doctor --workload --scenario nope", "clean, hidden-fallback");
    row("doctor --scenario clean", "--workload");
    row("doctor --workload --selftest", "--workload");
    row("doctor --report a.tgz --json", "--report");
    row("doctor --report --selftest", "--report");
    row("doctor --selftest --device cpu", "give --device mps, sim or auto");
    row("sweep --min-batch 9 --max-batch 4", "leave no batch size");
    row("sweep --lengths 64,none", "a length of --lengths");
    row("sweep --reserve 100", "--reserve is \"100\"");
    row("sweep --batch 64 --max-batch 8", "--batch 64, the first to measure");
    row("record --on-abort retry", "--on-abort");
    row("record --checkpoint-every -1", "--checkpoint-every");
    row("sweep --max-batch banana", "--max-batch");
    row("sweep --", "no program follows --");
    row("sweep --reserve 5 --", "no program follows --");
    row("run --try 19 -- python x.py", "a file and a line, as in train.py:41");
    row("run --try train.py:x -- python x.py", "a file and a line, as in train.py:41");
    row("run --try every= -- python x.py", "a knob and its value, as in accumulation=4");
    row("record --try train.py:41", "a knob and its value, as in accumulate=4");
    row("sweep --batch 8 -- python x.py", "--batch is of the built-in workload");
    row("sweep --device cpu -- python x.py", "auto (as without Highwater) or sim");
    row("sweep --sim-recommended-max 1GiB -- python x.py", "need --device sim");
    row("sweep --lengths 8,16 -- python x.py", "--lengths needs --length-knob NAME");
    row("sweep --batch-knob size", "give the program after --");
    row("sweep python x.py --lr 3", "put -- before the program: highwater sweep -- python");
    row("run python x.py --lr 3", "put -- before the program: highwater run -- python");
  }
  void refusesWrongUsage() {
    QFETCH(QString, line);
    QFETCH(QString, names);
    const auto result = parse(line);
    const auto* early = std::get_if<EarlyExit>(&result);
    QVERIFY(early);
    QCOMPARE(early->exitCode, int(kExitUsage));
    QVERIFY2(QString::fromStdString(early->text).contains(names), early->text.c_str());
  }

  /// CLI11 takes words in brackets for lists, and refuses empty ones.
  void passesTheProgramOnWordForWord() {
    const auto run = parsed<ScriptCommandOptions>(
        "run --record f.hw -- python t.py --lrs [0.1,0.2] --layers [] --resume '' -- [[1],[2]] "
        "--force");
    QCOMPARE(run.script.command, (QStringList{"python", "t.py", "--lrs", "[0.1,0.2]", "--layers",
                                              "[]", "--resume", "", "--", "[[1],[2]]", "--force"}));
    QVERIFY(!run.force);
  }

  void answersQuestions() {
    for (const char* line : {"--help", "run --help", "record --help", "report --help",
                             "export --help", "accept --help", "doctor --help", "compare --help"}) {
      const auto result = parse(line);
      const auto* early = std::get_if<EarlyExit>(&result);
      QVERIFY2(early && early->exitCode == kExitDone, line);
      const QString text = QString::fromStdString(early->text);
      QVERIFY(text.contains("Usage: highwater"));
      // A screen of a terminal.
      QVERIFY2(text.count(u'\n') <= 24, qPrintable(text));
      for (const QString& each : text.split(u'\n')) QVERIFY2(each.size() <= 80, qPrintable(each));
      QVERIFY(!text.contains("--sim-"));
    }
    for (const char* line : {"--help-all", "run --help-all", "record --help-all"}) {
      const QString text = QString::fromStdString(std::get<EarlyExit>(parse(line)).text);
      QVERIFY2(text.contains("--sim-slowdown FACTOR") && text.contains("--high-watermark RATIO"),
               qPrintable(text));
      const bool ofCommand = QByteArray(line).startsWith('r');
      QVERIFY2(text.contains(ofCommand ? "--device NAME" : "Commands ("), qPrintable(text));
      for (const QString& each : text.split(u'\n')) QVERIFY2(each.size() <= 80, qPrintable(each));
    }
    const auto version = parse("--version");
    QVERIFY(QString::fromStdString(std::get<EarlyExit>(version).text).startsWith("highwater 0."));
  }
};

HIGHWATER_TEST(TestOptions, QCoreApplication)
#include "tst_options.moc"
