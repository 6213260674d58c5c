#pragma once

#include <QAbstractItemModelTester>

/// Shared by the tests of models.
namespace highwater::test {

inline constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

inline QString cell(const QAbstractItemModel& model, int row, int column) {
  return model.index(row, column).data().toString();
}

}  // namespace highwater::test
