#pragma once

#include <QStringList>
#include <QWidget>
#include <functional>
#include <vector>

#include "views/theme.h"

class QPainter;

namespace highwater::views {

/// An entry of a plot's legend: a swatch, drawn into a rectangle, and its meaning.
struct LegendEntry {
  QString text;
  double swatchWidth = 10;
  std::function<void(QPainter&, const QRectF&, const Theme&)> draw;
};

/// The head of a plot: its title, what it shows, and the legend, which takes as many lines as it
/// needs.
class PlotHeader final : public QWidget {
  Q_OBJECT

 public:
  explicit PlotHeader(const QString& title, QWidget* parent = nullptr);

  void setTitle(const QString& title);
  /// What the plot shows, from the longest form to the shortest: the first that fits is shown.
  void setSubtitle(const QStringList& forms);
  void setEntries(std::vector<LegendEntry> entries);
  [[nodiscard]] const std::vector<LegendEntry>& entries() const { return entries_; }
  /// Whether title and subtitle are shown above the legend.
  void setTitleShown(bool shown);

  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return {80, kTitleHeight}; }
  /// Where the entries stand for a width: the last one at the right of the title, if there is
  /// room.
  [[nodiscard]] std::vector<QRectF> entryRects(int width) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  static constexpr int kTitleHeight = 26;

  void fitHeight();
  void paintTitle(QPainter& painter) const;
  [[nodiscard]] int titleHeight() const;
  /// The width of the title and of the longest subtitle.
  [[nodiscard]] double titleWidth() const;

  QString title_;
  QStringList subtitle_;
  std::vector<LegendEntry> entries_;
  bool titleShown_ = true;
};

}  // namespace highwater::views
