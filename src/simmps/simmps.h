#pragma once

/// What libhighwater_simmps.so exports. Loading the library installs the simulated device, so these
/// are for asking how that went; find them with dlsym. Plain C: no torch header needed.
extern "C" {

/// Installs the device under PyTorch's name "mps"; already called when the library is loaded, and
/// idempotent. Returns 0, or where nothing was registered (see highwater_simmps_error()) 2 for a
/// setting in the environment that is not allowed, else 1.
__attribute__((visibility("default"))) int highwater_simmps_install();

/// nullptr where the device is installed; else one line for the user: a setting out of range, MPS
/// hooks that exist already, another libtorch than the one compiled against.
__attribute__((visibility("default"))) const char* highwater_simmps_error();

/// Runs what is pending, ends the device and completes its ledger. A process that ends by exit()
/// need not call it; one that ends by _exit() must, or loses what the ledger holds back.
__attribute__((visibility("default"))) void highwater_simmps_finish();

/// "highwater-simmps <version> for libtorch <version>, ops of <where the table of ops without an
/// MPS kernel comes from>". Marks the device as simulated.
__attribute__((visibility("default"))) const char* highwater_simmps_version();
}
