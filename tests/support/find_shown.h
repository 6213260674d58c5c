#pragma once

#include <QWidget>
#include <type_traits>

namespace highwater::test {

/// The object of that name in a window; of several widgets the one that is visible. While a
/// recording is read, its overview has panes of its own. nullptr if there is none.
template <typename T>
[[nodiscard]] T* findShown(const QWidget& window, const char* name) {
  const auto all = window.findChildren<T*>(QLatin1String(name));
  for (T* each : all) {
    if constexpr (std::is_base_of_v<QWidget, T>) {
      if (each->isVisible()) return each;
    }
  }
  return all.value(0);
}

}  // namespace highwater::test
