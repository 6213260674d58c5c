#include "session/line_log.h"
#include "support/test_program.h"

using highwater::session::LineLog;

class TestLineLog : public QObject {
  Q_OBJECT

 private:
  QStringList heard_;
  std::function<void(const QString&)> hear_ = [this](const QString& line) { heard_ << line; };

 private slots:
  void init() { heard_.clear(); }

  void joinsWhatCameInPieces() {
    LineLog log;
    log.append("one\ntw", hear_);
    QCOMPARE(heard_, QStringList{"one"});
    log.append("o\r\n\nthree", hear_);
    QCOMPARE(heard_, (QStringList{"one", "two", ""}));
    log.finish(hear_);
    QCOMPARE(log.lines(), (QStringList{"one", "two", "", "three"}));
    log.finish(hear_);
    QCOMPARE(log.lines().size(), 4);
  }

  void removesTerminalEscapes() {
    LineLog log;
    log.append("a\x1b[31;1mb\tc\x07\x1b[0m\x1bq\n", hear_);
    QCOMPARE(heard_[0], u"ab c\uFFFD\uFFFDq"_qs);
    log.append(u"\u202Eevil\n"_qs.toUtf8(), hear_);
    QCOMPARE(heard_[1], u"\uFFFDevil"_qs);
  }

  void aCarriageReturnBeginsTheLineAnew() {
    LineLog log;
    log.append("\r 10 %\r 50 %", hear_);
    QCOMPARE(log.openLine(), QString(" 50 %"));
    log.append("\r", hear_);
    QCOMPARE(log.openLine(), QString(" 50 %"));
    log.append("100 %\r\n", hear_);
    QCOMPARE(heard_, QStringList{"100 %"});
    QCOMPARE(log.openLine(), QString());
    // However long the bar ran, the last state is whole.
    for (int i = 0; i < LineLog::kMaxLineBytes; ++i) log.append("\rstill at it", hear_);
    log.append("\n", hear_);
    QCOMPARE(heard_.last(), QString("still at it"));
  }

  void survivesBytesThatAreNotText() {
    LineLog log;
    log.append("\xff\xfe\x80\n", hear_);
    QCOMPARE(heard_[0], u"\uFFFD\uFFFD\uFFFD"_qs);
  }

  void cutsALongLine() {
    LineLog log;
    log.append(QByteArray(3 * LineLog::kMaxLineBytes, 'x'), hear_);
    log.append("tail\nnext\n", hear_);
    QCOMPARE(heard_.size(), 2);
    QCOMPARE(heard_[0], QString(LineLog::kMaxLineBytes, u'x') + u" …"_qs);
    QCOMPARE(heard_[1], QString("next"));
  }

  void forgetsOldLines() {
    LineLog log;
    for (int i = 0; i < 2 * LineLog::kMaxLines; ++i)
      log.append(QByteArray::number(i) + '\n', hear_);
    QCOMPARE(log.lines().size(), LineLog::kMaxLines);
    QCOMPARE(log.lines().first(), QString::number(LineLog::kMaxLines));
    QCOMPARE(log.lines().last(), QString::number(2 * LineLog::kMaxLines - 1));
  }
};

HIGHWATER_TEST(TestLineLog, QCoreApplication)
#include "tst_line_log.moc"
