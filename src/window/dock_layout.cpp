#include "window/dock_layout.h"

#include <QMainWindow>
#include <QTimer>
#include <utility>

#include "window/window_docks.h"

namespace highwater::window {
namespace {

constexpr int kSmallBelow = 1400, kLowBelow = 820;
/// Narrower windows have no room for docks on both sides of the panes.
constexpr int kCompactBelow = 1100;
/// A compact window of this height has room for Selection above Findings.
constexpr int kTallFrom = 720;
/// Narrower ones have not even room for the column of docks of a compact window.
constexpr int kNarrow = 640;
/// The version of the saved layout: increment when docks change.
constexpr int kStateVersion = 3;

}  // namespace

WindowSize WindowSize::of(const QMainWindow& window) {
  const bool compact = window.width() < kCompactBelow;
  return {window.width() < kSmallBelow || window.height() < kLowBelow, compact,
          compact && window.height() >= kTallFrom};
}

DockLayout::DockLayout(QMainWindow* window, WindowDocks* docks)
    : QObject(window), window_(window), docks_(docks), first_(window->saveState(kStateVersion)) {}

DockLayout::Stored DockLayout::now() const {
  return {window_->saveState(kStateVersion), docks_->isSmall()};
}

bool DockLayout::put(const QByteArray& state) {
  return window_->restoreState(state, kStateVersion);
}

void DockLayout::takeSize() {
  size_ = WindowSize::of(*window_);
  emit sizeChanged();
}

void DockLayout::layOut() {
  takeSize();
  later_ = covered_.has_value();
  if (!later_) layOutDocks();
}

/// Docks accept sizes only after the window has been laid out with them.
void DockLayout::layOutSoon() {
  QTimer::singleShot(0, this, &DockLayout::layOut);
}

/// A compact window rearranges the docks. The layout before that, which may be the user's own,
/// comes back with the room for it, and is the one that is stored.
void DockLayout::layOutDocks() {
  if (size_.compact) {
    compact_ = true;
    docks_->setSmall(true);
    docks_->setCompact(size_.tall);
    return;
  }
  laidOut_ = window_->isVisible();
  if (!std::exchange(compact_, false)) return docks_->setSmall(size_.small);
  const bool kept = !roomy_.state.isEmpty();
  docks_->setSmall(kept ? roomy_.small : size_.small);
  put(kept ? roomy_.state : first_);
  docks_->hideEmpty();
  // See layOutSoon().
  QTimer::singleShot(0, this, [this, kept] {
    if (compact_ || covered_) return;
    if (kept && roomy_.small == size_.small) {
      put(roomy_.state);
      docks_->hideEmpty();
    } else {
      docks_->setSmall(size_.small);
    }
  });
}

void DockLayout::restore(const Stored& stored) {
  docks_->setSmall(stored.small);
  if (put(stored.state)) roomy_ = stored;
  docks_->showTuning(false);
  const WindowSize size = WindowSize::of(*window_);
  placed_ = !roomy_.state.isEmpty() && !size.compact && size.small == stored.small;
  if (!placed_) return layOut();
  laidOut_ = true;
  docks_->hideEmpty();
  takeSize();
}

std::optional<DockLayout::Stored> DockLayout::toStore() const {
  Stored stored = compact_ ? roomy_ : now();
  if (covered_ && !compact_) stored.state = *covered_;
  // Without sizes of their own, docks get them at the next start as at the first.
  if (later_ || stored.state.isEmpty()) return std::nullopt;
  return stored;
}

void DockLayout::reset() {
  compact_ = false;
  roomy_ = {};
  put(first_);
  docks_->showAll();
  layOutSoon();
}

void DockLayout::cover() {
  covered_ = now().state;
  docks_->setShown(false);
}

void DockLayout::uncover() {
  const QByteArray state = std::exchange(covered_, std::nullopt).value_or(QByteArray());
  docks_->setShown(true);
  if (later_ && !compact_ && laidOut_ && size_.compact) roomy_ = {state, docks_->isSmall()};
  put(state);
  if (std::exchange(later_, false)) layOutSoon();
}

void DockLayout::shown() {
  if (!std::exchange(placed_, true)) layOutSoon();
}

void DockLayout::beforeResize() {
  if (laidOut_ && !compact_ && !covered_ && WindowSize::of(*window_).compact) roomy_ = now();
}

void DockLayout::resized() {
  if (WindowSize::of(*window_) != size_) layOut();
  // Qt leaves docks as narrow as it had to make them.
  const bool squeezed = window_->width() < kNarrow;
  if (squeezed_ && !squeezed && compact_) docks_->widenColumn();
  squeezed_ = squeezed;
}

}  // namespace highwater::window
