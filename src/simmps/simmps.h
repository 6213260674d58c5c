#pragma once

#include <stdint.h>

/// What libhighwater_simmps.so exports. Loading the library installs the simulated device, so these
/// are for asking how that went; find them with dlsym. Plain C: no torch header needed.
extern "C" {

/// What highwater_simmps_install() returns.
enum highwater_simmps_outcome {
  highwater_simmps_installed = 0,
  highwater_simmps_failed = 1,
  highwater_simmps_setting_refused = 2  ///< a setting in the environment is not allowed
};

/// Installs the device under PyTorch's name "mps"; already called when the library is loaded, and
/// idempotent. Returns a highwater_simmps_outcome: where it is not 0 nothing was registered, and
/// highwater_simmps_error() says why.
__attribute__((visibility("default"))) int highwater_simmps_install();

/// nullptr where the device is installed; else one line for the user: a setting out of range, MPS
/// hooks that exist already, another libtorch than the one compiled against.
__attribute__((visibility("default"))) const char* highwater_simmps_error();

/// Runs what is pending, ends the device and completes its ledger. A process that ends by exit()
/// need not call it; one that ends by _exit() must, or loses what the ledger holds back.
__attribute__((visibility("default"))) void highwater_simmps_finish();

/// The machine around the device, as its operating system would tell it; sizes in bytes.
struct highwater_simmps_system {
  uint64_t system_bytes;     ///< the machine's memory
  uint64_t footprint_bytes;  ///< this process: resident size, the device's memory as driver memory,
                             ///< and the hidden growth so far
  uint64_t other_bytes;      ///< other applications
  uint64_t available_bytes;  ///< what can be had without compressing or swapping
  uint64_t swap_used_bytes;
  int pressure_level;  ///< 1 normal, 2 warning, 4 critical: kern.memorystatus_vm_pressure_level
};
/// Any thread. Returns 0, or 1 where there is no device.
__attribute__((visibility("default"))) int highwater_simmps_read_system(
    highwater_simmps_system* readings);

/// A training step is over: the device cannot see steps, and HIGHWATER_SIM_HIDDEN_GROWTH counts by
/// them. Highwater's worker calls it; a training loop of your own does so where it wants the
/// growth, from Python as ctypes.CDLL(path).highwater_simmps_end_step(). Any thread; nothing
/// without a device.
__attribute__((visibility("default"))) void highwater_simmps_end_step();

/// "highwater-simmps <version> for libtorch <version>, ops of <where the table of ops without an
/// MPS kernel comes from>". Marks the device as simulated.
__attribute__((visibility("default"))) const char* highwater_simmps_version();
}
