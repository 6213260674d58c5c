#pragma once

#include <objc/message.h>
#include <objc/runtime.h>

/// Objective-C objects from C++, through the runtime: for the few calls that macOS offers in no
/// other way.
extern "C" {
// Exported by libobjc for compilers: "Runtime support" in clang's document on Automatic Reference
// Counting. <objc/runtime.h> does not declare them.
void* objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void* pool);
}

namespace highwater::objc {

/// Releases what calls in its scope autorelease. A thread without a run loop has no other pool.
class AutoreleasePool {
 public:
  AutoreleasePool() : pool_(::objc_autoreleasePoolPush()) {}
  ~AutoreleasePool() { ::objc_autoreleasePoolPop(pool_); }
  AutoreleasePool(const AutoreleasePool&) = delete;
  AutoreleasePool& operator=(const AutoreleasePool&) = delete;

 private:
  void* pool_;
};

/// Sends a message to an object, or to nil, which answers 0. Result and Args must be exactly the
/// types of the method: objc_msgSend() jumps to it with the registers as they are.
template <typename Result, typename... Args>
Result send(id receiver, const char* selector, Args... args) {
  using Method = Result (*)(id, SEL, Args...);
  return reinterpret_cast<Method>(&::objc_msgSend)(receiver, ::sel_registerName(selector), args...);
}

/// Returns a class as the receiver of its class methods; nil where the class is not loaded.
inline id classNamed(const char* name) {
  return reinterpret_cast<id>(::objc_getClass(name));
}

/// Whether an object has a method of this name: later systems have more.
inline bool responds(id object, const char* selector) {
  return object && send<BOOL>(object, "respondsToSelector:", ::sel_registerName(selector));
}

/// Foundation's NSProcessInfo of this process; nil where Foundation is not loaded.
inline id processInfo() {
  const id type = classNamed("NSProcessInfo");
  return type ? send<id>(type, "processInfo") : nullptr;
}

}  // namespace highwater::objc
