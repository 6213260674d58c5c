#pragma once

#include <QWidget>

class QLabel;
class QToolButton;

namespace highwater::views {

/// The words "Share of host time | device time". The chosen one is underlined in accent. Where they
/// do not fit, "Share of" is hidden.
class ShareSwitch final : public QWidget {
  Q_OBJECT

 public:
  explicit ShareSwitch(QWidget* parent = nullptr);

  /// Whether device time is chosen; at first it is host time.
  [[nodiscard]] bool showsDevice() const;

 signals:
  /// The user has chosen device time (`device` true) or host time.
  void chosen(bool device);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QToolButton* makeChoice(const QString& text, const char* name, const QString& tip);

  QLabel* caption_;
  QToolButton *host_, *device_;
};

}  // namespace highwater::views
