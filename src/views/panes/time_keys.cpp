#include "views/panes/time_keys.h"

#include "views/tr.h"

namespace highwater::views {
namespace {

constexpr double kZoom = 0.7;
constexpr double kPanShare = 0.15;

std::int64_t middle(const TimeAxis& axis) {
  return axis.cursor().value_or(axis.visible().beginNs + axis.visibleNs() / 2);
}

void pan(TimeAxis& axis, double share) {
  axis.pan(static_cast<std::int64_t>(share * static_cast<double>(axis.visibleNs())));
}

}  // namespace

bool handleTimeKey(const QKeyEvent& event, TimeAxis& axis, EventFocus& focus) {
  if (event.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) {
    return false;
  }
  switch (event.key()) {
    case Qt::Key_W:
      axis.zoom(kZoom, middle(axis));
      return true;
    case Qt::Key_S:
      axis.zoom(1 / kZoom, middle(axis));
      return true;
    case Qt::Key_A:
    case Qt::Key_Left:
      pan(axis, -kPanShare);
      return true;
    case Qt::Key_D:
    case Qt::Key_Right:
      pan(axis, kPanShare);
      return true;
    case Qt::Key_F:
      axis.fit();
      return true;
    case Qt::Key_Space:
      axis.setFollows(!axis.follows());
      return true;
    case Qt::Key_Period:
      focus.next();
      return true;
    case Qt::Key_Comma:
      focus.previous();
      return true;
    case Qt::Key_BracketLeft:
      axis.pinSelection(Pin::kA);
      return true;
    case Qt::Key_BracketRight:
      axis.pinSelection(Pin::kB);
      return true;
    case Qt::Key_Escape:
      if (!axis.selection() && !focus.picked() && !focus.op()) {
        axis.clearPins();  // what was chosen last goes first
      }
      axis.clearSelection();
      focus.clear();
      return true;
    default:
      return false;
  }
}

QList<std::pair<QString, QString>> timeKeys() {
  return {{tr("W  S"), tr("Zoom in and out around the cursor")},
          {tr("A  D"), tr("Pan left and right")},
          {tr("F"), tr("Fit the whole run")},
          {tr("Space"), tr("Follow the newest data, or stop following")},
          {tr(".  ,"), tr("Next and previous event")},
          {tr("N  Shift+N"), tr("Next and previous hit of the search")},
          {tr("[  ]"), tr("Pin the selection as A or as B, to compare both")},
          {tr("Esc"), tr("Close the search; clear the selection, then what is pinned")},
          {tr("Drag"), tr("Select a range; at an edge of the selection: move it")},
          {tr("Shift+drag"), tr("Pan (also: drag with the middle button)")},
          {tr("Wheel, pinch"), tr("Zoom around the cursor")},
          {tr("Shift+wheel"), tr("Pan (also: move two fingers sideways)")},
          {tr("Click"), tr("Pick an event and its table row")},
          {tr("Double click"), tr("Select the step")}};
}

}  // namespace highwater::views
