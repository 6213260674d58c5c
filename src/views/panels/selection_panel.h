#pragma once

#include <QWidget>
#include <vector>

#include "analysis/device/device_share.h"
#include "analysis/run_summary.h"

namespace highwater::views {

class ShareSwitch;

/// A widget that shows a summary of the selected range, or of the whole run: step time with
/// histogram, throughput, memory peaks, lost time, and the share of each phase.
class SelectionPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit SelectionPanel(QWidget* parent = nullptr);

  /// Shows `summary`. `lengthNs` is the length of its range, in ns. `selected` tells whether it
  /// covers a selected range or the whole run, `settings` how many settings its steps had.
  void showSummary(const analysis::RunSummary& summary, const QString& rate, std::int64_t lengthNs,
                   bool selected, std::size_t settings = 1);

  /// Sets what stands below the phases on the time outside of them; empty: nothing.
  void setOutsideHint(const QString& hint);
  /// The numbers as lines of name and value, to copy; empty if no step was summarized.
  [[nodiscard]] QString asText() const;
  /// Whether the user wants to see the shares of device time.
  [[nodiscard]] bool showsDeviceTime() const;
  /// Sets the shares of device time, of the same range as the summary.
  void showDeviceShare(const analysis::DeviceShare& share);

  [[nodiscard]] QSize sizeHint() const override { return {328, 462}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {200, 364}; }

 signals:
  /// The user has chosen shares of device time: call showDeviceShare().
  void deviceTimeChosen();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// Heights in pixels, smaller if the panel is low.
  struct Measures {
    double row, phaseRow, gap;
  };
  [[nodiscard]] Measures measures() const;
  struct Row {
    QString name, value, note;  ///< the note qualifies the value: "exact"
  };
  [[nodiscard]] std::vector<Row> rows() const;
  /// Tells assistive technology what is painted, if any listens.
  void describe();
  double paintHead(QPainter& painter, double y) const;
  double paintKeyNumbers(QPainter& painter, double y) const;
  void paintHistogram(QPainter& painter, const QRectF& rect) const;
  double paintRows(QPainter& painter, double y) const;
  void paintPhaseRow(QPainter& painter, double y, const QColor& color, const QString& name,
                     double ms, double total) const;
  void paintPhases(QPainter& painter, double y) const;
  void paintDeviceShare(QPainter& painter, double y) const;
  /// The top of the shares, below all rows.
  [[nodiscard]] double sharesTop() const;
  void placeSwitch();

  analysis::RunSummary summary_;
  QString rate_;  ///< the throughput
  std::int64_t lengthNs_ = 0;
  bool selected_ = false;
  std::size_t settings_ = 1;
  QString outsideHint_;
  ShareSwitch* switch_;
  analysis::DeviceShare deviceShare_;
};

}  // namespace highwater::views
