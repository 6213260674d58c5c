#pragma once

#include <QBrush>
#include <QWidget>
#include <optional>
#include <vector>

#include "analysis/device/device_share.h"
#include "analysis/run_summary.h"
#include "models/machine_rows.h"

namespace highwater::views {

class ShareSwitch;

/// What a SelectionPanel shows.
struct SelectionNumbers {
  analysis::RunSummary summary;
  QString head{};           ///< whose numbers they are: "Whole run", "Newest 50 steps"
  QString none{};           ///< stands in place of the numbers where no step was summarized
  QString rate{};           ///< the throughput
  bool fillsQueue = false;  ///< too few steps for their time and throughput to say anything
  std::int64_t lengthNs = 0;
  std::size_t settings = 1;                   ///< how many different settings the steps had
  std::vector<models::NotedValue> machine{};  ///< the machine now; empty unless the run is live
};

/// A widget that shows a summary of some steps, such as those of the selected range: step time with
/// histogram, throughput, memory peaks, waits, the machine now, and the share of each phase.
class SelectionPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit SelectionPanel(QWidget* parent = nullptr);

  /// Shows these numbers in place of those before.
  void showNumbers(SelectionNumbers numbers);

  /// Sets what stands below the phases on the time outside of them; empty: nothing.
  void setOutsideHint(const QString& hint);
  /// The numbers as lines of name and value, to copy; empty if no step was summarized.
  [[nodiscard]] QString asText() const;
  /// Whether the user wants to see the shares of device time.
  [[nodiscard]] bool showsDeviceTime() const;
  /// Sets the shares of device time, of the same range as the summary.
  void showDeviceShare(const analysis::DeviceShare& share);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 signals:
  /// The user has chosen shares of device time: call showDeviceShare().
  void deviceTimeChosen();

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  using Row = models::NotedValue;
  /// Heights in pixels, smaller if the panel is low.
  struct Measures {
    double row, phaseRow, gap;
  };
  static constexpr Measures kDense{18, 16, 6}, kRoomy{22, 18, 10};
  [[nodiscard]] Measures measures() const;
  [[nodiscard]] std::vector<Row> rows() const;
  [[nodiscard]] Row rateRow() const;
  /// The time of a step that stands first: the median, or the mean where that tells.
  [[nodiscard]] QString keyTimeName() const;
  [[nodiscard]] double keyTimeMs() const;
  /// rows(), and those of the machine.
  [[nodiscard]] std::vector<Row> allRows() const;
  /// The height of all that is painted.
  [[nodiscard]] double contentHeight(const Measures& m) const;
  /// The host's time in a phase, or outside of phases: waiting for the device, or else.
  struct HostShare {
    QBrush brush;
    QString name;
    double ms;
  };
  /// The rows below the bar of phases, without those that are next to nothing.
  [[nodiscard]] std::vector<HostShare> hostShares() const;
  [[nodiscard]] double outsideMs() const;
  /// The time that the shares are of.
  [[nodiscard]] double hostMs() const;
  [[nodiscard]] QString aStepText(double ms) const;
  [[nodiscard]] QString stepsText() const;
  [[nodiscard]] QString headText() const;
  /// Tells assistive technology what is painted, if any listens.
  void describe();
  double paintHead(QPainter& painter, double y) const;
  double paintKeyNumbers(QPainter& painter, double y) const;
  void paintHistogram(QPainter& painter, const QRectF& rect) const;
  double paintRows(QPainter& painter, double y, const std::vector<Row>& rows) const;
  void paintPhaseRow(QPainter& painter, double y, const QBrush& brush, const QString& name,
                     double ms, double total) const;
  void paintPhases(QPainter& painter, double y) const;
  void paintDeviceShare(QPainter& painter, double y) const;
  /// The tops of the rows, and of the shares below them.
  [[nodiscard]] static double rowsTop(const Measures& m);
  [[nodiscard]] double sharesTop(const Measures& m) const;
  void placeSwitch();

  SelectionNumbers numbers_;
  QString outsideHint_;
  ShareSwitch* switch_;
  analysis::DeviceShare deviceShare_;
};

}  // namespace highwater::views
