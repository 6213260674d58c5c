// The part of a run that `highwater export` draws.
#include <QApplication>
#include <QImage>
#include <QTemporaryDir>
#include <QTest>

#include "support/recording_file.h"
#include "support/test_program.h"
#include "window/main_window.h"
#include "window/window_picture.h"

using namespace highwater;
using window::MainWindow;
using window::PictureRange;

class TestWindowPicture : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;

  [[nodiscard]] std::int64_t endNs() const { return window_->timeAxis().extent().endNs; }
  [[nodiscard]] analysis::TimeRange visible() const { return window_->timeAxis().visible(); }
  [[nodiscard]] QString refusal(const PictureRange& range) const {
    const auto shown = window::showRange(*window_, range);
    if (shown) return {};
    return shown.error().code == ErrorCode::kUsage ? QString::fromStdString(shown.error().message)
                                                   : QStringLiteral("another code");
  }

 private slots:
  void init() {
    window_ =
        std::make_unique<MainWindow>(session::LaunchOptions{}, nullptr, MainWindow::Settings::kOff);
    const QString path = test::recordIn(folder_, "a.highwater", test::makeSampleRun());
    QVERIFY(window_->openRecording(path.toStdString()).ok());
    window_->show();
  }
  void cleanup() { window_.reset(); }

  void showsAllOfTheRunByDefault() {
    window_->timeAxis().setVisible({0, endNs() / 10});
    QVERIFY(window::showRange(*window_, {}).ok());
    QCOMPARE(visible().beginNs, std::int64_t{0});
    QVERIFY(visible().endNs >= endNs());
    QVERIFY(visible().endNs <= endNs() + endNs() / 20);
  }

  void showsARangeOfTime() {
    const std::int64_t from = endNs() / 4, until = endNs() / 2;
    QVERIFY(window::showRange(*window_, {from, until, {}}).ok());
    QCOMPARE(visible().beginNs, from);
    QCOMPARE(visible().endNs, until);
    QVERIFY(window::showRange(*window_, {from, {}, {}}).ok());
    QCOMPARE(visible().beginNs, from);
    QCOMPARE(visible().endNs, endNs());
    QVERIFY(window::showRange(*window_, {{}, until, {}}).ok());
    QCOMPARE(visible().beginNs, std::int64_t{0});
  }

  void showsSteps() {
    const auto& steps = window_->currentRun().store().steps().records;
    QVERIFY(window::showRange(*window_, {{}, {}, std::pair(20u, 29u)}).ok());
    QVERIFY(visible().beginNs <= steps[19].begin_ns() && visible().beginNs > steps[18].begin_ns());
    const std::int64_t end = steps[28].begin_ns() + steps[28].duration_ns();
    QVERIFY(visible().endNs >= end && visible().endNs < steps[30].begin_ns());
    // The steps of the range that there are.
    QVERIFY(window::showRange(*window_, {{}, {}, std::pair(55u, 900u)}).ok());
    QVERIFY(visible().beginNs <= steps[54].begin_ns());
  }

  void refusesWhatIsOutsideOfTheRun() {
    QVERIFY2(refusal({endNs() + 1, {}, {}}).contains("is after the end of the run, "),
             qPrintable(refusal({endNs() + 1, {}, {}})));
    QVERIFY(refusal({{}, {}, std::pair(100u, 120u)}).endsWith("has the steps 1 to 60"));
    QCOMPARE(refusal({}), QString());
  }

  void drawsWhatWasAskedFor() {
    const std::string recording = folder_.filePath("a.highwater").toStdString();
    const QString all = folder_.filePath("all.png"), part = folder_.filePath("part.png");
    QVERIFY(window::exportWindowPicture(recording, all.toStdString(), {.size = {1280, 800}}).ok());
    QVERIFY(window::exportWindowPicture(recording, part.toStdString(),
                                        {.size = {1280, 800}, .range = {{}, {}, std::pair(5u, 9u)}})
                .ok());
    QCOMPARE(QImage(all).size(), QSize(1280, 800));
    QVERIFY(QImage(all) != QImage(part));
    const QString none = folder_.filePath("none.png");
    QVERIFY(!window::exportWindowPicture(recording, none.toStdString(),
                                         {.range = {{}, {}, std::pair(70u, 80u)}})
                 .ok());
    QVERIFY(!QFile::exists(none));
  }

  /// The pictures of a page: of the panes alone, in both themes.
  void drawsTheViewsThatHaveSomethingToShow() {
    const QSize size(1120, 860);
    const auto views = window::drawViews(folder_.filePath("a.highwater").toStdString(), size);
    QVERIFY(views.ok());
    QCOMPARE(views->size(), std::size_t{2});
    QVERIFY(!views->front().tuning && views->back().tuning);
    std::vector<QImage> pictures;
    for (const window::ViewPicture& each : *views) {
      pictures.push_back(QImage::fromData(each.light, "png"));
      pictures.push_back(QImage::fromData(each.dark, "png"));
      QCOMPARE(pictures.back().size(), each.size);
      QCOMPARE(each.size.width(), size.width());
      QVERIFY(each.size.height() < size.height() && each.size.height() > size.height() / 2);
      // The colour of the panes, beside what they draw.
      const QPoint corner(3, 3);
      QVERIFY(pictures[pictures.size() - 2].pixelColor(corner).lightness() > 200);
      QVERIFY(pictures.back().pixelColor(corner).lightness() < 60);
    }
    QVERIFY(pictures[0] != pictures[2]);

    auto run = test::makeSampleRun({.steps = 1});
    std::erase_if(run,
                  [](const auto& each) { return std::holds_alternative<test::OwnedBatch>(each); });
    const QString idle = test::recordIn(folder_, "idle.highwater", run);
    const auto none = window::drawViews(idle.toStdString(), size);
    QVERIFY(none.ok() && none->empty());
    QVERIFY(!window::drawViews(folder_.filePath("none.highwater").toStdString(), size).ok());
  }
};

HIGHWATER_TEST(TestWindowPicture, QApplication)
#include "tst_window_picture.moc"
