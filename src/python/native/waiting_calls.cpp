#include "python/native/waiting_calls.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "probe/observer/thread_op_stack.h"
#include "probe/observer/tried_waits.h"
#include "python/native/python_symbol.h"

namespace highwater::python::waits {
namespace {

using events::SyncKind;
using PyObject = _object;

/// CPython's PyMethodDef, the only layout here besides the place of a function's pointer to it.
struct Definition {
  const char* name;
  void* function;
  int flags;
  const char* doc;
};
// How CPython calls the function: METH_… of its headers.
constexpr int kVarArgs = 1, kKeywords = 2, kNoArgs = 4, kOneArg = 8, kFastCall = 0x80;
constexpr int kConvention = kVarArgs | kKeywords | kNoArgs | kOneArg | kFastCall | 0x200;
constexpr int kMethodsSlot = 64;  // Py_tp_methods

/// A builtin function that waits.
struct Function {
  const char* holder;  ///< the module or type below torch that has it
  const char* name;
  const char* shown;  ///< what the user called
  SyncKind kind;
  bool onlySimulated = false;  ///< a Mac's does not wait
  bool givesNone = false;      ///< it returns None, and may be left out
};

/// An event's wait() and a stream's wait_event() only queue a command, and the counters and the
/// profiler do not wait either. A Mac's generator has its state on the host; the simulated device's
/// draws numbers in its queue.
constexpr Function kFunctions[] = {
    {"_C", "_mps_deviceSynchronize", "torch.mps.synchronize", SyncKind::Synchronize, false, true},
    {"_C", "_mps_emptyCache", "torch.mps.empty_cache", SyncKind::Synchronize, false, true},
    {"_C", "_mps_synchronizeEvent", "torch.mps.Event.synchronize", SyncKind::EventWait},
    {"_C", "_mps_elapsedTimeOfEvents", "torch.mps.Event.elapsed_time", SyncKind::EventWait},
    {"_C", "_accelerator_synchronizeDevice", "torch.accelerator.synchronize", SyncKind::Synchronize,
     false, true},
    {"_C", "_accelerator_emptyCache", "torch.accelerator.empty_cache", SyncKind::Synchronize, false,
     true},
    {"Event", "synchronize", "torch.Event.synchronize", SyncKind::EventWait},
    {"Event", "elapsed_time", "torch.Event.elapsed_time", SyncKind::EventWait},
    {"Stream", "synchronize", "torch.Stream.synchronize", SyncKind::Synchronize},
    {"_C._MPSStreamBase", "synchronize", "torch.mps.Stream.synchronize", SyncKind::Synchronize},
    {"Generator", "get_state", "torch.Generator.get_state", SyncKind::ValueRead, true},
    {"Generator", "set_state", "torch.Generator.set_state", SyncKind::Synchronize, true},
    {"Generator", "clone_state", "torch.Generator.clone_state", SyncKind::ValueRead, true},
};
constexpr std::size_t kCount = std::size(kFunctions);

/// PyTorch's own functions, by their index in kFunctions. Never reset: their definitions lead here
/// to the end of the process.
std::array<void*, kCount> originals{};

/// CPython's functions. Found at run time: the library links no Python.
struct Api {
  PyObject* (*attribute)(PyObject*, const char*) = nullptr;
  void (*decRef)(PyObject*) = nullptr;
  void (*clearError)() = nullptr;
  int (*isInstance)(PyObject*, PyObject*) = nullptr;
  void* (*slot)(PyObject*, int) = nullptr;
  void* (*functionOf)(PyObject*) = nullptr;
  const char* (*utf8)(PyObject*) = nullptr;
  PyObject* type = nullptr;
  PyObject* builtin = nullptr;
  PyObject* none = nullptr;
  void (*incRef)(PyObject*) = nullptr;
  bool isComplete = false;

