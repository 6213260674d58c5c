#include <unistd.h>

#include <QTemporaryFile>

#include "core/checkpoint_slots.h"
#include "support/test_program.h"

using namespace highwater;

namespace {

/// Two empty files.
struct Files {
  QTemporaryFile first, second;
  Files() {
    if (!first.open() || !second.open()) qFatal("no temporary file");
  }
  [[nodiscard]] CheckpointSlots both() const {
    return CheckpointSlots({first.handle(), second.handle()});
  }
};

std::string randomBytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, 0);
  for (char& each : bytes) each = static_cast<char>(random());
  return bytes;
}

/// Writes in parts of any size.
void write(const CheckpointSlots& files, std::uint32_t step, const std::string& payload,
           bool commits = true) {
  auto writer = CheckpointSlots::Writer::begin(files, step);
  QVERIFY(writer);
  std::mt19937 random(step);
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t part = std::min<std::size_t>(random() % 400'000 + 1, payload.size() - at);
    QVERIFY(writer->append(payload.data() + at, part));
    at += part;
  }
  if (commits) QVERIFY(writer->commit());
}

std::string readAll(CheckpointSlots::Reader& reader) {
  std::string payload(reader.left(), 0);
  return reader.read(payload.data(), payload.size()) ? payload : std::string("unreadable");
}

void flipByte(QTemporaryFile& file, off_t at) {
  char byte = 0;
  QCOMPARE(::pread(file.handle(), &byte, 1, at), ssize_t{1});
  byte = static_cast<char>(byte ^ 0x10);
  QCOMPARE(::pwrite(file.handle(), &byte, 1, at), ssize_t{1});
}

}  // namespace

class TestCheckpointSlots : public QObject {
  Q_OBJECT

 private slots:
  void hasNoneAtFirst() {
    const Files files;
    const auto head = files.both().newestHead();
    QVERIFY(!head && head.error().code == ErrorCode::kNotFound);
    const auto reader = CheckpointSlots::Reader::open(files.both());
    QVERIFY(!reader && reader.error().code == ErrorCode::kNotFound);
  }

  void givesBackTheNewest() {
    const Files files;
    // Larger and smaller than the one that it replaces, and around the size of a block.
    const std::size_t sizes[] = {10, 3'500'000, 1u << 20, 0, (1u << 21) + 5, 7};
    std::uint32_t step = 0;
    for (const std::size_t size : sizes) {
      step += 3;
      const std::string payload = randomBytes(size, step);
      write(files.both(), step, payload);
      auto reader = CheckpointSlots::Reader::open(files.both());
      QVERIFY(reader);
      QCOMPARE(reader->head().step, step);
      QCOMPARE(reader->head().payloadBytes, std::uint64_t(size));
      QVERIFY(readAll(*reader) == payload);
      QCOMPARE(files.both().newestHead()->generation, std::uint64_t(step / 3));
      char more = 0;
      QVERIFY(!reader->read(&more, 1));
    }
  }

  void survivesAWriterThatDies() {
    const Files files;
    const std::string payload = randomBytes(2'000'000, 1);
    write(files.both(), 10, payload);
    write(files.both(), 20, randomBytes(2'500'000, 2), false);
    auto reader = CheckpointSlots::Reader::open(files.both());
    QVERIFY(reader);
    QCOMPARE(reader->head().step, 10u);
    QVERIFY(readAll(*reader) == payload);
    // The next one takes the place of the torn one.
    write(files.both(), 30, "new");
    QCOMPARE(files.both().newestHead()->step, 30u);
    write(files.both(), 40, "torn", false);
    QCOMPARE(files.both().newestHead()->step, 30u);
  }

  void refusesDamage_data() {
    QTest::addColumn<int>("at");
    QTest::addColumn<QString>("says");
    QTest::newRow("magic") << 2 << "another version";
    QTest::newRow("head") << 33 << "checksum of its head";
    QTest::newRow("first byte") << 64 << "its checksum does not match";
    QTest::newRow("last byte") << 64 + 1'499'999 << "its checksum does not match";
  }
  void refusesDamage() {
    QFETCH(int, at);
    QFETCH(QString, says);
    Files files;
    write(files.both(), 10, randomBytes(1'500'000, 3));
    flipByte(files.first, at);
    const auto reader = CheckpointSlots::Reader::open(files.both());
    QVERIFY(!reader);
    QCOMPARE(reader.error().code, ErrorCode::kMalformed);
    QVERIFY2(QString::fromStdString(reader.error().message).contains(says),
             reader.error().message.c_str());
  }

  void takesTheOlderWhereTheNewerIsDamaged() {
    Files files;
    write(files.both(), 10, "older");
    write(files.both(), 20, "newer");
    flipByte(files.second, 64);
    auto reader = CheckpointSlots::Reader::open(files.both());
    QVERIFY(reader);
    QCOMPARE(reader->head().step, 10u);
    QCOMPARE(readAll(*reader), std::string("older"));
  }

  void refusesWhatIsTruncated() {
    for (const int size : {64 + 999, 64, 40, 9}) {
      Files files;
      write(files.both(), 10, randomBytes(1000, 4));
      QVERIFY(files.first.resize(size));
      for (const Error& error : {files.both().newestHead().error(),
                                 CheckpointSlots::Reader::open(files.both()).error()}) {
        QCOMPARE(error.code, ErrorCode::kMalformed);
        QVERIFY2(error.message.find("truncated") != std::string::npos, error.message.c_str());
      }
    }
  }

  void tellsWhyItCannotWrite() {
    const CheckpointSlots files({-1, -1});
    const auto writer = CheckpointSlots::Writer::begin(files, 1);
    QVERIFY(!writer);
    QVERIFY(writer.error().message.find("cannot be written") != std::string::npos);
  }
};

HIGHWATER_TEST(TestCheckpointSlots, QCoreApplication)
#include "tst_checkpoint_slots.moc"
