#include "python/native/interpreter.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/definition_table.h"
#include "python/native/python_symbol.h"

namespace highwater::python {
namespace {

// CPython's types, whose layout is not looked at.
struct PyObject;
struct PyFrameObject;
struct PyCodeObject;

/// CPython's functions, as its headers declare them. Found at run time: the library links no
/// Python.
struct Api {
  int (*isInitialized)() = nullptr;
  int (*isFinalizing)() = nullptr;
  void* (*threadState)() = nullptr;
  int (*ensureGil)() = nullptr;
  void (*releaseGil)(int) = nullptr;
  PyFrameObject* (*frame)() = nullptr;
  PyFrameObject* (*back)(PyFrameObject*) = nullptr;
  PyCodeObject* (*code)(PyFrameObject*) = nullptr;
  int (*lastInstruction)(PyFrameObject*) = nullptr;  ///< since 3.11
  int (*lineNumber)(PyFrameObject*) = nullptr;
  void (*incRef)(PyObject*) = nullptr;
  void (*decRef)(PyObject*) = nullptr;
  PyObject* (*attribute)(PyObject*, const char*) = nullptr;
  const char* (*utf8)(PyObject*, std::ptrdiff_t*) = nullptr;
  PyObject* (*error)() = nullptr;
  void (*clearError)() = nullptr;
  bool isComplete = false;

