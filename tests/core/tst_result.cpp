#include <QTest>
#include <memory>

#include "core/result.h"
#include "support/test_program.h"

using highwater::Error;
using highwater::ErrorCode;
using highwater::failure;
using highwater::Result;

class TestResult : public QObject {
  Q_OBJECT

 private slots:
  void holdsAValue() {
    const Result<int> result = 7;
    QVERIFY(result.ok());
    QCOMPARE(result.value(), 7);
  }

  void holdsAnError() {
    const Result<int> result = Error{ErrorCode::kNotFound, "no such file"};
    QVERIFY(!result);
    QCOMPARE(result.error().code, ErrorCode::kNotFound);
    QCOMPARE(result.error().message, std::string("no such file"));
  }

  void movesAMoveOnlyValueOut() {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
    const std::unique_ptr<int> value = *std::move(result);
    QCOMPARE(*value, 3);
  }

  void ofVoidIsFineByDefault() {
    QVERIFY(Result<void>().ok());
    const Result<void> failed = failure("disk full");
    QVERIFY(!failed);
    QCOMPARE(failed.error().message, std::string("disk full"));
  }
};

HIGHWATER_TEST(TestResult, QCoreApplication)
#include "tst_result.moc"
