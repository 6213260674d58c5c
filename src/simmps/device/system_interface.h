#pragma once

#include "simmps/policy/settings.h"
#include "simmps/simmps.h"

/// Implements highwater_simmps_read_system() and highwater_simmps_end_step() (simmps.h) in the
/// device's library.
namespace highwater::simmps {

/// Creates the process's simulated machine. Call once, after createDevice(), and before
/// readSystem() and endStep().
void createMachine(const Settings& settings);

/// Reads the simulated machine's memory, in bytes, into `readings`. Needs createMachine(). Any
/// thread.
void readSystem(highwater_simmps_system* readings);
/// Counts a training step, with which the process's hidden memory grows. Needs createMachine(). Any
/// thread.
void endStep();

}  // namespace highwater::simmps
