#include "simmps/policy/file_ledger.h"

#include <unistd.h>

#include "simmps/policy_device.h"
#include "support/file_size_limit.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::simmps;
using highwater::test::FileSizeLimit;
using simmps::test::inChild;

namespace {

using Lines = std::vector<QJsonObject>;

/// Every line of the file as an object; empty for a malformed line.
Lines linesOf(const QString& path) {
  QFile file(path);
  Lines lines;
  if (!file.open(QIODevice::ReadOnly)) return lines;
  const auto texts = file.readAll().split('\n');
  for (qsizetype i = 0; i < texts.size(); ++i) {
    if (i + 1 == texts.size() && texts[i].isEmpty()) break;
    lines.push_back(QJsonDocument::fromJson(texts[i]).object());
  }
  return lines;
}

QString text(const QJsonObject& line, const char* key) {
  return line.value(QLatin1String(key)).toString();
}
qint64 number(const QJsonObject& line, const char* key) {
  return line.value(QLatin1String(key)).toInteger(-1);
}

Settings withFile(const QString& path) {
  Settings settings;
  settings.ledgerFile = path.toStdString();
  return settings;
}

std::unique_ptr<FileLedger> opened(const QString& path) {
  auto outcome = FileLedger::open(withFile(path), {"highwater-simmps 1.2.3", "2.13.0"});
  auto* ledger = std::get_if<std::unique_ptr<FileLedger>>(&outcome);
  return ledger ? std::move(*ledger) : nullptr;
}

std::string problemWith(const QString& path) {
  const auto outcome = FileLedger::open(withFile(path), {"device", "torch"});
  const auto* problem = std::get_if<std::string>(&outcome);
  return problem ? *problem : std::string();
}

}  // namespace

class FileLedgerTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  QString path(const char* name) const { return folder_.filePath(QLatin1String(name)); }

 private slots:
  void headerNamesTheWriter() {
    Settings settings = withFile(path("header %p"));
    settings.limits.recommendedBytes = 5 * kGiB;
    settings.missingOps = {"aten::kthvalue", "aten::mode"};
    settings.slowdown = 2.5;
    const auto outcome = FileLedger::open(settings, {"highwater-simmps 1.2.3", "2.13.0"});
    QVERIFY(std::holds_alternative<std::unique_ptr<FileLedger>>(outcome));
    const Lines lines = linesOf(path("header ") + QString::number(getpid()));
    QCOMPARE(lines.size(), std::size_t(1));
    QCOMPARE(text(lines[0], "event"), "header");
    QCOMPARE(number(lines[0], "schema"), 1);
    QCOMPARE(text(lines[0], "device"), "highwater-simmps 1.2.3");
    QCOMPARE(text(lines[0], "libtorch"), "2.13.0");
    QCOMPARE(number(lines[0], "pid"), getpid());
    QCOMPARE(text(lines[0], "clock"), "monotonic_ns");
    const QJsonObject written = lines[0].value("settings").toObject();
    QCOMPARE(number(written, "recommended_max"), qint64(5 * kGiB));
    QCOMPARE(text(written, "missing_ops"), "aten::kthvalue,aten::mode");
    QCOMPARE(written.value("slowdown").toDouble(), 2.5);
  }

  void writesEachKindOfEntry() {
    const auto ledger = opened(path("kinds"));
    ledger->add(MemoryEntry{MemoryEntry::Kind::Allocate, 11, 4096, 256, 4, 512, 8 * kMiB});
    ledger->add(MemoryEntry{MemoryEntry::Kind::GraphCache, 12, 0, 100, 0, 512, 8 * kMiB + 100});
    ledger->add(KernelEntry{"aten::mm", 1, 2, 3});
    ledger->add(DrainEntry{DrainCause::ScalarRead, "odd \"op\"\n", 4, 5, 3, 6});
    ledger->add(FallbackEntry{"aten::kthvalue.values", 6, 7, 800, 900});
    ledger->addEvent({8, 9});
    ledger->addNotice({8, 10});
    ledger->addFault({FaultEntry::Kind::Hang, "aten::add", 77, 10});
    ledger->flush();
    const Lines lines = linesOf(path("kinds"));
    QCOMPARE(lines.size(), std::size_t(9));
    QCOMPARE(text(lines[1], "event"), "allocate");
    QCOMPARE(number(lines[1], "address"), 4096);
    QCOMPARE(number(lines[1], "requested_bytes"), 4);
    QCOMPARE(number(lines[1], "current_bytes"), 512);
    QCOMPARE(number(lines[1], "driver_bytes"), qint64(8 * kMiB));
    QCOMPARE(text(lines[2], "event"), "graph_cache");
    QVERIFY(!lines[2].contains("address"));
    QCOMPARE(number(lines[3], "start_ns"), 2);
    QCOMPARE(text(lines[4], "cause"), "scalar_read");
    QCOMPARE(text(lines[4], "op"), "odd \"op\"\n");
    QCOMPARE(number(lines[4], "begin_ns"), 4);
    QCOMPARE(number(lines[4], "end_ns"), 5);
    QCOMPARE(number(lines[4], "call_ns"), 3);
    QCOMPARE(number(lines[4], "return_ns"), 6);
    QCOMPARE(number(lines[5], "bytes_to_device"), 900);
    QCOMPARE(number(lines[6], "passed_ns"), 9);
    QCOMPARE(text(lines[7], "event"), "event_noticed");
    QCOMPARE(number(lines[7], "recorded_ns"), 8);
    QCOMPARE(number(lines[7], "noticed_ns"), 10);
    QCOMPARE(number(lines[8], "kernel"), 77);
  }

  void flushesBySizeAndByTime() {
    const auto ledger = opened(path("delays"));
    ledger->add(KernelEntry{"aten::mm", 1, 2, 3});
    QTRY_COMPARE(linesOf(path("delays")).size(), std::size_t(2));
    for (int i = 0; i < 2000; ++i) ledger->add(KernelEntry{"aten::mm", 1, 2, 3});
    // 2000 lines are more than the buffer holds.
    QTRY_VERIFY(linesOf(path("delays")).size() > 1000);
  }

  void writesAtOnceAfterExit() {
    const auto ledger = opened(path("exit"));
    ledger->add(DrainEntry{DrainCause::Exit, {}, 1, 2, 1, 2});
    ledger->add(MemoryEntry{});
    QCOMPARE(linesOf(path("exit")).size(), std::size_t(3));
  }

  void keepsLinesWholeUnderThreads() {
    constexpr int kEach = 5000;
    {
      const auto ledger = opened(path("threads"));
      std::vector<std::thread> writers;
      for (int i = 0; i < 4; ++i) {
        writers.emplace_back([&ledger, i] {
          for (std::uint64_t n = 0; n < kEach; ++n) {
            ledger->add(KernelEntry{"aten::mm", static_cast<std::uint64_t>(i), n, n});
          }
        });
      }
      for (auto& writer : writers) writer.join();
    }
    std::vector<qint64> next(4, 0);
    const Lines lines = linesOf(path("threads"));
    QCOMPARE(lines.size(), std::size_t(1 + 4 * kEach));
    for (std::size_t i = 1; i < lines.size(); ++i) {
      auto& expected = next.at(static_cast<std::size_t>(number(lines[i], "enqueued_ns")));
      QCOMPARE(number(lines[i], "start_ns"), expected++);
    }
  }

  void forkedChildAddsNothing() {
    {
      const auto ledger = opened(path("fork"));
      ledger->add(KernelEntry{"parent", 1, 2, 3});
      // Until the flusher has written it, it allocates: GCC 12's address sanitizer does not keep
      // its own locks over a fork, and one that another thread held hangs the child.
      QTRY_COMPARE(linesOf(path("fork")).size(), std::size_t(2));
      ledger->add(KernelEntry{"parent", 2, 3, 4});
      QCOMPARE(inChild([&] {
                 for (int i = 0; i < 2000; ++i) ledger->add(KernelEntry{"child", 1, 2, 3});
                 ledger->flush();
                 return 0;
               }),
               0);
    }
    const Lines lines = linesOf(path("fork"));
    QCOMPARE(lines.size(), std::size_t(3));
    QCOMPARE(text(lines[1], "op"), "parent");
    QCOMPARE(text(lines[2], "op"), "parent");
  }

  void reportsWhyAFileCannotBeOpened() {
    QCOMPARE(problemWith(path("no/such/folder")), std::string("No such file or directory"));
    QCOMPARE(problemWith(folder_.path()), std::string("Is a directory"));
    QCOMPARE(problemWith("/dev/full"), std::string("not a regular file"));
    const auto first = opened(path("busy"));
    first->add(KernelEntry{"kept", 1, 2, 3});
    first->flush();
    QCOMPARE(problemWith(path("busy")), std::string("another process writes to it"));
    QCOMPARE(linesOf(path("busy")).size(), std::size_t(2));
  }

  void overwritesLedgersOnly() {
    QFile notes(path("notes"));
    QVERIFY(notes.open(QIODevice::ReadWrite));
    QCOMPARE(notes.write("precious"), qint64(8));
    QVERIFY(notes.flush());
    QCOMPARE(problemWith(path("notes")), std::string("the file exists and is not a ledger"));
    QVERIFY(notes.seek(0));
    QCOMPARE(notes.readAll(), "precious");
    QVERIFY(QFile(path("empty")).open(QIODevice::WriteOnly));
    opened(path("empty"));  // closed again at once
    QVERIFY(opened(path("empty")));
  }

  void aFullFileEndsWithAMark() {
#ifdef __SANITIZE_THREAD__
    QSKIP("Thread sanitizer cannot follow the threads of a forked child.");
#endif
    const QString file = path("full");
    {
      const FileSizeLimit limited(100000);
      const auto ledger = opened(file);
      QVERIFY(ledger);
      for (int i = 0; i < 5000; ++i) ledger->add(KernelEntry{"aten::mm", 1, 2, 3});
      ledger->flush();
    }
    QVERIFY(QFileInfo(file).size() <= 100000);
    const Lines lines = linesOf(file);
    QVERIFY(lines.size() > 1000);
    for (const QJsonObject& line : lines) QVERIFY(!line.isEmpty());
    QCOMPARE(text(lines.back(), "event"), "incomplete");
    QCOMPARE(text(lines.back(), "reason"), "File too large");
  }
};

HIGHWATER_TEST(FileLedgerTest, QCoreApplication)
#include "tst_file_ledger.moc"
