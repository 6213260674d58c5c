#pragma once

#include <cstdint>

struct _object;

/// What the Python package `highwater` calls, through ctypes: the only names that the library
/// exports. Texts are UTF-8. Each function does nothing before hw_start() has succeeded, after
/// hw_stop(), and in a forked child.
#define HIGHWATER_EXPORT __attribute__((visibility("default")))
extern "C" {

/// Says what the process is, before hw_start(): the script's name, the folders of Python's
/// libraries (one a line), the path of the simulated device that is loaded ("": none), the probe
/// level, and how many host samples a second are to be taken.
HIGHWATER_EXPORT void hw_prepare(const char* script, const char* library_folders,
                                 const char* simulated_device, const char* level,
                                 std::uint64_t host_sample_hz);
/// Observes from now on, and keeps what it sees until hw_connect(). Returns why it failed, "" on
/// success; valid until the next call. In a forked child it observes anew.
HIGHWATER_EXPORT const char* hw_start();
/// Connects to the host that listens at `socket`, with the token in the file `token_file`, and
/// sends what was kept. The calling thread is the one that trains. Returns as hw_start().
HIGHWATER_EXPORT const char* hw_connect(const char* socket, const char* token_file);
/// Sends what is left and ends the probe's threads, within about `limit_ms` where the host does not
/// read. The script was interrupted, or ended by the exception `error` ("": it was not), maybe in
/// an evaluation.
HIGHWATER_EXPORT void hw_stop(bool interrupted, const char* error, bool in_evaluation,
                              std::uint64_t limit_ms);

/// Whether the other functions do anything: see above.
HIGHWATER_EXPORT bool hw_is_running();
/// As waits::watchWaitingCalls(), where the device is MPS; valid until the next call.
HIGHWATER_EXPORT const char* hw_watch_waiting_calls(_object* torch, std::uint64_t head_bytes);
/// A module begins and ends on the calling thread. `name` is the class of the outermost module, and
/// the path below it of any other: "encoder.layers.0".
HIGHWATER_EXPORT void hw_enter_module(const char* name);
HIGHWATER_EXPORT void hw_leave_module();
/// A phase begins and ends on the calling thread: a key of core/names.h, "evaluation", or a name of
/// the script's own.
HIGHWATER_EXPORT void hw_begin_phase(const char* key);
HIGHWATER_EXPORT void hw_end_phase();
/// As ScriptProbe's.
HIGHWATER_EXPORT void hw_begin_step(std::uint64_t step, bool late);
HIGHWATER_EXPORT void hw_end_step(std::uint64_t step, std::uint64_t batch, std::uint64_t length,
                                  std::uint64_t micro_steps, bool late);
/// Backward begins on one tensor, given by its `_cdata`: see probe::noteLoss().
HIGHWATER_EXPORT void hw_note_loss(std::uint64_t tensor);
HIGHWATER_EXPORT void hw_note_step_begin();
HIGHWATER_EXPORT void hw_note_step_end();
/// Has the ops of the calling thread watched until it ends.
HIGHWATER_EXPORT void hw_watch_thread();
/// As ScriptProbe::describe(). `steps_are` is a number of StepsAre, `loader_workers` below 0 where
/// there is no DataLoader. `signs` has a line for each CodeSign: its members in order, with tabs
/// between. `memory_fraction` is that of torch.mps.set_per_process_memory_fraction(); 0: none is
/// set. `epoch_samples`: see RunDescription.
HIGHWATER_EXPORT void hw_describe(const char* model, const char* optimizer, const char* dtype,
                                  std::uint64_t parameters, std::uint64_t batch,
                                  std::uint64_t length, int steps_are, std::uint64_t first_step,
                                  int loader_workers, bool persistent_workers, bool device_data,
                                  std::uint64_t open_batch, std::uint64_t open_length,
                                  bool open_in_optimizer, double memory_fraction,
                                  std::uint64_t epoch_samples, const char* signs);
HIGHWATER_EXPORT void hw_mark(const char* text);
/// Offers a knob: see ScriptKnob. `choices` are lines. Returns why it cannot be shown, else "";
/// valid until the next call.
HIGHWATER_EXPORT const char* hw_offer_knob(const char* name, int kind, double value, double minimum,
                                           double maximum, const char* choices,
                                           const char* declared_at, const char* warning);
/// The script has given the knob that was offered as number `knob`, from 0, another value.
HIGHWATER_EXPORT void hw_knob_turned(std::uint64_t knob, double value);
/// As ScriptProbe::cutStep().
HIGHWATER_EXPORT void hw_cut_step();
/// As ScriptProbe::setPaused().
HIGHWATER_EXPORT void hw_set_paused(bool paused);
/// Changes what is observed: "off", "monitor" or "ops". The thread that trains only.
HIGHWATER_EXPORT void hw_set_level(const char* level);
/// Empties the cache of the device's allocator, if it is MPS. The wait is not recorded as the
/// script's.
HIGHWATER_EXPORT void hw_empty_cache();
/// Carries out a TryBlock but for its knob, between two steps. The thread that trains only.
HIGHWATER_EXPORT void hw_try_block(const std::uint32_t* call_sites, std::uint64_t count, int part);
/// The orders since the last call as a JSON list of [name, value]; null where there are none. The
/// value of "set_knob" is [number of the knob, its new value], that of "try" [call sites,
/// part, for a knob the same pair, else null].
/// Valid until the next call.
HIGHWATER_EXPORT const char* hw_poll_commands();
}
