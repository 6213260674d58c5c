#include "python/native/python_calls.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "python/native/python_symbol.h"

namespace highwater::python::calls {
namespace {

// CPython's types and constants, as its headers have had them since 3.9. The objects' layout is not
// looked at.
using PyObject = _object;
using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, std::ptrdiff_t);
struct MethodDefinition {
  const char* name;
  FastFunction function;
  int flags;
  const char* doc;
};
constexpr int kMethFastCall = 0x80;

/// CPython's functions. Found at run time: the library links no Python.
struct Api {
  PyObject* none = nullptr;
  PyObject** typeError = nullptr;
  void (*incRef)(PyObject*) = nullptr;
  void (*decRef)(PyObject*) = nullptr;
  PyObject* (*makeFunction)(MethodDefinition*, PyObject*, PyObject*) = nullptr;
  PyObject* (*makeTuple)(std::ptrdiff_t, ...) = nullptr;
  PyObject* (*tupleItem)(PyObject*, std::ptrdiff_t) = nullptr;
  PyObject* (*makeDict)() = nullptr;
  int (*setItem)(PyObject*, const char*, PyObject*) = nullptr;
  PyObject* (*item)(PyObject*, PyObject*) = nullptr;
  PyObject* (*numberOf)(void*) = nullptr;
  unsigned long long (*toNumber)(PyObject*) = nullptr;
  char* (*bytes)(PyObject*) = nullptr;
  int (*isTrue)(PyObject*) = nullptr;
  PyObject* (*call)(PyObject*, ...) = nullptr;
  PyObject* (*error)() = nullptr;
  void (*setError)(PyObject*, const char*) = nullptr;
  bool isComplete = false;