  Api() {
    isComplete =
        findPythonSymbol("PyObject_GetAttrString", attribute) &&
        findPythonSymbol("Py_DecRef", decRef) && findPythonSymbol("PyErr_Clear", clearError) &&
        findPythonSymbol("PyObject_IsInstance", isInstance) &&
        findPythonSymbol("PyType_GetSlot", slot) &&
        findPythonSymbol("PyCFunction_GetFunction", functionOf) &&
        findPythonSymbol("PyUnicode_AsUTF8", utf8) && findPythonSymbol("_Py_NoneStruct", none) &&
        findPythonSymbol("Py_IncRef", incRef) && findPythonSymbol("PyType_Type", type) &&
        findPythonSymbol("PyCFunction_Type", builtin);
  }
};

const Api& api() {
  static const Api known;
  return known;
}

/// The object at a path below `object`, as a new reference; null where there is none.
PyObject* attributeOf(PyObject* object, std::string_view path) {
  const std::size_t end = path.find('.');
  PyObject* const found = api().attribute(object, std::string(path.substr(0, end)).c_str());
  if (!found) api().clearError();
  if (!found || end == std::string_view::npos) return found;
  PyObject* const inner = attributeOf(found, path.substr(end + 1));
  api().decRef(found);
  return inner;
}

/// Whether a torch.Generator is one of the simulated device. A CPU's waits for nothing.
bool isOfDevice(PyObject* generator) {
  PyObject* const type = attributeOf(generator, "device.type");
  if (!type) return false;
  const char* const text = api().utf8(type);
  const bool is = text && std::string_view(text) == "mps";
  if (!text) api().clearError();
  api().decRef(type);
  return is;
}

/// Begins the call on the thread's stack. Returns false where nothing is observed.
bool begin(const Function& called) noexcept {
  if (!probe::kernelsObserve.load(std::memory_order_relaxed)) return false;
  try {
    probe::OpStack* ops = probe::threadOpStack();
    if (ops) ops->beginCall(ops->name(called.shown), called.kind);
    return ops != nullptr;
  } catch (const std::exception&) {
    return false;  // no memory for this thread's stack
  }
}

/// Whether the user tries the training without this wait. A copy that goes on is waited for.
bool isLeftOut() noexcept {
  const auto tried = probe::triedWaitHere();
  return tried && tried->isLeftOut && !std::exchange(probe::copiesToHost, false);
}

template <std::size_t index, typename... Arguments>
PyObject* call(PyObject* self, Arguments... arguments) {
  if (kFunctions[index].givesNone && probe::triesWaits && isLeftOut()) {
    api().incRef(api().none);
    return api().none;
  }
  const bool waits = !kFunctions[index].onlySimulated || isOfDevice(self);
  const probe::OpenOp open(waits && begin(kFunctions[index]));
  return reinterpret_cast<PyObject* (*)(PyObject*, Arguments...)>(originals[index])(self,
                                                                                    arguments...);
}

/// The functions that take the place of PyTorch's, for one way of calling them.
template <typename... Arguments>
constexpr auto callers = []<std::size_t... index>(std::index_sequence<index...>) {
  return std::array<PyObject* (*)(PyObject*, Arguments...), kCount>{&call<index, Arguments...>...};
}
(std::make_index_sequence<kCount>());

/// Null where the function is called in a way that is not known here.
void* callerOf(std::size_t index, int flags) {
  switch (flags & kConvention) {
    case kNoArgs:
    case kOneArg:
    case kVarArgs:
      return reinterpret_cast<void*>(callers<PyObject*>[index]);
    case kVarArgs | kKeywords:
      return reinterpret_cast<void*>(callers<PyObject*, PyObject*>[index]);
    case kFastCall:
      return reinterpret_cast<void*>(callers<PyObject* const*, std::ptrdiff_t>[index]);
    case kFastCall | kKeywords:
      return reinterpret_cast<void*>(callers<PyObject* const*, std::ptrdiff_t, PyObject*>[index]);
    default:
      return nullptr;
  }
}

/// Whether the pointer may be replaced: the system refuses to read into memory that is constant.
bool isWritable(void** pointer) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return false;
  void* const value = *pointer;
  const bool done = ::write(ends[1], &value, sizeof(value)) == sizeof(value) &&
                    ::read(ends[0], pointer, sizeof(value)) == sizeof(value);
  for (const int end : ends) ::close(end);
  return done;
}

/// The definition of a method of a builtin type.
Definition* methodOf(PyObject* type, std::string_view name) {
  auto* definition = static_cast<Definition*>(api().slot(type, kMethodsSlot));
  if (!definition) api().clearError();
  while (definition && definition->name && definition->name != name) ++definition;
  return definition && definition->name ? definition : nullptr;
}

/// The definition of a builtin function, which follows the head that all objects have.
Definition* functionOf(PyObject* function, std::size_t headBytes) {
  if (api().isInstance(function, api().builtin) != 1) return nullptr;
  void* found = nullptr;
  std::memcpy(&found, reinterpret_cast<const char*>(function) + headBytes, sizeof(void*));
  auto* const definition = static_cast<Definition*>(found);
  return definition && definition->function == api().functionOf(function) ? definition : nullptr;
}

/// Returns false where the function is there and cannot be watched.
bool watch(PyObject* torch, std::size_t headBytes, std::size_t index) {
  const Function& wanted = kFunctions[index];
  PyObject* const holder = attributeOf(torch, wanted.holder);
  PyObject* const function = holder ? attributeOf(holder, wanted.name) : nullptr;
  bool ok = true;
  if (function) {
    Definition* const definition = api().isInstance(holder, api().type) == 1
                                       ? methodOf(holder, wanted.name)
                                       : functionOf(function, headBytes);
    void* const caller = definition ? callerOf(index, definition->flags) : nullptr;
    ok = caller && (definition->function == caller || isWritable(&definition->function));
    if (ok && definition->function != caller) {
      originals[index] = definition->function;
      __atomic_store_n(&definition->function, caller, __ATOMIC_RELEASE);
    }
    api().decRef(function);
  }
  if (holder) api().decRef(holder);
  return ok;
}

}  // namespace

std::string watchWaitingCalls(PyObject* torch, std::size_t headBytes, bool isSimulated) {
  std::string missed;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (kFunctions[i].onlySimulated && !isSimulated) continue;
    if (api().isComplete && watch(torch, headBytes, i)) continue;
    missed.append(missed.empty() ? "" : ", ").append(kFunctions[i].shown);
  }
  return missed;
}

}  // namespace highwater::python::waits
