#pragma once

#include <QWidget>

class QHBoxLayout;
class QLabel;
class QVBoxLayout;

namespace highwater::window {

/// A block of the start page: a title bar like a dock's, without its buttons, over a content.
class StartBlock final : public QWidget {
  Q_OBJECT

 public:
  StartBlock(const QString& title, QWidget* parent);

  /// Sets the text beside the title.
  void setSubtitle(const QString& text);
  /// Adds a widget at the right end of the title bar, and takes ownership of it.
  void addToTitle(QWidget* widget);
  /// Adds a widget below what is there, and takes ownership of it.
  void add(QWidget* widget, int stretch = 0);
  /// Shows or hides the title bar, which is of no use below a tab with the same words.
  void setTitleShown(bool shown);

  static constexpr int kTitleHeight = 28;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QWidget* bar_;
  QHBoxLayout* barRow_;
  QLabel* subtitle_;
  QVBoxLayout* column_;
};

/// A line of one pixel between two blocks.
class SeparatorLine final : public QWidget {
  Q_OBJECT

 public:
  SeparatorLine(Qt::Orientation orientation, QWidget* parent);
  /// Turns the line, for when the blocks' order changes.
  void setOrientation(Qt::Orientation orientation);

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace highwater::window
