#include "python/native/interpreter.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>
#include <memory>
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
  int (*pendingCall)(int (*)(void*), void*) = nullptr;
  bool isComplete = false;

  Api() {
    findPythonSymbol("Py_IsInitialized", isInitialized);
    // Renamed in 3.13.
    if (!findPythonSymbol("Py_IsFinalizing", isFinalizing))
      findPythonSymbol("_Py_IsFinalizing", isFinalizing);
    findPythonSymbol("PyFrame_GetLasti", lastInstruction);
    findPythonSymbol("Py_AddPendingCall", pendingCall);
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

/// Whether the interpreter is there, and not about to end.
bool isRunning() {
  const Api& api = python();
  return api.isComplete && api.isInitialized() && !(api.isFinalizing && api.isFinalizing());
}

bool canAsk() {
  return isRunning() && python().threadState() != nullptr;
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

/// What is said of a code object.
struct Code {
  std::string file, function;
  bool isUsers = false;
  bool isShown = false;  ///< where the user's line called it: a library's, but not PyTorch's own
};

/// Whether a file of a library tells more than the user's line that called it. Of PyTorch's only
/// torch.distributions does, which reads values to check its arguments.
bool isTelling(const std::string& file) {
  return !file.empty() && file.front() != '<' &&
         (file.find("/torch/") == std::string::npos ||
          file.find("/torch/distributions/") != std::string::npos);
}

Code codeOf(PyCodeObject* code) {
  Code found{textOf(code, "co_filename"), textOf(code, "co_qualname")};
  if (found.function.empty()) found.function = textOf(code, "co_name");
  found.isUsers = isUsers(found.file);
  found.isShown = !found.isUsers && isTelling(found.file);
  return found;
}

/// The frames of a stack by which its place is known.
struct KnownStack {
  struct Frame {
    std::shared_ptr<const Code> code;
    std::uint32_t line = 0;
  };
  std::vector<Frame> users;  ///< innermost first
  Frame library;             ///< the innermost that is shown inside of the user's; or without code
  std::uint64_t hash = 0x243F6A8885A308D3u;
};

/// The places of a stack, the user's innermost first.
std::vector<probe::SourcePlace> placesOf(const KnownStack& stack) {
  std::vector<probe::SourcePlace> places;
  for (const auto& [code, line] : stack.users) places.push_back({code->function, code->file, line});
  if (const auto& [code, line] = stack.library; code && !places.empty()) {
    places[0]
        .function.append(kInLibrary)
        .append(shortFile(code->file) + ":" + std::to_string(line) + " " + code->function);
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

/// What was found out about code objects and stacks. The GIL guards it.
class Knowledge {
 public:
  /// Never destroyed: threads may outlive the statics.
  static Knowledge& of(const probe::CallSites& sites) {
    static auto* knowledge = new Knowledge;
    if (std::exchange(knowledge->sites_, &sites) != &sites) {
      knowledge->waits.clear();  // a forked child observes anew
      knowledge->samples.clear();
      knowledge->sampleSites = 0;
    }
    return *knowledge;
  }

  std::unordered_map<std::uint64_t, CallSiteId> waits;    ///< by hashOfStack()
  std::unordered_map<std::uint64_t, CallSiteId> samples;  ///< by the hash of a KnownStack
  std::size_t sampleSites = 0;  ///< that were made, also those that `samples` has forgotten

  KnownStack stackOf(Reference<PyFrameObject> frame) {
    KnownStack stack;
    for (; frame && stack.users.size() < probe::CallSites::kKept;
         frame = Reference(python().back(frame.get()))) {
      Reference code(python().code(frame.get()));
      const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(code.get());
      std::shared_ptr<const Code> known = find(std::move(code));
      const bool isLibrary = known->isShown && stack.users.empty() && !stack.library.code;
      if (!known->isUsers && !isLibrary) continue;
      const int line = std::max(python().lineNumber(frame.get()), 0);
      stack.hash = mix(mix(stack.hash, address), static_cast<std::uint64_t>(line));
      KnownStack::Frame found{std::move(known), static_cast<std::uint32_t>(line)};
      if (isLibrary) {
        stack.library = std::move(found);
      } else {
        stack.users.push_back(std::move(found));
      }
    }
    return stack;
  }

 private:
  // A program that makes code all the time, as a notebook does, must not keep all of it.
  static constexpr std::size_t kMostCodes = 8192;

  std::shared_ptr<const Code> find(Reference<PyCodeObject> code) {
    PyCodeObject* const address = code.get();
    if (const auto found = codes_.find(address); found != codes_.end()) return found->second.second;
    auto made = std::make_shared<const Code>(codeOf(address));
    if (codes_.size() >= kMostCodes) {
      samples.clear();                    // what has their addresses now may be another
      std::exchange(codes_, {}).clear();  // not in place: that may run code of the user's
    }
    codes_.insert_or_assign(address, std::pair(std::move(code), made));
    return made;
  }

  const probe::CallSites* sites_ = nullptr;
  // Referenced, so that their addresses stay theirs.
  std::unordered_map<PyCodeObject*, std::pair<Reference<PyCodeObject>, std::shared_ptr<const Code>>>
      codes_;
};

/// Innermost first, without a function that has run nothing yet: Python looks for interruptions at
/// its first instruction, and what took the time was its caller.
Reference<PyFrameObject> interruptedFrame() {
  auto frame = innermostFrame();
  const bool hasBegun =
      !frame || !python().lastInstruction || python().lastInstruction(frame.get()) > 0;
  if (hasBegun) return frame;
  auto caller = Reference(python().back(frame.get()));
  return caller ? std::move(caller) : std::move(frame);
}

// Beyond it samples have no library's frame, and beyond twice that no call site: the others, of
// waits, must find room.
constexpr std::size_t kMostSampleSites = 8192;

}  // namespace

void setLibraryFolders(std::vector<std::string> folders) {
  libraryFolders() = std::move(folders);
}

bool callOnMainThread(int (*call)(void*)) noexcept {
  const Api& api = python();
  return api.pendingCall && isRunning() && api.pendingCall(call, nullptr) == 0;
}

bool noticesCalls() {
  using Version = const char* (*)();
  Version version = nullptr;
  if (!findPythonSymbol("Py_GetVersion", version)) return true;
  int major = 0, minor = 0;
  return std::sscanf(version(), "%d.%d", &major, &minor) != 2 ||
         std::pair(major, minor) >= std::pair(3, 13);
}

void passGil() {
  if (!isRunning()) return;
  const Gil gil;
}

CallSiteId interruptedCallSite(probe::CallSites& sites) {
  if (!canAsk() || python().error()) return kNoId;
  Knowledge& knowledge = Knowledge::of(sites);
  KnownStack stack = knowledge.stackOf(interruptedFrame());
  if (stack.users.empty()) return kNoId;
  const auto found = knowledge.samples.find(stack.hash);
  if (found != knowledge.samples.end()) return found->second;
  if (knowledge.sampleSites >= 2 * kMostSampleSites) return kOtherId;
  if (knowledge.sampleSites >= kMostSampleSites) stack.library = {};
  ++knowledge.sampleSites;
  const CallSiteId id = sites.internPlaces(placesOf(stack));
  knowledge.samples.emplace(stack.hash, id);
  return id;
}

CallSiteId pythonCallSite(probe::CallSites& sites) noexcept {
  if (!canAsk()) return kNoId;
  const Gil gil;
  if (python().error()) return kNoId;  // the op throws: asking could replace its exception
  std::array<PyCodeObject*, kMostFrames> codes;
  std::size_t count = 0;
  const std::uint64_t hash = hashOfStack(codes, count);
  Knowledge& knowledge = Knowledge::of(sites);
  const auto found = knowledge.waits.find(hash);
  // The code objects of a known stack stay referenced, so that their addresses stay theirs.
  const bool isNew = found == knowledge.waits.end();
  CallSiteId id = isNew ? kNoId : found->second;
  if (isNew && count > 0) {
    id = sites.internPlaces(placesOf(knowledge.stackOf(innermostFrame())));
    knowledge.waits.emplace(hash, id);
  } else {
    for (std::size_t i = 0; i < count; ++i) python().decRef(reinterpret_cast<PyObject*>(codes[i]));
  }
  return id;
}

bool mayLeaveOutHere() noexcept {
  if (!canAsk()) return false;
  const Gil gil;
  try {
    const auto frame = innermostFrame();
    const std::string file =
        frame ? textOf(Reference(python().code(frame.get())).get(), "co_filename") : std::string();
    if (file.empty()) return false;
    if (file.find("/torch/") == std::string::npos) return true;
    constexpr std::string_view kHarmless[] = {"/torch/_tensor.py", "/torch/_tensor_str.py",
                                              "/torch/mps/", "/torch/accelerator/"};
    return std::any_of(std::begin(kHarmless), std::end(kHarmless),
                       [&](std::string_view each) { return file.find(each) != std::string::npos; });
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace highwater::python
