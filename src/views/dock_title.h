#pragma once

#include <QWidget>

class QDockWidget;
class QHBoxLayout;
class QLabel;
class QTabBar;
class QToolButton;

namespace highwater::views {

/// The title bar of a dock: a title with a quieter subtitle, or tabs, then float and close.
class DockTitle final : public QWidget {
  Q_OBJECT

 public:
  DockTitle(const QString& title, QDockWidget* dock);

  void setSubtitle(const QString& text);
  [[nodiscard]] QString subtitle() const;
  /// Shows tabs in place of the title.
  QTabBar* useTabs();
  /// Puts a widget before the buttons.
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
