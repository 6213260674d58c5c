#include <sqlite3.h>
#include <zstd.h>

#include "frames.h"
#include "support/test_program.h"

using namespace highwater;
using namespace highwater::test;
namespace fs = std::filesystem;

namespace {

QByteArray packed(const QByteArray& raw) {
  QByteArray bytes(static_cast<int>(ZSTD_compressBound(static_cast<std::size_t>(raw.size()))),
                   '\0');
  bytes.truncate(
      static_cast<int>(ZSTD_compress(bytes.data(), static_cast<std::size_t>(bytes.size()),
                                     raw.constData(), static_cast<std::size_t>(raw.size()), 1)));
  return bytes;
}

/// SQL that replaces the first batch.
QByteArray replaceBatch(const QByteArray& data, qint64 rawBytes) {
  return "UPDATE batches SET raw_bytes = " + QByteArray::number(rawBytes) + ", data = x'" +
         data.toHex() + "' WHERE id = 1";
}

}  // namespace

/// For any bytes, the reader returns an error or frames that were once written.
class TestRecordingHostile : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    frames_ = sampleFrames();
    known_.insert(frames_.begin(), frames_.end());
    const fs::path path = pathIn(folder_.path(), "good.highwater");
    auto writer = store::RecordingWriter::create(path);
    QVERIFY(writer.ok());
    feedFrames(frames_, **writer);
    QVERIFY((*writer)->close().ok());
    bytes_ = bytesOf(path);
    QVERIFY(bytes_.size() > 16 * 1024);
  }

  void whatIsNoRecording_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("word");
    QTest::newRow("empty") << QByteArray("") << "is empty";
    QTest::newRow("text") << QByteArray("text,label\n").repeated(100) << "of another kind";
    QTest::newRow("short") << QByteArray("SQLite format 3") << "is truncated";
    std::mt19937 random(1);
    QByteArray noise(20'000, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    QTest::newRow("noise") << noise << "of another kind";
  }

  void whatIsNoRecording() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, word);
    const auto reader = store::RecordingReader::open(copy(bytes));
    QVERIFY(!reader.ok());
    QVERIFY(reader.error().code == ErrorCode::kMalformed);
    QVERIFY2(reader.error().message.find(word.toStdString()) != std::string::npos,
             reader.error().message.c_str());

    const auto folder = store::RecordingReader::open(folder_.path().toStdString());
    QVERIFY(!folder.ok() && folder.error().code == ErrorCode::kMalformed);
    const auto absent = store::RecordingReader::open(pathIn(folder_.path(), "absent"));
    QVERIFY(!absent.ok() && absent.error().code == ErrorCode::kNotFound);
    const fs::path other = copy("");
    QVERIFY(execute(other, "CREATE TABLE batches (x)"));
    const auto foreign = store::RecordingReader::open(other);
    QVERIFY(!foreign.ok() && foreign.error().code == ErrorCode::kMalformed);
    QVERIFY(foreign.error().message.find("another program") != std::string::npos);
  }

  void newerFormat() {
    const fs::path path = copy(bytes_);
    QVERIFY(execute(path, "PRAGMA user_version = 999"));
    const auto reader = store::RecordingReader::open(path);
    QVERIFY(!reader.ok());
    QVERIFY(reader.error().code == ErrorCode::kVersionMismatch);
  }

  void cutShort_data() {
    QTest::addColumn<int>("sixteenths");
    for (int i = 0; i < 16; ++i) QTest::addRow("%d/16", i) << i;
  }

  void cutShort() {
    QFETCH(int, sixteenths);
    const fs::path path = copy(bytes_.left(static_cast<int>(bytes_.size() * sixteenths / 16)));
    QCOMPARE(checkOutcome(path), QString());
    QVERIFY(!readFrames(path).result.ok() || sixteenths > 8);
  }

  void flippedBits() {
    std::mt19937 random(2);
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
      QByteArray bytes = bytes_;
      for (int flips = 1 + round % 3; flips > 0; --flips) {
        const auto place = static_cast<int>(random() % static_cast<unsigned>(bytes.size()));
        bytes[place] = static_cast<char>(bytes[place] ^ (1 << (random() % 8)));
      }
      const fs::path path = copy(bytes);
      QCOMPARE(checkOutcome(path), QString());
      if (!readFrames(path).result) ++refused;
    }
    QVERIFY(refused > 0);  // the checksums do see it
  }

  void randomBytesAfterTheHeader() {
    std::mt19937 random(3);
    for (int round = 0; round < 50; ++round) {
      QByteArray bytes = bytes_;
      const int from = 100 + static_cast<int>(random() % 8000);
      const int to = std::min<int>(from + 1 + static_cast<int>(random() % 6000),
                                   static_cast<int>(bytes.size()));
      for (int i = from; i < to; ++i) bytes[i] = static_cast<char>(random());
      QCOMPARE(checkOutcome(copy(bytes)), QString());
    }
  }

  void falseClaims_data() {
    QTest::addColumn<QByteArray>("sql");
    const QByteArray frame(reinterpret_cast<const char*>(frames_[0].data()),
                           static_cast<int>(frames_[0].size()));
    QTest::newRow("more than there is") << replaceBatch(packed(frame), frame.size() + 1);
    QTest::newRow("less than there is") << replaceBatch(packed(frame), frame.size() - 1);
    QTest::newRow("negative") << replaceBatch(packed(frame), -1);
    QTest::newRow("a petabyte") << replaceBatch(packed(frame), qint64(1) << 50);
    const QByteArray zeros((64 << 20) + 1, '\0');
    QTest::newRow("a bomb") << replaceBatch(packed(zeros), zeros.size());
    // A zstd header that claims 2^60 bytes: magic, descriptor with an 8-byte size, window, size.
    QTest::newRow("a lie in zstd")
        << replaceBatch(QByteArray::fromHex("28b52ffdc0500000000000000010000000"), qint64(1) << 60);
    QTest::newRow("not zstd") << replaceBatch("nonsense", 8);
    QTest::newRow("nothing") << replaceBatch("", 0);
    QTest::newRow("text for numbers")
        << QByteArray("UPDATE batches SET raw_bytes = 'many', frames = 'some' WHERE id = 1");
    QTest::newRow("a wrong count") << QByteArray("UPDATE batches SET frames = frames + 1");
    const auto withPrefix = [&](const char* hex) {
      return QByteArray::fromHex(hex) + frame.mid(4);
    };
    QTest::newRow("a frame of 4 GiB") << replaceBatch(packed(withPrefix("ffffffff")), frame.size());
    QTest::newRow("a frame of 5 MiB") << replaceBatch(packed(withPrefix("00005000")), frame.size());
    QTest::newRow("a frame of 4 bytes")
        << replaceBatch(packed(withPrefix("00000000")), frame.size());
    QTest::newRow("half a frame") << replaceBatch(packed(frame.left(40)), 40);
  }

  void falseClaims() {
    QFETCH(QByteArray, sql);
    const fs::path path = copy(bytes_);
    QVERIFY(execute(path, sql));
    const ReadBack back = readFrames(path);
    QVERIFY(!back.result.ok());
    QVERIFY2(back.result.error().code == ErrorCode::kMalformed,
             back.result.error().message.c_str());
    QCOMPARE(checkOutcome(path), QString());
  }

  void foreignSchema_data() {
    QTest::addColumn<QByteArray>("sql");
    QTest::newRow("no table") << QByteArray("DROP TABLE batches");
    QTest::newRow("a view") << QByteArray(
        "ALTER TABLE batches RENAME TO hidden; CREATE VIEW batches AS SELECT * FROM hidden");
    QTest::newRow("a computed column") << QByteArray(
        "DROP TABLE batches; CREATE TABLE batches (id INTEGER PRIMARY KEY, frames, raw_bytes,"
        " data BLOB AS (zeroblob(1000000000)))");
    QTest::newRow("another order of columns")
        << QByteArray("DROP TABLE batches; CREATE TABLE batches (id, frames, raw_bytes, data)");
  }

  void foreignSchema() {
    QFETCH(QByteArray, sql);
    const fs::path path = copy(bytes_);
    QVERIFY(execute(path, sql));
    const auto reader = store::RecordingReader::open(path);
    QVERIFY(!reader.ok());
    QVERIFY(reader.error().code == ErrorCode::kMalformed);
  }

  void garbageForAWal() {
    const fs::path path = copy(bytes_);
    QVERIFY(writeBytes(path.string() + "-wal", QByteArray("garbage").repeated(5000)));
    QCOMPARE(checkOutcome(path), QString());
  }

  void errorsOfTheVisitorComeBack() {
    auto reader = store::RecordingReader::open(copy(bytes_));
    QVERIFY(reader.ok());
    int calls = 0;
    const auto done = reader->forEachFrame([&](std::span<const std::uint8_t>) -> Result<void> {
      if (++calls == 3) return Error{ErrorCode::kEnded, "enough"};
      return {};
    });
    QVERIFY(!done.ok());
    QCOMPARE(done.error().message, "enough");
    QCOMPARE(calls, 3);
  }

 private:
  /// Empty if the outcome is fine, else what is wrong.
  QString checkOutcome(const fs::path& path) const {
    const ReadBack back = readFrames(path);
    for (const wire::FrameBytes& frame : back.frames) {
      if (!known_.contains(frame)) return "a frame that nobody wrote";
    }
    if (!back.result && back.result.error().message.find("copy.highwater") == std::string::npos) {
      return "an error that does not name the file: " +
             QString::fromStdString(back.result.error().message);
    }
    return {};
  }

  fs::path copy(const QByteArray& bytes) const {
    const fs::path path = pathIn(folder_.path(), "copy.highwater");
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(path.string() + suffix);
    return writeBytes(path, bytes) ? path : fs::path();
  }

  QTemporaryDir folder_;
  std::vector<wire::FrameBytes> frames_;
  std::set<wire::FrameBytes> known_;
  QByteArray bytes_;
};

HIGHWATER_TEST(TestRecordingHostile, QCoreApplication)
#include "tst_recording_hostile.moc"
