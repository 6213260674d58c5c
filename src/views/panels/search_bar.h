#pragma once

#include <QTimer>
#include <QWidget>
#include <array>

#include "models/search_model.h"

class QLabel;
class QLineEdit;
class QToolButton;

namespace highwater::views {

/// The search bar over the panes: a field, a chip for each place with its count, the place of the
/// current hit, and links to step through the hits and to close. It fills a SearchModel, which the
/// tables and the timeline show.
class SearchBar final : public QWidget {
  Q_OBJECT

 public:
  /// `search` is not owned and must outlive the bar.
  explicit SearchBar(models::SearchModel* search, QWidget* parent = nullptr);

  /// Puts the keyboard focus into the field and selects its text.
  void startTyping();
  /// Searches for the text in the field at once.
  void searchNow();
  /// The text in the field. The search follows it after a short while.
  [[nodiscard]] QString text() const;

  [[nodiscard]] QSize minimumSizeHint() const override { return {200, kHeight}; }
  [[nodiscard]] QSize sizeHint() const override { return {760, kHeight}; }

 signals:
  /// The user wants the next hit (1) or the previous one (-1).
  void stepRequested(int direction);
  /// The user closes the search.
  void closeRequested();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  static constexpr int kHeight = 36;
  void makeChips();
  void makeLinks();
  void refresh();
  /// Leaves out what has no room: first the width of the field, then the keys, the words behind the
  /// count, the chips without hits, and the links.
  void fit();

  models::SearchModel* search_;
  QLineEdit* field_;
  QAction* glass_ = nullptr;
  std::array<QToolButton*, analysis::kSearchPlaces> chips_{};
  QLabel *position_, *total_;
  QList<QWidget*> keys_, links_;
  QString longTotal_, shortTotal_;
  QTimer typing_;
};

}  // namespace highwater::views
