#pragma once

#include <QObject>
#include <QPointer>

namespace highwater::window {

/// Draws a ring around a pane, table or scrolled area of a window while it has the keyboard focus,
/// if the keyboard brought it there: these show nothing of it themselves. A click leaves no ring.
class FocusRing final : public QObject {
  Q_OBJECT

 public:
  /// Watches the widgets within `window`, which is the parent of this object.
  explicit FocusRing(QWidget* window);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void showAround(QWidget* widget);

  QWidget* window_;
  QPointer<QWidget> ring_;    ///< a child of the widget that it surrounds
  QPointer<QWidget> ringed_;  ///< the last such widget: it has its ring again if the window has
};

}  // namespace highwater::window
