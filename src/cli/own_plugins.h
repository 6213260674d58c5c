#pragma once

#include <QByteArray>
#include <QtGlobal>
#include <array>

namespace highwater::cli {

/// While it exists, Qt finds no plugins of another Qt: a wheel brings its own Qt, and those of an
/// environment (conda's, PySide6's) may be for another. An application that is made meanwhile keeps
/// to that; the programs that it starts find the variables as they were.
class OwnPlugins {
 public:
  OwnPlugins() {
    // A wheel's command sets it. Programs that were built here share the system's Qt.
    if (!qEnvironmentVariableIsSet("HIGHWATER_COMMAND")) return;
    for (Variable& each : variables_) {
      each.wasSet = qEnvironmentVariableIsSet(each.name);
      each.value = qgetenv(each.name);
      qunsetenv(each.name);
    }
  }
  ~OwnPlugins() {
    for (const Variable& each : variables_) {
      if (each.wasSet) qputenv(each.name, each.value);
    }
  }
  OwnPlugins(const OwnPlugins&) = delete;
  OwnPlugins& operator=(const OwnPlugins&) = delete;

 private:
  struct Variable {
    const char* name;
    QByteArray value = {};
    bool wasSet = false;
  };
  std::array<Variable, 2> variables_ = {Variable{"QT_PLUGIN_PATH"},
                                        Variable{"QT_QPA_PLATFORM_PLUGIN_PATH"}};
};

}  // namespace highwater::cli
