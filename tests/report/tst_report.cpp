#include <QRegularExpression>

#include "core/exit_codes.h"
#include "report/report_json.h"
#include "report/report_text.h"
#include "support/recording_file.h"
#include "support/run_program.h"
#include "support/test_program.h"

using namespace highwater;
using highwater::test::runHighwater;

class TestReport : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  static QJsonObject json(const QStringList& arguments) {
    const auto outcome = runHighwater(arguments);
    if (outcome.exitCode != kExitDone) return {};
    return QJsonDocument::fromJson(outcome.out.toUtf8()).object();
  }

 private slots:
  void tellsProgramsWhatTheyNeed() {
    const QString path = test::recordIn(folder_, "a.highwater", test::makeSampleRun());
    const QJsonObject report = json({"report", path, "--json"});
    QCOMPARE(report["schema"].toInt(), 3);
    QCOMPARE(report["device"].toString(), QString("mps"));
    QCOMPARE(report["simulated"].toBool(), true);
    QCOMPARE(report["steps"].toInt(), 60);
    QVERIFY(report["step_ms"]["p50"].toDouble() > 0);
    QVERIFY(report["step_ms"]["p95"].toDouble() >= report["step_ms"]["p50"].toDouble());
    QVERIFY(report["tokens_per_s"].toDouble() > 0);
    QVERIFY(report["rate_includes_last_wait"].isBool() && report["rate_is_queued"].isBool());
    QVERIFY(report["loss"]["first"].toDouble() > report["loss"]["last"].toDouble());
    QVERIFY(report["held_out_accuracy"].toDouble() > 0.5);
    const QJsonObject memory = report["memory"].toObject();
    QVERIFY(memory["current_peak"].toInteger() > (100 << 20));
    QVERIFY(memory["driver_peak"].toInteger() >= memory["current_peak"].toInteger());
    QCOMPARE(memory["recommended"].toInteger(), qint64{8} << 30);
    QCOMPARE(memory["current_peak_kind"].toString(), QString("exact"));
    QCOMPARE(memory["driver_peak_kind"].toString(), QString("sampled"));
    QCOMPARE(report["dropped"].toInt(-1), 0);
    QCOMPARE(report["end"]["reason"].toString(), QString("finished"));
    QCOMPARE(report["versions"]["torch"].toString(), QString("2.13.0"));
  }

  /// To paste into an issue: the findings as a list, the numbers as a table, and the whole text.
  void writesMarkdown() {
    const QString path = test::recordIn(folder_, "a_b.highwater", test::makeSampleRun());
    const auto outcome = runHighwater({"report", path, "--markdown"});
    QCOMPARE(outcome.exitCode, int{kExitDone});
    const QString& out = outcome.out;
    QVERIFY2(out.startsWith("### a\\_b.highwater (simulated mps)\n\n"), qPrintable(out));
    const QJsonObject report = json({"report", path, "--json"});
    const QJsonArray findings = report["findings"].toArray();
    QVERIFY(!findings.isEmpty());
    QCOMPARE(out.count(QRegularExpression("^\\d+\\. \\*\\*", QRegularExpression::MultilineOption)),
             findings.size());
    QVERIFY2(out.contains("| Number | Value |\n| --- | ---: |\n| Steps | 60 |\n"), qPrintable(out));
    QVERIFY2(
        out.contains("<details><summary>highwater report</summary>\n\n```text\na_b.highwater\n"),
        qPrintable(out));
    QVERIFY2(out.endsWith("```\n\n</details>\n"), qPrintable(out.right(80)));
    QCOMPARE(out.count("```"), 2);
    QCOMPARE(runHighwater({"report", path, "--markdown", "--json"}).exitCode, int{kExitUsage});
  }

  void tellsWhereTheTimeWent() {
    const QString path = test::recordIn(folder_, "time.highwater", test::makeSampleRun());
    const QJsonObject time = json({"report", path, "--json"})["time"].toObject();
    for (const char* list : {"regions", "rows"}) {
      double sum = 0;
      for (const QJsonValue& each : time[list].toArray()) sum += each["total_ms"].toDouble();
      QVERIFY2(std::abs(sum - time["range_ms"].toDouble()) < 1e-3, list);
    }
    QCOMPARE(time["regions"][0]["region"].toString(), QString("start_up"));
    const QString out = runHighwater({"report", path, "--full"}).out;
    QVERIFY2(out.contains(QRegularExpression("Time +\\S+ m?s: steps \\d+ %")), qPrintable(out));
    QVERIFY2(out.contains("Where the time went"), qPrintable(out));
  }

  void namesPhasesSyncPointsFallbacksAndMarkers() {
    const QJsonObject report =
        json({"report", test::recordIn(folder_, "b.highwater", test::makeSampleRun()), "--json"});
    const QStringList phases = report["phases"].toObject().keys();
    QCOMPARE(phases, (QStringList{"backward", "batch_assembly", "device_move", "forward",
                                  "loss_read", "optimizer_step"}));
    for (const QString& phase : phases) QVERIFY(report["phases"][phase].toDouble() > 0);

    int scalarReads = 0;
    for (const QJsonValue& sync : report["sync_points"].toArray()) {
      QVERIFY(sync["total_ms"].toDouble() > 0);
      QVERIFY(sync["bytes"].isDouble());
      if (sync["op"] == "aten::_local_scalar_dense") scalarReads += sync["count"].toInt();
    }
    QCOMPARE(scalarReads, 12);
    const QJsonArray fallbacks = report["fallbacks"].toArray();
    QCOMPARE(fallbacks.size(), 1);
    QCOMPARE(fallbacks[0]["op"].toString(), QString("aten::embedding_renorm_"));
    QCOMPARE(fallbacks[0]["count"].toInt(), 15);
    const QJsonObject marker = report["markers"].toArray()[0].toObject();
    QCOMPARE(marker["step"].toInt(), 30);
    QCOMPARE(marker["kind"].toString(), QString("batch_size"));
    QVERIFY(marker["text"].toString().contains("32"));
  }

  void beginsWithTheFindings() {
    const QString path = test::recordIn(folder_, "findings.highwater", test::makeSampleRun());
    const QJsonObject report = json({"report", path, "--json"});
    QCOMPARE(report["judged_steps"].toInt(), 59);
    QVERIFY(report["accepted_fallbacks"].toArray().isEmpty());
    const QJsonArray findings = report["findings"].toArray();
    QVERIFY(!findings.isEmpty());
    double before = 1;
    bool namesTheFallback = false;
    for (const QJsonValue& each : findings) {
      const double rank = each["weight"].toDouble() / (each["vague"].toBool() ? 5 : 1);
      QVERIFY(rank <= before);
      before = rank;
      const bool isFallback = each["kind"] == "fallback";
      namesTheFallback |= isFallback && each["ops"][0] == "aten::embedding_renorm_";
      QCOMPARE(each["cost_ms_per_step"].isDouble(), each["cost_bytes_per_step"].isNull());
      QCOMPARE(each["waits_ms"], each["cost_ms_per_step"]);
      if (!each["waits_ms"].isDouble()) continue;
      const QJsonObject gain = each["gain_ms"].toObject();
      QVERIFY(gain["low"].toDouble(-1) >= 0);
      QVERIFY(gain["low"].toDouble() <= gain["estimate"].toDouble());
      QVERIFY(gain["estimate"].toDouble() <= gain["high"].toDouble());
      QVERIFY(!each["title"].toString().contains("gains"));
      QVERIFY(each["gain"].toString().contains("a step") || each["gain"] == "nothing");
      QVERIFY(gain["estimate"].toDouble() <= each["waits_ms"].toDouble());
    }
    QVERIFY(report["step_noise_ms"].toDouble() > 0);
    QVERIFY(report["gain_of_all_ms"]["high"].toDouble() > 0);
    QVERIFY(namesTheFallback);
    const QString text = test::reportText(path);
    // Hardly a step of this run waits for the device, and the last one for a moment only.
    QCOMPARE(report["verdict"]["bottleneck"].toString(), QString("host"));
    QVERIFY(text.contains("The host is the bottleneck: it waits for the device for"));
    QVERIFY(text.contains("Fallback: aten::embedding_renorm_ runs on the CPU"));
    QVERIFY(text.indexOf("Findings") < text.indexOf("Device"));

    const auto accept =
        runHighwater({"accept", path, "--fallback", "embedding_renorm_", "--reason", "rare"});
    QVERIFY2(accept.exitCode == kExitDone, qPrintable(accept.err));
    const QJsonObject after = json({"report", path, "--json"});
    QCOMPARE(after["findings"].toArray().size(), findings.size() - 1);
    QCOMPARE(after["accepted_fallbacks"][0]["reason"].toString(), QString("rare"));
    QVERIFY(test::reportText(path).contains("Accepted: aten::embedding_renorm_"));
  }

  void isNullWhereNothingIsKnown() {
    test::SampleRunOptions options;
    options.steps = 3;
    options.lossEvery = 0;
    options.evaluateEvery = 0;
    options.ended = false;
    const QString path = test::recordIn(folder_, "c.highwater", test::makeSampleRun(options));
    const auto outcome = runHighwater({"report", path, "--json"});
    QVERIFY(!outcome.out.contains("nan", Qt::CaseInsensitive));
    const QJsonObject report = QJsonDocument::fromJson(outcome.out.toUtf8()).object();
    QVERIFY(report["loss"]["first"].isNull());
    QVERIFY(report["held_out_accuracy"].isNull());
    QVERIFY(report["end"].isNull());
    QVERIFY(report.contains("gpu_percent") && report["gpu_percent"].isNull());
  }

  void tellsHowEachStepUsedTheQueue() {
    const QString path = test::recordIn(folder_, "queue.highwater", test::makeSampleRun());
    const QJsonObject queue = json({"report", path, "--json"})["queue"].toObject();
    const QJsonArray steps = queue["steps"].toArray();
    QCOMPARE(steps.size(), 60);
    double syncMs = 0;
    for (const QJsonValue& step : steps) {
      QVERIFY(step["enqueue_ms"].toDouble() > 0);
      syncMs += step["wait_ms"].toDouble();
      QCOMPARE(step["device_span_ms"].isNull(), step["step"].toInt() == 60);
    }
    QVERIFY(syncMs > 0);
    for (const char* key : {"enqueue_ms", "device_span_ms", "wait_ms"}) {
      const QJsonObject values = queue[QLatin1String(key)].toObject();
      QVERIFY2(values["p95"].toDouble() >= values["p50"].toDouble(), key);
    }
    QVERIFY(queue["device_span_ms"]["p50"].toDouble() > 0);
    QVERIFY(test::reportText(path).contains("device span"));
  }

  void tellsThePressureThatWasSeen() {
    auto run = test::makeSampleRun();
    const auto pressing = [](test::OwnedBatch& batch) {
      for (events::SystemSample& sample : batch.systemSamples) {
        sample.mutate_pressure(events::Pressure::Warning);
        sample.mutate_swap_used_bytes(3 << 20);
      }
    };
    pressing(std::get<test::OwnedBatch>(run[5]));
    const QString path = test::recordIn(folder_, "pressure.highwater", run);
    const QJsonObject system = json({"report", path, "--json"})["system"].toObject();
    QCOMPARE(system["pressure_highest"].toString(), QString("warning"));
    QVERIFY(system["pressure_samples"]["warning"].toInt() > 0);
    QVERIFY(system["pressure_samples"]["normal"].toInt() > 0);
    QCOMPARE(system["swap_used_peak"].toInteger(), qint64{3} << 20);
    QVERIFY(system["footprint_peak"].toInteger() > (400 << 20));
    const QString text = test::reportText(path);
    QVERIFY2(text.contains("pressure warning") && text.contains("swap up to 3.0 MiB"),
             qPrintable(text));
  }

  void tellsWhatSlowedTheMachineDown() {
    auto run = test::makeSampleRun();
    std::int64_t swapped = 0;
    for (auto& message : run) {
      auto* batch = std::get_if<test::OwnedBatch>(&message);
      if (!batch) continue;
      for (const events::SystemSample& sample : batch->systemSamples) {
        swapped += 1 << 20;
        batch->machineSamples.emplace_back(sample.time_ns(), std::int64_t{3} << 20,
                                           std::int64_t{-1}, swapped, std::int64_t{-1},
                                           events::ThermalState::Serious, events::PowerMode::Low);
      }
    }
    const QString path = test::recordIn(folder_, "hot.highwater", run);
    const QJsonObject system = json({"report", path, "--json"})["system"].toObject();
    QCOMPARE(system["thermal"]["highest"].toString(), QString("serious"));
    QVERIFY(system["thermal"]["time_ms"]["serious"].toDouble() > 1000);
    QCOMPARE(system["thermal"]["time_ms"]["nominal"].toDouble(), 0.0);
    QCOMPARE(system["low_power_share"].toDouble(), 1.0);
    QCOMPARE(system["compressor_peak"].toInteger(), qint64{3} << 20);
    QCOMPARE(system["swapped_out"].toInteger(), qint64(swapped - (1 << 20)));
    QVERIFY(system["swapped_in"].isNull() && system["swap_peak_per_s"].isNull());
    QVERIFY(system.contains("gpu_memory_peak") && system["gpu_memory_peak"].isNull());
    const QString text = test::reportText(path);
    QVERIFY2(text.contains("thermal state up to serious (100 % of the time), Low Power Mode"),
             qPrintable(text));
    QVERIFY2(text.contains("swapped out"), qPrintable(text));
    // What was swapped in, and so the rate, is unknown here.
    QVERIFY2(!text.contains("swapped out and") && !text.contains("B/s"), qPrintable(text));
    // Recordings of earlier versions have no such samples.
    const QString old = test::recordIn(folder_, "old.highwater", test::makeSampleRun());
    const QJsonObject without = json({"report", old, "--json"})["system"].toObject();
    QVERIFY(without["thermal"].isNull() && without["low_power_share"].isNull());
    QVERIFY(!test::reportText(old).contains("thermal"));
  }

  void tellsTheGpusUtilizationWhereItIsKnown() {
    const auto run = test::makeSampleRun({.steps = 5, .gpuPercent = 62.5f});
    const QJsonObject report =
        json({"report", test::recordIn(folder_, "gpu.highwater", run), "--json"});
    QCOMPARE(report["gpu_percent"]["p50"].toDouble(), 62.5);
    QCOMPARE(report["gpu_percent"]["max"].toDouble(), 62.5);
  }

  void saysThatTheMemoryOfACpuIsNotMeasured() {
    auto run = test::makeSampleRun();
    for (auto& message : run) {
      if (auto* hello = std::get_if<Hello>(&message)) hello->limits.recommendedBytes = 0;
      auto* batch = std::get_if<test::OwnedBatch>(&message);
      if (!batch) continue;
      batch->memorySamples.clear();
      for (events::StepRecord& step : batch->steps) {
        step.mutate_peak_current_bytes(0);
        step.mutate_peak_driver_bytes(0);
        step.mutate_peak_current_exact(0);
      }
    }
    const QString path = test::recordIn(folder_, "cpu.highwater", run);
    const QString text = test::reportText(path);
    QVERIFY2(text.contains("not measured"), qPrintable(text));
    QVERIFY2(!text.contains(" 0 B"), qPrintable(text));
    const QJsonObject memory = json({"report", path, "--json"})["memory"].toObject();
    for (const char* key :
         {"current_peak", "current_peak_kind", "driver_peak", "driver_peak_kind"}) {
      QVERIFY2(memory.contains(QLatin1String(key)) && memory[QLatin1String(key)].isNull(), key);
    }
  }

  void countsDropsByKind() {
    auto run = test::makeSampleRun();
    auto& batch = std::get<test::OwnedBatch>(run[5]);
    batch.drops.emplace_back(batch.completeUpToNs, 41, events::EventKind::MemorySample);
    const QJsonObject report =
        json({"report", test::recordIn(folder_, "d.highwater", run), "--json"});
    QCOMPARE(report["dropped"].toInt(), 41);
    QCOMPARE(report["dropped_by_kind"]["memory_samples"].toInt(), 41);
  }

  void tellsPeopleTheSame() {
    const QString text =
        test::reportText(test::recordIn(folder_, "e.highwater", test::makeSampleRun()));
    for (const char* part :
         {"e.highwater", "simulated mps", "finished", "of recommended 8.00 GiB, simulated",
          "held-out accuracy", "optimizer step", "aten::nonzero", "aten::embedding_renorm_",
          "step 30", "PyTorch 2.13.0"}) {
      QVERIFY2(text.contains(QLatin1String(part)), part);
    }
  }

  void isWrappedToTheTerminal() {
    const QString path = test::recordIn(folder_, "wide.highwater", test::makeSampleRun());
    const auto longest = [&](const QStringList& options, const QStringList& environment) {
      qsizetype most = 0;
      const auto outcome = runHighwater(QStringList{"report", path} + options, environment);
      for (const QString& line : outcome.out.split(u'\n')) most = std::max(most, line.size());
      return most;
    };
    QVERIFY2(longest({"--full"}, {"COLUMNS="}) <= 80, "not a terminal: 80");
    QVERIFY(longest({"--full"}, {"COLUMNS=60"}) <= 60);
    QVERIFY(longest({}, {"COLUMNS=300"}) > 80);
    // The same words, however they are wrapped.
    QCOMPARE(runHighwater({"report", path}, {"COLUMNS=80"}).out.simplified().remove(','),
             runHighwater({"report", path}, {"COLUMNS=1000"}).out.simplified().remove(','));
  }

  void beginsWithWhatMatters() {
    const QString path = test::recordIn(folder_, "order.highwater", test::makeSampleRun());
    const QString text = runHighwater({"report", path}).out;
    qsizetype before = -1;
    for (const char* head : {"Findings", "\n  Steps ", "\n  Memory ", "\n  Loss ", "\n  Device ",
                             "\n  Data ", "\nSync points", "\nFallbacks", "\nMarkers"}) {
      const qsizetype at = text.indexOf(QLatin1String(head));
      QVERIFY2(at > before, head);
      before = at;
    }
    const QString full = runHighwater({"report", path, "--full"}).out;
    for (const char* head :
         {"\n  Growth ", "\n  Idle ", "\n  Switches ", "\n  Path ", "\nWhere the time went\n"}) {
      QVERIFY2(!text.contains(QLatin1String(head)), head);
      QVERIFY2(full.contains(QLatin1String(head)), head);
    }
    QVERIFY(text.contains("--full adds "));
    QVERIFY(!full.contains("--full"));
  }

  void showsNamesAsPlainText() {
    auto run = test::makeSampleRun();
    std::get<Definitions>(run[2]).names[2].text = "aten::\x1b[2Jwipe";
    const auto outcome = runHighwater({"report", test::recordIn(folder_, "f.highwater", run)});
    QCOMPARE(outcome.exitCode, int(kExitDone));
    QVERIFY(outcome.out.contains("wipe"));
    QVERIFY(!outcome.out.contains(u'\x1b'));
  }

  void refusesWhatIsNoRecording() {
    const QString path = folder_.filePath("g.highwater");
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("text,label\nhello,needs_docs\n");
    file.close();
    auto outcome = runHighwater({"report", path, "--json"});
    QCOMPARE(outcome.exitCode, int(kExitFailed));
    QCOMPARE(outcome.out, QString());
    QVERIFY2(outcome.err.contains("g.highwater"), qPrintable(outcome.err));
    outcome = runHighwater({"report", folder_.filePath("absent.highwater")});
    QCOMPARE(outcome.exitCode, int(kExitFailed));
    QVERIFY2(outcome.err.contains("absent.highwater"), qPrintable(outcome.err));
  }
};

HIGHWATER_TEST(TestReport, QCoreApplication)
#include "tst_report.moc"
