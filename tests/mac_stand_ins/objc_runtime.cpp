// The Objective-C runtime of a made-up Mac, with NSProcessInfo and NSString. Does not include
// <objc/message.h>: there objc_msgSend() has no arguments, because each call has others.
#include <objc/runtime.h>

#include <deque>
#include <set>
#include <string>

#include "mac_stand_ins/mac.h"

struct objc_class {
  std::string name;
};
struct objc_selector {
  std::string name;
};
/// An object of any class.
struct objc_object {
  std::string type;
  std::string text;
  std::size_t activity = 0;
};

using highwater::test::mac;

namespace {

// Kept for the life of the process: tests look at what was released by counts.
std::deque<objc_object> objects;

id make(const std::string& type) {
  objects.push_back({type, {}, 0});
  return &objects.back();
}

id processInfo() {
  static const id only = make("NSProcessInfo instance");
  return only;
}

bool isMethod(const std::string& name) {
  static const std::set<std::string> methods = {"thermalState", "isLowPowerModeEnabled",
                                                "beginActivityWithOptions:reason:", "endActivity:"};
  return methods.contains(name) && !mac().lackedMethods.contains(name);
}

std::uintptr_t number(id object) {
  return reinterpret_cast<std::uintptr_t>(object);
}

/// An unknown message ends a program on a Mac.
[[noreturn]] void unrecognized(const std::string& selector) {
  std::fprintf(stderr, "unrecognized selector %s\n", selector.c_str());
  std::abort();
}

std::uintptr_t sendToProcessInfo(const std::string& selector, std::uintptr_t first,
                                 std::uintptr_t second) {
  if (selector == "respondsToSelector:") {
    return isMethod(reinterpret_cast<SEL>(first)->name) ? 1 : 0;
  }
  if (!isMethod(selector)) unrecognized(selector);
  if (selector == "thermalState") return static_cast<std::uintptr_t>(mac().thermalState);
  if (selector == "isLowPowerModeEnabled") return mac().lowPower ? 1 : 0;
  if (selector == "endActivity:") {
    mac().activities.at(reinterpret_cast<id>(first)->activity).ended = true;
    return 0;
  }
  if (mac().refusesActivities) return 0;
  const id token = make("activity");
  token->activity = mac().activities.size();
  mac().activities.push_back({reinterpret_cast<id>(second)->text, first, false, 0});
  return number(token);
}

}  // namespace

extern "C" {

Class objc_getClass(const char* name) {
  static objc_object processInfoClass{"NSProcessInfo", {}, 0}, stringClass{"NSString", {}, 0};
  if (!mac().hasFoundation) return nullptr;
  const std::string text = name;
  id found = text == "NSProcessInfo" ? &processInfoClass
             : text == "NSString"    ? &stringClass
                                     : nullptr;
  return reinterpret_cast<Class>(found);
}

SEL sel_registerName(const char* name) {
  static std::deque<objc_selector> selectors;
  for (objc_selector& each : selectors) {
    if (each.name == name) return &each;
  }
  selectors.push_back({name});
  return &selectors.back();
}

void* objc_autoreleasePoolPush(void) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(++mac().openPools));
}
void objc_autoreleasePoolPop(void* pool) {
  // Pools are a stack.
  if (reinterpret_cast<std::intptr_t>(pool) != mac().openPools) std::abort();
  --mac().openPools;
}

/// Called through pointers to functions with fewer arguments: the missing ones are not read. All
/// results fit a register.
std::uintptr_t objc_msgSend(id receiver, SEL selector, std::uintptr_t first,
                            std::uintptr_t second) {
  if (mac().openPools == 0) ++mac().messagesOutsideOfPools;
  if (!receiver) return 0;
  const std::string& name = selector->name;
  if (receiver->type == "NSProcessInfo") {
    if (name == "processInfo") return number(processInfo());
  } else if (receiver->type == "NSString") {
    if (name == "stringWithUTF8String:") {
      const id text = make("string");
      text->text = reinterpret_cast<const char*>(first);
      return number(text);
    }
  } else if (receiver->type == "activity") {
    int& retains = mac().activities.at(receiver->activity).retains;
    if (name == "retain") return ++retains, number(receiver);
    if (name == "release") return --retains, 0;
  } else if (receiver == processInfo()) {
    return sendToProcessInfo(name, first, second);
  }
  unrecognized(name);
}
}
