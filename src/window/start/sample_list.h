#pragma once

#include <QStringList>
#include <optional>

#include "window/start/start_table.h"

namespace highwater::window {

/// The built-in workload and the scenarios, each with what it does and what it shows.
class SampleList final : public StartTable {
  Q_OBJECT

 public:
  explicit SampleList(QWidget* parent = nullptr);

  /// Selects a scenario, or the built-in workload if empty, without a signal; a name that is not in
  /// the list and std::nullopt select nothing.
  void select(const std::optional<QString>& scenario);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 signals:
  /// The user wants to train this: the name of a scenario, or empty for the built-in workload.
  void runRequested(const QString& scenario);
  /// The user selected this.
  void selected(const QString& scenario);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QStringList scenarios_;  ///< by row; the first is empty
  bool selecting_ = false;
};

}  // namespace highwater::window
