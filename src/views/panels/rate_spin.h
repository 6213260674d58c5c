#pragma once

#include <QDoubleSpinBox>

namespace highwater::views {

/// A field for a learning rate: "0.001" or "3e-05". The arrows go through 1, 2 and 5 times the
/// powers of ten. The value 0 stands for the default and reads "default".
class RateSpin final : public QDoubleSpinBox {
  Q_OBJECT

 public:
  explicit RateSpin(QWidget* parent = nullptr);

  [[nodiscard]] QString textFromValue(double value) const override;
  [[nodiscard]] double valueFromText(const QString& text) const override;
  [[nodiscard]] QValidator::State validate(QString& text, int& position) const override;
  void stepBy(int steps) override;
};

}  // namespace highwater::views
