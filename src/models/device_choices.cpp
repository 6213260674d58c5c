#include "models/device_choices.h"

#include <QCoreApplication>

namespace highwater::models {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("DeviceChoices", text);
}

}  // namespace

QList<DeviceChoice> deviceChoices(const OfferedDevices& offered) {
  QList<DeviceChoice> choices{
      {QStringLiteral("auto"), offered.simulated ? tr("mps if available, else simulated, else cpu")
                                                 : tr("mps if available, else cpu")}};
  if (offered.metal) choices.append({QStringLiteral("mps"), tr("Apple's GPU, through Metal")});
  if (offered.simulated) choices.append({QStringLiteral("sim"), tr("simulated mps")});
  choices.append({QStringLiteral("cpu"), tr("without a GPU")});
  return choices;
}

}  // namespace highwater::models
