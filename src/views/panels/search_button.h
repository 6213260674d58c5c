#pragma once

#include <QAbstractButton>

namespace highwater::views {

/// The field in the tool bar that opens the search: a button that looks like a field, with a hint
/// and the key; in small windows only its glass.
class SearchButton final : public QAbstractButton {
  Q_OBJECT

 public:
  explicit SearchButton(QWidget* parent = nullptr);

  /// Shows the hint and the key, or only the glass.
  void setSmall(bool small);
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  bool small_ = false;
};

}  // namespace highwater::views
