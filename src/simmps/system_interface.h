#pragma once

#include "simmps/settings.h"
#include "simmps/simmps.h"

/// The machine around the device: what highwater_simmps_read_system() and
/// highwater_simmps_end_step() of libhighwater_simmps.so do, in the device's library.
namespace highwater::simmps {

/// Makes the process's one machine, after the device; called once, before anything below.
void createMachine(const Settings& settings);

/// Both from any thread.
void readSystem(highwater_simmps_system* readings);
void endStep();

}  // namespace highwater::simmps
