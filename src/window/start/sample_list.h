#pragma once

#include <QStringList>

#include "window/start/start_table.h"

namespace highwater::window {

/// The built-in workload and the scenarios, each with what it does and what it shows.
class SampleList final : public StartTable {
  Q_OBJECT

 public:
  explicit SampleList(QWidget* parent = nullptr);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 signals:
  /// The user wants to train this: the name of a scenario, or empty for the built-in workload.
  void runRequested(const QString& scenario);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QStringList scenarios_;  ///< by row; the first is empty
};

}  // namespace highwater::window
