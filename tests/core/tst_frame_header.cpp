#include "core/frame_header.h"
#include "support/test_program.h"

using namespace highwater;

class TestFrameHeader : public QObject {
  Q_OBJECT

  /// A frame of `size` bytes whose prefix claims `claimed` bytes, prefix included.
  static std::vector<std::uint8_t> frame(std::size_t size, std::uint32_t claimed) {
    std::vector<std::uint8_t> bytes(size, 0);
    const std::uint32_t behindPrefix = claimed - static_cast<std::uint32_t>(kFramePrefixBytes);
    for (unsigned i = 0; i < kFramePrefixBytes; ++i) {
      bytes[i] = static_cast<std::uint8_t>(behindPrefix >> (8 * i));
    }
    return bytes;
  }

 private slots:
  void readsTheSizeOfAWholeFrame() {
    QCOMPARE(frameSize(frame(300, 300)), std::size_t{300});
    QCOMPARE(frameSize(frame(500, 300)), std::size_t{300});  // another frame follows
    QCOMPARE(frameSize(frame(kMinFrameBytes, kMinFrameBytes)), kMinFrameBytes);
    QCOMPARE(frameSize(frame(kMaxFrameBytes, kMaxFrameBytes)), kMaxFrameBytes);
  }

  void isZeroWhereThereIsNoWholeFrame() {
    QCOMPARE(frameSize({}), std::size_t{0});
    QCOMPARE(frameSize(frame(kMinFrameBytes - 1, kMinFrameBytes)), std::size_t{0});
    QCOMPARE(frameSize(frame(299, 300)), std::size_t{0});
    QCOMPARE(frameSize(frame(20, kMinFrameBytes - 1)), std::size_t{0});
    QCOMPARE(frameSize(frame(kMaxFrameBytes + 1, kMaxFrameBytes + 1)), std::size_t{0});
  }

  void aClaimOfFourGigabytesDoesNotOverflow() {
    const std::vector<std::uint8_t> bytes(20, 0xff);
    QCOMPARE(claimedFrameSize(bytes), (std::uint64_t{1} << 32) + 3);
    QVERIFY(!isFrameSize(claimedFrameSize(bytes)));
  }

  void looksForTheIdentifierInItsPlace() {
    std::vector<std::uint8_t> bytes = frame(20, 20);
    QVERIFY(!hasFrameIdentifier(bytes));
    std::copy(kFrameIdentifier.begin(), kFrameIdentifier.end(),
              bytes.begin() + kFrameIdentifierOffset);
    QVERIFY(hasFrameIdentifier(bytes));
  }
};

HIGHWATER_TEST(TestFrameHeader, QCoreApplication)
#include "tst_frame_header.moc"
