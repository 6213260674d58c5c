#include "session/option_names.h"

#include <algorithm>

#include "core/sim_knobs.h"

namespace highwater::session {

std::string withOptionNames(std::string message, const QStringList& environment) {
  for (const SimKnob& knob : kSimKnobs) {
    const std::string variable = knob.variable;
    const bool given = std::any_of(environment.begin(), environment.end(), [&](const QString& e) {
      return e.startsWith(QString::fromStdString(variable) + u'=');
    });
    if (!given || *knob.option == '\0') continue;
    for (auto at = message.find(variable); at != std::string::npos; at = message.find(variable)) {
      message.replace(at, variable.size(), knob.option);
    }
  }
  return message;
}

}  // namespace highwater::session