  Api() {
    findPythonSymbol("Py_IsInitialized", isInitialized);
    // Renamed in 3.13.
    if (!findPythonSymbol("Py_IsFinalizing", isFinalizing))
      findPythonSymbol("_Py_IsFinalizing", isFinalizing);
    findPythonSymbol("PyFrame_GetLasti", lastInstruction);
    isComplete =
        isInitialized && findPythonSymbol("PyGILState_GetThisThreadState", threadState) &&
        findPythonSymbol("PyGILState_Ensure", ensureGil) &&
        findPythonSymbol("PyGILState_Release", releaseGil) &&
        findPythonSymbol("PyEval_GetFrame", frame) && findPythonSymbol("PyFrame_GetBack", back) &&
        findPythonSymbol("PyFrame_GetCode", code) &&
        findPythonSymbol("PyFrame_GetLineNumber", lineNumber) &&
        findPythonSymbol("Py_IncRef", incRef) && findPythonSymbol("Py_DecRef", decRef) &&
        findPythonSymbol("PyObject_GetAttrString", attribute) &&
        findPythonSymbol("PyUnicode_AsUTF8AndSize", utf8) &&
        findPythonSymbol("PyErr_Occurred", error) && findPythonSymbol("PyErr_Clear", clearError);
  }
};

const Api& python() {
  static const auto* api = new Api;  // threads may outlive the statics
  return *api;
}

/// Frames that identify a stack. Deeper ones do not tell two waits of a training apart.
constexpr std::size_t kMostFrames = 64;

std::vector<std::string>& libraryFolders() {
  static auto* folders = new std::vector<std::string>;  // threads may outlive the statics
  return *folders;
}

/// Releases a Python object.
template <typename T>
class Reference {
 public:
  explicit Reference(T* object) : object_(object) {}
  ~Reference() {
    if (object_) python().decRef(reinterpret_cast<PyObject*>(object_));
  }
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  [[nodiscard]] T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_;
};

class Gil {
 public:
  Gil() : state_(python().ensureGil()) {}
  ~Gil() { python().releaseGil(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  int state_;
};

bool canAsk() {
  const Api& api = python();
  return api.isComplete && api.isInitialized() && !(api.isFinalizing && api.isFinalizing()) &&
         api.threadState() != nullptr;
}

/// The innermost frame; borrowed by Python, referenced here.
Reference<PyFrameObject> innermostFrame() {
  PyFrameObject* frame = python().frame();
  if (frame) python().incRef(reinterpret_cast<PyObject*>(frame));
  return Reference(frame);
}

std::string textOf(PyCodeObject* code, const char* attribute) {
  const Reference text(python().attribute(reinterpret_cast<PyObject*>(code), attribute));
  std::ptrdiff_t size = 0;
  const char* bytes = text ? python().utf8(text.get(), &size) : nullptr;
  if (!bytes) {
    python().clearError();
    return {};
  }
  return {bytes, static_cast<std::size_t>(size)};
}

bool isUsers(std::string_view file) {
  if (file.empty() || file.front() == '<') return false;
  // Packages may also come from another environment, by a .pth file or PYTHONPATH.
  for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
    if (file.find(packages) != std::string_view::npos) return false;
  }
  const auto& folders = libraryFolders();
  return std::none_of(folders.begin(), folders.end(),
                      [file](const std::string& folder) { return file.starts_with(folder); });
}

/// "trainer.py" of "/usr/lib/.../transformers/trainer.py", with its package:
/// "transformers/trainer.py".
std::string shortFile(std::string_view file) {
  const std::size_t name = file.rfind('/');
  if (name == std::string_view::npos || name == 0) return std::string(file);
  const std::size_t folder = file.rfind('/', name - 1);
  return std::string(file.substr(folder == std::string_view::npos ? 0 : folder + 1));
}

/// The places of the stack that begins at `frame`, the user's innermost first.
std::vector<probe::SourcePlace> placesOf(Reference<PyFrameObject> frame) {
  std::vector<probe::SourcePlace> places;
  std::string library;  // the innermost frame that is not the user's
  for (; frame && places.size() < probe::CallSites::kKept;
       frame = Reference(python().back(frame.get()))) {
    const Reference code(python().code(frame.get()));
    const std::string file = textOf(code.get(), "co_filename");
    std::string function = textOf(code.get(), "co_qualname");
    if (function.empty()) function = textOf(code.get(), "co_name");
    const int line = python().lineNumber(frame.get());
    if (isUsers(file)) {
      if (places.empty() && !library.empty()) function.append(kInLibrary).append(library);
      places.push_back({std::move(function), file, static_cast<std::uint32_t>(std::max(line, 0))});
    } else if (library.empty() && !file.empty() && file.front() != '<' &&
               file.find("/torch/") == std::string::npos) {
      library = shortFile(file) + ":" + std::to_string(line) + " " + function;
    }
  }
  return places;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

/// Identifies the stack by its code objects and positions. `keep` gets the code objects.
std::uint64_t hashOfStack(std::array<PyCodeObject*, kMostFrames>& keep, std::size_t& count) {
  std::uint64_t hash = 0x243F6A8885A308D3u;
  count = 0;
  for (auto frame = innermostFrame(); frame && count < kMostFrames;
       frame = Reference(python().back(frame.get()))) {
    PyCodeObject* code = python().code(frame.get());
    keep[count++] = code;
    const int at = python().lastInstruction ? python().lastInstruction(frame.get())
                                            : python().lineNumber(frame.get());
    hash = mix(mix(hash, reinterpret_cast<std::uintptr_t>(code)), static_cast<std::uint64_t>(at));
  }
  return hash;
}

}  // namespace

void setLibraryFolders(std::vector<std::string> folders) {
  libraryFolders() = std::move(folders);
}

CallSiteId pythonCallSite(probe::CallSites& sites) noexcept {
  if (!canAsk()) return kNoId;
  const Gil gil;
  if (python().error()) return kNoId;  // the op throws: asking could replace its exception
  std::array<PyCodeObject*, kMostFrames> codes;
  std::size_t count = 0;
  const std::uint64_t hash = hashOfStack(codes, count);
  // The GIL guards it. Never destroyed: threads may outlive the statics.
  static auto* known = new std::unordered_map<std::uint64_t, CallSiteId>;
  static const probe::CallSites* knownOf = nullptr;
  if (std::exchange(knownOf, &sites) != &sites) known->clear();  // a forked child observes anew
  const auto found = known->find(hash);
  // The code objects of a known stack stay referenced, so that their addresses stay theirs.
  const bool isNew = found == known->end();
  CallSiteId id = isNew ? kNoId : found->second;
  if (isNew && count > 0) {
    id = sites.internPlaces(placesOf(innermostFrame()));
    known->emplace(hash, id);
  } else {
    for (std::size_t i = 0; i < count; ++i) python().decRef(reinterpret_cast<PyObject*>(codes[i]));
  }
  return id;
}

}  // namespace highwater::python
