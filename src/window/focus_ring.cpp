#include "window/focus_ring.h"

#include <QAbstractScrollArea>
#include <QCoreApplication>
#include <QEvent>
#include <QFocusEvent>
#include <QPainter>

#include "views/panes/time_pane.h"
#include "views/tuning/setting_plot.h"

namespace highwater::window {
namespace {

constexpr int kRingWidth = 2;  ///< in logical pixels

bool needsRing(const QWidget* widget) {
  return qobject_cast<const QAbstractScrollArea*>(widget) ||
         qobject_cast<const views::TimePane*>(widget) ||
         qobject_cast<const views::SettingPlot*>(widget);
}

/// Paints the ring, and lets the mouse through.
class Ring final : public QWidget {
 public:
  explicit Ring(QWidget* around) : QWidget(around) {
    setObjectName(QStringLiteral("focusRing"));
    setAttribute(Qt::WA_TransparentForMouseEvents);
    fit();
    show();
    raise();
  }

  void fit() {
    setGeometry(parentWidget()->rect());
    // Without what it surrounds, which would have to be painted with it.
    setMask(QRegion(rect()) - rect().adjusted(kRingWidth, kRingWidth, -kRingWidth, -kRingWidth));
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter(this).fillRect(rect(), palette().color(QPalette::Highlight));
  }
};

}  // namespace

FocusRing::FocusRing(QWidget* window) : QObject(window), window_(window) {
  QCoreApplication::instance()->installEventFilter(this);
}

bool FocusRing::eventFilter(QObject* watched, QEvent* event) {
  switch (event->type()) {
    case QEvent::FocusIn: {
      auto* widget = qobject_cast<QWidget*>(watched);
      if (!widget || widget->window() != window_) break;
      const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
      const bool byKey = reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason ||
                         reason == Qt::ShortcutFocusReason;
      const bool comesBack =
          (reason == Qt::ActiveWindowFocusReason || reason == Qt::PopupFocusReason) &&
          widget == ringed_;
      ringed_ = nullptr;
      if ((byKey || comesBack) && needsRing(widget)) showAround(widget);
      break;
    }
    case QEvent::FocusOut:
      if (ring_ && watched == ring_->parentWidget()) delete ring_;
      break;
    case QEvent::Resize:
      if (ring_ && watched == ring_->parentWidget()) static_cast<Ring*>(ring_.data())->fit();
      break;
    default:
      break;
  }
  return QObject::eventFilter(watched, event);
}

void FocusRing::showAround(QWidget* widget) {
  delete ring_;
  ring_ = new Ring(widget);
  ringed_ = widget;
}

}  // namespace highwater::window
