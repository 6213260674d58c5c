#pragma once

#include <QAbstractButton>

namespace highwater::views {

/// The field in the tool bar that opens the search: a button that looks like a field, with a hint
/// and the key; in small windows only its glass.
class SearchButton final : public QAbstractButton {
  Q_OBJECT

 public:
  explicit SearchButton(QWidget* parent = nullptr);

  /// How much the button shows: the whole hint, one word, or only the glass.
  enum class Form { kFull, kShort, kGlass };
  void setForm(Form form);
  [[nodiscard]] Form form() const { return form_; }
  /// The width of a form, in pixels.
  [[nodiscard]] static int widthOf(Form form);
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Form form_ = Form::kFull;
};

}  // namespace highwater::views
