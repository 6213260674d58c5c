#pragma once

#include "python/native/exports.h"

struct _object;

extern "C" {

/// Whether this interpreter has what hw_python_calls() needs.
HIGHWATER_EXPORT bool hw_has_python_calls();

/// Makes what Python calls at every module, phase and step, as builtin functions: a call costs half
/// of one through ctypes, and the calls of a module within another run no Python code. Returns a
/// new dictionary of them by name; null with a Python error where that fails. Under the GIL.
///
/// `enter_module(module, args, kwargs)` enters the module below the one that is open on the thread.
/// Outside of any it calls `outermost(module, args, kwargs)`, which returns None where the call is
/// not watched, else a tuple that begins with the paths of the modules below it (a dictionary from
/// id to bytes), its own name and its phase (bytes; an empty one for none). For a module without a
/// path it calls `missing(tuple, module)`, which returns the path. `leave_module(entered)` leaves
/// it.
///
/// The others are begin_phase(key), end_phase(), begin_step(step, late), end_step(step, batch,
/// length, micro_steps, late), note_step_begin() and note_step_end(): see exports.h.
HIGHWATER_EXPORT _object* hw_python_calls(_object* outermost, _object* missing);
}
