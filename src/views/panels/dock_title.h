#pragma once

#include <QWidget>

class QDockWidget;
class QHBoxLayout;
class QLabel;
class QTabBar;
class QToolButton;

namespace highwater::views {

/// The title bar of a dock: a title with a subtitle, or tabs; then the buttons to detach and close.
class DockTitle final : public QWidget {
  Q_OBJECT

 public:
  /// Makes a title bar, a child of `dock`, whose buttons detach and close `dock`. The caller
  /// installs it with QDockWidget::setTitleBarWidget().
  DockTitle(const QString& title, QDockWidget* dock);

  /// Returns the title bar of a dock. nullptr if the dock has none; its title bar must be a
  /// DockTitle.
  [[nodiscard]] static DockTitle* of(const QDockWidget* dock);

  /// Sets the title.
  void setTitle(const QString& text);
  /// Sets the text beside the title.
  void setSubtitle(const QString& text);
  [[nodiscard]] QString subtitle() const;
  /// Replaces the title by a tab bar and returns it; the title bar owns it.
  QTabBar* useTabs();
  /// Adds a widget before the buttons and takes ownership of it.
  void addWidget(QWidget* widget);

  [[nodiscard]] QSize sizeHint() const override { return {100, 28}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {60, 28}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void updateIcons();

  QDockWidget* dock_;
  QHBoxLayout* row_;
  QLabel* title_;
  QLabel* subtitle_;
  QTabBar* tabs_ = nullptr;
  QToolButton* float_;
  QToolButton* close_;
};

}  // namespace highwater::views
