#pragma once

#include <functional>
#include <string>

class QDialog;
class QWidget;

namespace highwater::analysis {
class LiveStore;
}

namespace highwater::window {

/// Asks which knob of a run to try with which other value: one of run::knobsToTry(). Does not
/// block: `chosen` is called later with the knob and the value as a text that run::triedKnobOf()
/// takes, or not at all. The dialog deletes itself. `store` must outlive it.
QDialog* askToTryKnob(
    QWidget* parent, const analysis::LiveStore& store,
    std::function<void(const std::string& knob, const std::string& value)> chosen);

}  // namespace highwater::window
