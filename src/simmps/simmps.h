#pragma once

#include <stdint.h>

/// Interface of libhighwater_simmps.so. Loading the library installs the simulated device; these
/// functions tell how that went and control the device. Find them with dlsym. Plain C: no torch
/// header needed.
extern "C" {

/// Result of highwater_simmps_install().
enum highwater_simmps_outcome {
  highwater_simmps_installed = 0,
  highwater_simmps_failed = 1,
  highwater_simmps_setting_refused = 2  ///< a setting in the environment is invalid
};

/// Installs the device under PyTorch's name "mps". Loading the library has already called it;
/// calling it again changes nothing. Returns a highwater_simmps_outcome. On failure there is no
/// simulated device, and highwater_simmps_error() tells why; the MPS hooks may be registered
/// already, and then report that MPS is not available.
__attribute__((visibility("default"))) int highwater_simmps_install();

/// Returns nullptr if the device is installed, else the reason in one line for the user, for
/// example an invalid setting, MPS hooks that exist already, or a libtorch of another version than
/// the device was built for.
__attribute__((visibility("default"))) const char* highwater_simmps_error();

/// Runs all pending jobs, stops the device and completes its ledger. exit() does this too; a
/// process that ends with _exit() must call it, or the ledger's last entries are lost. The ledger
/// is the file named by HIGHWATER_SIM_LEDGER. Does nothing without a device.
__attribute__((visibility("default"))) void highwater_simmps_finish();

/// The simulated machine as its operating system would report it; memory in bytes.
struct highwater_simmps_system {
  uint64_t system_bytes;     ///< physical memory of the machine
  uint64_t footprint_bytes;  ///< of this process: host, driver and hidden growth
  uint64_t other_bytes;      ///< memory of other applications
  uint64_t available_bytes;  ///< memory available without compressing or swapping
  uint64_t swap_used_bytes;
  int pressure_level;  ///< as kern.memorystatus_vm_pressure_level: 1 normal, 2 warning, 4 critical
  uint64_t compressor_bytes;  ///< memory that compressed pages occupy
  uint64_t swapped_in_bytes;  ///< from swap since the device was created
  uint64_t swapped_out_bytes;
  uint64_t gpu_bytes;  ///< memory that the GPU has in use: this process's, there is no other
  int thermal_state;   ///< as NSProcessInfoThermalState: 0 nominal, 1 fair, 2 serious, 3 critical
  int low_power;       ///< 1: Low Power Mode is on
};
/// Reads the simulated machine's memory into `readings`. Returns 0, or 1 if no device is installed;
/// `readings` is unchanged then. Any thread.
__attribute__((visibility("default"))) int highwater_simmps_read_system(
    highwater_simmps_system* readings);

/// Tells the device that a training step has ended; HIGHWATER_SIM_HIDDEN_GROWTH grows with each.
/// The device cannot see steps itself. Highwater's worker calls this; a Python training loop may,
/// as ctypes.CDLL(path).highwater_simmps_end_step(). Does nothing without a device. Any thread.
__attribute__((visibility("default"))) void highwater_simmps_end_step();

/// Returns "highwater-simmps VERSION for libtorch VERSION, ops of SOURCE", where SOURCE is the
/// origin of the table of ops without an MPS kernel. Identifies the device as simulated.
__attribute__((visibility("default"))) const char* highwater_simmps_version();
}
