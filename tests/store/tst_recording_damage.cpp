// Recordings whose tables are damaged, or that are cut short.
#include <sqlite3.h>

#include "core/units.h"
#include "frames.h"
#include "store/append.h"
#include "store/format.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
namespace fs = std::filesystem;

namespace {

/// The number of a table's root page.
int rootOf(const fs::path& path, const char* table) {
  sqlite3* db = nullptr;
  int root = 0;
  if (sqlite3_open(path.c_str(), &db) == SQLITE_OK) {
    const std::string sql =
        "SELECT rootpage FROM sqlite_schema WHERE name = '" + std::string(table) + "'";
    sqlite3_exec(
        db, sql.c_str(),
        [](void* out, int, char** values, char**) {
          *static_cast<int*>(out) = std::atoi(values[0]);
          return 0;
        },
        &root, nullptr);
  }
  sqlite3_close(db);
  return root;
}

}  // namespace

class TestRecordingDamage : public QObject {
  Q_OBJECT

 private:
  static QString sizeText(qsizetype bytes) {
    return QString::fromStdString(formatBytes(static_cast<std::uint64_t>(bytes)));
  }
  static Result<void> append(const fs::path& path) {
    return store::append(path, wire::encode(kAcceptance), kAcceptance);
  }
  QTemporaryDir folder_;
  QByteArray bytes_;

  fs::path copy(const QByteArray& bytes) const {
    const fs::path path = pathIn(folder_.path(), "copy.highwater");
    return writeBytes(path, bytes) ? path : fs::path();
  }
  /// All damage in one line, or the error of open().
  static QString damageOf(const fs::path& path) {
    const auto reader = store::RecordingReader::open(path);
    if (!reader) return QString::fromStdString(reader.error().message);
    QStringList lines;
    for (const std::string& each : reader->lostEnd()) lines << QString::fromStdString(each);
    const auto read = readFrames(path).result;
    if (!read) lines << QString::fromStdString(read.error().message);
    return lines.join("; ");
  }

 private slots:
  void initTestCase() {
    const fs::path path = pathIn(folder_.path(), "good.highwater");
    auto writer = store::RecordingWriter::create(path);
    QVERIFY(writer.ok());
    feedFrames(sampleFrames(), **writer);
    QVERIFY((*writer)->close().ok());
    bytes_ = bytesOf(path);
  }

  void findsNothingInASoundOne() {
    const fs::path path = copy(bytes_);
    QCOMPARE(damageOf(path), QString());
    QVERIFY(append(path).ok());
    QCOMPARE(damageOf(path), QString());
  }

  void namesWhatIsWrong_data() {
    QTest::addColumn<QByteArray>("sql");
    QTest::addColumn<QString>("says");
    QTest::newRow("no table") << QByteArray("DROP TABLE batches")
                              << "its table \"batches\" is missing";
    QTest::newRow("another column") << QByteArray("ALTER TABLE batches ADD COLUMN mood TEXT")
                                    << "its table \"batches\" is of another form";
    QTest::newRow("a damaged batch") << QByteArray("UPDATE batches SET data = x'00' WHERE id = 1")
                                     << "a batch is not of the size that its row says";
    QTest::newRow("no version") << QByteArray("PRAGMA user_version = 0")
                                << "its header says format 0, there is 1 to " +
                                       QString::number(store::kFormatVersion);
    QTest::newRow("a negative version")
        << QByteArray("PRAGMA user_version = -7") << "its header says format -7";
  }
  void namesWhatIsWrong() {
    QFETCH(QByteArray, sql);
    QFETCH(QString, says);
    const fs::path path = copy(bytes_);
    QVERIFY(execute(path, sql));
    QVERIFY2(damageOf(path).contains(says), qPrintable(damageOf(path)));
    const QByteArray before = bytesOf(path);
    const auto added = append(path);
    QVERIFY(!added.ok() && added.error().code == ErrorCode::kMalformed);
    QVERIFY(added.error().message.find("copy.highwater\" is damaged") != std::string::npos);
    QCOMPARE(bytesOf(path), before);
  }

  void seesOverwrittenPages() {
    fs::path path = copy(bytes_);
    const int root = rootOf(path, "batches");
    QVERIFY(root > 1);
    QByteArray bytes = bytes_;
    bytes.replace((root - 1) * 4096, 64, QByteArray(64, '\xa5'));
    path = copy(bytes);
    QVERIFY2(damageOf(path).contains("is malformed"), qPrintable(damageOf(path)));
    QVERIFY(!append(path).ok());
    QCOMPARE(bytesOf(path), bytes);
  }

