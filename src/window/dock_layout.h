#pragma once

#include <QByteArray>
#include <QObject>
#include <optional>

class QMainWindow;

namespace highwater::window {

class WindowDocks;

/// The classes of window sizes, which are laid out differently.
struct WindowSize {
  bool small = false;    ///< under 1400 pixels wide or 820 high
  bool compact = false;  ///< too narrow for docks on both sides of the panes
  bool tall = false;     ///< compact, with room for two docks above each other

  [[nodiscard]] static WindowSize of(const QMainWindow& window);
  bool operator==(const WindowSize&) const = default;
};

/// Lays out the docks for the size of the window. Keeps the user's layout while a page hides the
/// docks, and while the window is compact, which rearranges them.
class DockLayout final : public QObject {
  Q_OBJECT

 public:
  /// A layout of QMainWindow::saveState(), and whether it is that of a small window.
  struct Stored {
    QByteArray state;
    bool small = false;
  };

  /// Nothing is owned; both must outlive this object.
  DockLayout(QMainWindow* window, WindowDocks* docks);

  /// The size that everything is laid out for.
  [[nodiscard]] const WindowSize& size() const { return size_; }
  /// Lays everything out for the window's size; the docks when they are shown.
  void layOut();
  /// Lays everything out, the docks as they were stored if that fits the window's size.
  void restore(const Stored& stored);
  /// The layout that the user sees where there is room for it; empty if there was none yet.
  [[nodiscard]] std::optional<Stored> toStore() const;
  /// Returns to the layout of a new window.
  void reset();
  /// Hides the docks behind a page, and shows them again as they were.
  void cover();
  void uncover();

  /// The window's events. An event filter of the application calls beforeResize(): at the window's
  /// own resizeEvent() a compact window has squeezed the docks already.
  void shown();
  void beforeResize();
  void resized();

 signals:
  /// What is no dock has to be laid out for size().
  void sizeChanged();

 private:
  void takeSize();
  void layOutDocks();
  void layOutSoon();
  [[nodiscard]] Stored now() const;
  bool put(const QByteArray& state);

  QMainWindow* window_;
  WindowDocks* docks_;
  WindowSize size_;
  QByteArray first_;                   ///< as the docks were made
  Stored roomy_;                       ///< before they were arranged for a compact window, if any
  std::optional<QByteArray> covered_;  ///< while a page hides them
  bool compact_ = false;               ///< they are arranged for a compact window
  bool placed_ = false;
  bool laidOut_ = false;   ///< on screen, or by the user's settings
  bool later_ = false;     ///< they need new sizes once no page hides them
  bool squeezed_ = false;  ///< the window has no room for the docks of a compact one
};

}  // namespace highwater::window
