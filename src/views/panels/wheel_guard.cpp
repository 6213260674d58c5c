#include "views/panels/wheel_guard.h"

#include <QEvent>

namespace highwater::views {
namespace {

bool turning = false;

class WheelGuard final : public QObject {
 public:
  using QObject::QObject;

  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() != QEvent::Wheel || turning) return false;
    if (!static_cast<QWidget*>(watched)->hasFocus()) {
      event->ignore();  // for the scroll area around it
      return true;
    }
    turning = true;
    watched->event(event);
    turning = false;
    return true;
  }
};

}  // namespace

void guardWheel(QWidget* control) {
  control->setFocusPolicy(Qt::StrongFocus);
  control->installEventFilter(new WheelGuard(control));
}

bool turnedByWheel() {
  return turning;
}

}  // namespace highwater::views
