#pragma once

#include <cstdint>

/// The probe for tests written in Python, which load this library with ctypes after PyTorch. One
/// probe at a time. The calling thread is the one that trains.
extern "C" {

/// Begins to observe the `mps` device at level monitor. Returns 0, or 1 where a probe has begun.
__attribute__((visibility("default"))) int probe_begin();
/// Ends what probe_begin() began, and forgets its events.
__attribute__((visibility("default"))) void probe_end();
/// Changes the level: "off", "monitor" or "ops". Returns 0, or 1 for another text.
__attribute__((visibility("default"))) int probe_level(const char* level);
/// Enters a module of the model on the calling thread, until probe_leave().
__attribute__((visibility("default"))) void probe_enter(const char* module);
__attribute__((visibility("default"))) void probe_leave();
/// Sets the phase of what runs: "forward", "backward"... Returns 0, or 1 for another text.
__attribute__((visibility("default"))) int probe_phase(const char* phase);
/// The number of ops that are watched.
__attribute__((visibility("default"))) std::uint64_t probe_watched();
/// Takes the waits and fallbacks recorded since the last call, ordered by begin, a line of fields
/// that are separated by tabs for each: begin and end on the system's monotonic clock in ns,
/// thread, "fallback" or the kind of the wait, op, phase, module path, number of the call site.
/// Valid until the next call.
__attribute__((visibility("default"))) const char* probe_take();
}