  Api() {
    isComplete = findPythonSymbol("_Py_NoneStruct", none) &&
                 findPythonSymbol("PyExc_TypeError", typeError) &&
                 findPythonSymbol("Py_IncRef", incRef) && findPythonSymbol("Py_DecRef", decRef) &&
                 findPythonSymbol("PyCFunction_NewEx", makeFunction) &&
                 findPythonSymbol("PyTuple_Pack", makeTuple) &&
                 findPythonSymbol("PyTuple_GetItem", tupleItem) &&
                 findPythonSymbol("PyDict_New", makeDict) &&
                 findPythonSymbol("PyDict_SetItemString", setItem) &&
                 findPythonSymbol("PyDict_GetItemWithError", item) &&
                 findPythonSymbol("PyLong_FromVoidPtr", numberOf) &&
                 findPythonSymbol("PyLong_AsUnsignedLongLong", toNumber) &&
                 findPythonSymbol("PyBytes_AsString", bytes) &&
                 findPythonSymbol("PyObject_IsTrue", isTrue) &&
                 findPythonSymbol("PyObject_CallFunctionObjArgs", call) &&
                 findPythonSymbol("PyErr_Occurred", error) &&
                 findPythonSymbol("PyErr_SetString", setError);
  }
};

// Not in a function, which would check at each use whether it is made. Its destructor does nothing.
const Api api;

/// The modules that are open on a thread.
struct OpenModules {
  std::uint32_t depth = 0;
  PyObject* call = nullptr;  ///< what outermost() returned; owned while depth is not 0
  PyObject* paths = nullptr;
  bool hasPhase = false;
};
thread_local OpenModules opened;

PyObject* newNone() {
  api.incRef(api.none);
  return api.none;
}

PyObject* wrongArguments() {
  api.setError(*api.typeError, "wrong number of arguments");
  return nullptr;
}

PyObject* enterOutermost(PyObject* callbacks, PyObject* const* arguments) {
  PyObject* const outermost = api.tupleItem(callbacks, 0);
  PyObject* const call = api.call(outermost, arguments[0], arguments[1], arguments[2],
                                  static_cast<PyObject*>(nullptr));
  if (!call || call == api.none) return call;
  PyObject* const paths = api.tupleItem(call, 0);
  PyObject* const nameObject = api.tupleItem(call, 1);
  PyObject* const phaseObject = api.tupleItem(call, 2);
  const char* const name = nameObject ? api.bytes(nameObject) : nullptr;
  const char* const phase = phaseObject ? api.bytes(phaseObject) : nullptr;
  if (!name || !phase) {
    api.decRef(call);
    return nullptr;
  }
  opened = {1, call, paths, *phase != '\0'};
  if (opened.hasPhase) hw_begin_phase(phase);
  hw_enter_module(name);
  return newNone();
}

PyObject* enterModule(PyObject* callbacks, PyObject* const* arguments, std::ptrdiff_t count) {
  if (count != 3) return wrongArguments();
  if (!hw_is_running()) return newNone();
  if (opened.depth == 0) return enterOutermost(callbacks, arguments);
  PyObject* const module = arguments[0];
  PyObject* const key = api.numberOf(module);
  if (!key) return nullptr;
  PyObject* name = api.item(opened.paths, key);
  api.decRef(key);
  if (!name && api.error()) return nullptr;
  PyObject* made = nullptr;
  if (!name) {
    made =
        api.call(api.tupleItem(callbacks, 1), opened.call, module, static_cast<PyObject*>(nullptr));
    name = made;
  }
  const char* const text = name ? api.bytes(name) : nullptr;
  if (text) {
    ++opened.depth;
    hw_enter_module(text);
  }
  if (made) api.decRef(made);
  return text ? newNone() : nullptr;
}

PyObject* leaveModule(PyObject*, PyObject* const*, std::ptrdiff_t) {
  if (opened.depth == 0) return newNone();
  hw_leave_module();
  if (--opened.depth == 0) {
    if (opened.hasPhase) hw_end_phase();
    PyObject* const call = opened.call;
    opened = {};
    api.decRef(call);
  }
  return newNone();
}

PyObject* beginPhase(PyObject*, PyObject* const* arguments, std::ptrdiff_t count) {
  if (count != 1) return wrongArguments();
  const char* const key = api.bytes(arguments[0]);
  if (!key) return nullptr;
  hw_begin_phase(key);
  return newNone();
}

PyObject* endPhase(PyObject*, PyObject* const*, std::ptrdiff_t) {
  hw_end_phase();
  return newNone();
}

PyObject* beginStep(PyObject*, PyObject* const* arguments, std::ptrdiff_t count) {
  if (count != 2) return wrongArguments();
  const auto step = api.toNumber(arguments[0]);
  const int late = api.isTrue(arguments[1]);
  if (api.error()) return nullptr;
  hw_begin_step(step, late != 0);
  return newNone();
}

PyObject* endStep(PyObject*, PyObject* const* arguments, std::ptrdiff_t count) {
  if (count != 5) return wrongArguments();
  std::array<std::uint64_t, 4> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = api.toNumber(arguments[i]);
  const int late = api.isTrue(arguments[4]);
  if (api.error()) return nullptr;
  hw_end_step(numbers[0], numbers[1], numbers[2], numbers[3], late != 0);
  return newNone();
}

PyObject* noteStepBegin(PyObject*, PyObject* const*, std::ptrdiff_t) {
  hw_note_step_begin();
  return newNone();
}

PyObject* noteStepEnd(PyObject*, PyObject* const*, std::ptrdiff_t) {
  hw_note_step_end();
  return newNone();
}

/// CPython keeps the addresses.
std::array<MethodDefinition, 8> functions{{
    {"enter_module", &enterModule, kMethFastCall, nullptr},
    {"leave_module", &leaveModule, kMethFastCall, nullptr},
    {"begin_phase", &beginPhase, kMethFastCall, nullptr},
    {"end_phase", &endPhase, kMethFastCall, nullptr},
    {"begin_step", &beginStep, kMethFastCall, nullptr},
    {"end_step", &endStep, kMethFastCall, nullptr},
    {"note_step_begin", &noteStepBegin, kMethFastCall, nullptr},
    {"note_step_end", &noteStepEnd, kMethFastCall, nullptr},
}};

PyObject* make(PyObject* outermost, PyObject* missing) {
  PyObject* const callbacks = api.makeTuple(2, outermost, missing);
  PyObject* const made = api.makeDict();
  bool ok = callbacks && made;
  for (MethodDefinition& each : functions) {
    PyObject* const function = ok ? api.makeFunction(&each, callbacks, nullptr) : nullptr;
    ok = function && api.setItem(made, each.name, function) == 0;
    if (function) api.decRef(function);
  }
  if (callbacks) api.decRef(callbacks);
  if (!ok && made) api.decRef(made);
  return ok ? made : nullptr;
}

}  // namespace
}  // namespace highwater::python::calls

bool hw_has_python_calls() {
  return highwater::python::calls::api.isComplete;
}

_object* hw_python_calls(_object* outermost, _object* missing) {
  return highwater::python::calls::make(outermost, missing);
}