  void seesWhatTheFramesLack() {
    const fs::path cut = copy(bytes_);
    QVERIFY(execute(cut, "UPDATE batches SET data = substr(data, 1, length(data) / 2)"));
    QVERIFY(readFrames(cut).result.error().message.find("zstd") != std::string::npos);
    const fs::path hole = copy(bytes_);
    QVERIFY(execute(hole,
                    "INSERT INTO batches (kinds, frames, raw_bytes, data) SELECT kinds,"
                    " frames, raw_bytes, data FROM batches; DELETE FROM batches WHERE id = 1"));
    const auto read = readFrames(hole).result;
    QVERIFY(!read.ok());
    QVERIFY2(read.error().message.find("batch 1 is missing") != std::string::npos,
             read.error().message.c_str());
  }

  void tellsWhatIsCutShort_data() {
    QTest::addColumn<int>("bytes");
    QTest::addColumn<QString>("says");
    QTest::newRow("0") << 0 << "is empty";
    QTest::newRow("10") << 10 << "is truncated: 10 bytes are too few to tell";
    QTest::newRow("71") << 71 << "is truncated: 71 bytes are too few to tell";
    for (const int bytes : {72, 100, 1000, 4096, 20'000, static_cast<int>(bytes_.size()) - 1}) {
      const QString is = sizeText(bytes), was = sizeText(bytes_.size());
      const QString sizes = is == was
                                ? QStringLiteral("%1 of %2 bytes").arg(bytes).arg(bytes_.size())
                                : is + " of " + was;
      QTest::addRow("%d", bytes) << bytes << "the file is truncated (" + sizes + ')';
    }
  }
  void tellsWhatIsCutShort() {
    QFETCH(int, bytes);
    QFETCH(QString, says);
    const QString damage = damageOf(copy(bytes_.left(bytes)));
    QVERIFY2(damage.contains(says), qPrintable(damage));
    QVERIFY2(!damage.contains("is not a Highwater recording"), qPrintable(damage));
  }

  void readsWhatIsLeftOfOneThatIsCutShort() {
    const fs::path path = pathIn(folder_.path(), "long.highwater");
    const auto frames = sampleFrames({.steps = 300});
    store::WriterOptions options;
    options.commitEvery = std::chrono::milliseconds(1);
    auto writer = store::RecordingWriter::create(path, options);
    QVERIFY(writer.ok());
    for (std::size_t first = 0; first < frames.size(); first += 20) {
      const std::uint64_t before = (*writer)->bytesWritten();
      const auto last = std::min(first + 20, frames.size());
      feedFrames({frames.begin() + static_cast<std::ptrdiff_t>(first),
                  frames.begin() + static_cast<std::ptrdiff_t>(last)},
                 **writer);
      QTRY_VERIFY((*writer)->bytesWritten() > before);  // a batch of its own
    }
    QVERIFY((*writer)->close().ok());
    const QByteArray whole = bytesOf(path);
    const ReadBack back = readFrames(copy(whole.left(whole.size() / 2)));
    QVERIFY(!back.result.ok());
    QVERIFY2(
        back.result.error().message.find(" before the damage can be read") != std::string::npos,
        back.result.error().message.c_str());
    QVERIFY(!back.frames.empty() && back.frames.size() < frames.size());
    QVERIFY(std::equal(back.frames.begin(), back.frames.end(), frames.begin()));
  }

  void tellsAnOverwrittenBeginningFromAForeignFile() {
    QByteArray bytes = bytes_;
    bytes.replace(0, 16, QByteArray(16, 'x'));
    QVERIFY(damageOf(copy(bytes)).contains("is damaged: its header is overwritten"));
    bytes = bytes_;
    bytes.replace(68, 4, QByteArray(4, 'x'));
    QVERIFY(damageOf(copy(bytes)).contains("is damaged: its header is overwritten"));
    bytes = bytes_;
    bytes.replace(0, 100, QByteArray(100, 'x'));
    QVERIFY(damageOf(copy(bytes)).contains("is damaged: its header is overwritten"));
    QVERIFY(damageOf(copy("SQLite")).contains("too few to tell"));
    QVERIFY(damageOf(copy("hello")).contains("is not a Highwater recording"));
  }
};

HIGHWATER_TEST(TestRecordingDamage, QCoreApplication)
#include "tst_recording_damage.moc"
