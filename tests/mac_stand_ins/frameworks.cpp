// CoreFoundation, IOKit, Mach, sysctl and dyld of a made-up Mac.
#include <IOKit/IOKitLib.h>
#include <mach-o/dyld.h>
#include <sys/qos.h>

#include <cmath>
#include <cstring>

#include "mac_stand_ins/mac.h"

namespace highwater::test {
namespace {

/// A CoreFoundation object of any type.
struct CfObject {
  enum class Type : std::uint8_t { kString = 1, kDictionary, kNumber, kOther };
  Type type = Type::kOther;
  std::string text;
  std::map<std::string, CfObject> values;
  std::variant<std::int64_t, double> number;
};

const CfObject& objectOf(CFTypeRef reference) {
  return *static_cast<const CfObject*>(reference);
}

CFTypeID idOf(CfObject::Type type) {
  return static_cast<CFTypeID>(type);
}

CfObject objectOf(const Statistic& statistic) {
  CfObject object;
  if (std::holds_alternative<OtherType>(statistic)) return object;
  object.type = CfObject::Type::kNumber;
  if (const auto* whole = std::get_if<std::int64_t>(&statistic)) object.number = *whole;
  if (const auto* real = std::get_if<double>(&statistic)) object.number = *real;
  return object;
}

// IOKit's names of objects: the iterator, and the accelerators from kFirst on.
constexpr io_object_t kIterator = 1, kFirst = 2;
std::size_t nextAccelerator = 0;

}  // namespace

Mac& mac() {
  static Mac theMac;
  return theMac;
}

}  // namespace highwater::test

using highwater::test::CfObject;
using highwater::test::mac;

CFStringRef standInString(const char* text) {
  // Constant strings are never released.
  static std::map<std::string, CfObject> strings;
  CfObject& object = strings[text];
  object.type = CfObject::Type::kString;
  object.text = text;
  return reinterpret_cast<CFStringRef>(&object);
}

extern "C" {

const CFAllocatorRef kCFAllocatorDefault = nullptr;
const mach_port_t kIOMainPortDefault = 0;
vm_size_t vm_kernel_page_size = 16384;

CFTypeID CFGetTypeID(CFTypeRef cf) {
  return highwater::test::idOf(highwater::test::objectOf(cf).type);
}
CFTypeID CFDictionaryGetTypeID(void) {
  return highwater::test::idOf(CfObject::Type::kDictionary);
}
CFTypeID CFNumberGetTypeID(void) {
  return highwater::test::idOf(CfObject::Type::kNumber);
}
void CFRelease(CFTypeRef cf) {
  --mac().cfObjects;
  delete static_cast<const CfObject*>(cf);
}
const void* CFDictionaryGetValue(CFDictionaryRef dictionary, const void* key) {
  const auto& values = highwater::test::objectOf(dictionary).values;
  const auto found = values.find(highwater::test::objectOf(key).text);
  return found == values.end() ? nullptr : &found->second;
}
Boolean CFNumberGetValue(CFNumberRef number, CFNumberType type, void* value) {
  const auto& held = highwater::test::objectOf(number).number;
  const double real = std::visit([](auto v) { return static_cast<double>(v); }, held);
  if (type == kCFNumberDoubleType) {
    std::memcpy(value, &real, sizeof real);
    return 1;
  }
  // Writes a value also where it loses digits, and says so.
  const auto* whole = std::get_if<std::int64_t>(&held);
  const bool fits = whole || (real == std::floor(real) && std::abs(real) < 9e18);
  const std::int64_t rounded = whole ? *whole : fits ? static_cast<std::int64_t>(real) : -77;
  std::memcpy(value, &rounded, sizeof rounded);
  return fits ? 1 : 0;
}

CFMutableDictionaryRef IOServiceMatching(const char* name) {
  ++mac().cfObjects;
  auto* object = new CfObject;
  object->type = CfObject::Type::kDictionary;
  object->text = name;
  return reinterpret_cast<CFMutableDictionaryRef>(object);
}
kern_return_t IOServiceGetMatchingServices(mach_port_t /*port*/, CFDictionaryRef matching,
                                           io_iterator_t* existing) {
  const bool isKnown = highwater::test::objectOf(matching).text == "IOAccelerator";
  CFRelease(matching);  // the call consumes it
  if (mac().matching != KERN_SUCCESS) return mac().matching;
  highwater::test::nextAccelerator = isKnown ? 0 : mac().accelerators.size();
  ++mac().ioObjects;
  *existing = highwater::test::kIterator;
  return KERN_SUCCESS;
}
io_object_t IOIteratorNext(io_iterator_t /*iterator*/) {
  std::size_t& next = highwater::test::nextAccelerator;
  if (next == mac().accelerators.size()) return 0;
  ++mac().ioObjects;
  return highwater::test::kFirst + static_cast<io_object_t>(next++);
}
kern_return_t IOObjectRelease(io_object_t /*object*/) {
  --mac().ioObjects;
  return KERN_SUCCESS;
}
CFTypeRef IORegistryEntryCreateCFProperty(io_registry_entry_t entry, CFStringRef key,
                                          CFAllocatorRef /*allocator*/, IOOptionBits /*options*/) {
  if (highwater::test::objectOf(key).text != "PerformanceStatistics") return nullptr;
  const auto& statistics = mac().accelerators.at(entry - highwater::test::kFirst);
  if (std::holds_alternative<std::monostate>(statistics)) return nullptr;
  ++mac().cfObjects;
  auto* object = new CfObject;
  if (const auto* values =
          std::get_if<std::map<std::string, highwater::test::Statistic>>(&statistics)) {
    object->type = CfObject::Type::kDictionary;
    for (const auto& [name, value] : *values) {
      object->values[name] = highwater::test::objectOf(value);
    }
  }
  return object;
}

task_t mach_task_self(void) {
  return 7;
}
host_t mach_host_self(void) {
  ++mac().hostPorts;
  return 8;
}
kern_return_t task_info(task_t task, unsigned flavor, task_info_t info,
                        mach_msg_type_number_t* count) {
  if (mac().taskInfo != KERN_SUCCESS) return mac().taskInfo;
  if (task != 7 || flavor != TASK_VM_INFO || *count < TASK_VM_INFO_COUNT) return KERN_FAILURE;
  task_vm_info_data_t filled{};
  filled.phys_footprint = mac().footprintBytes;
  std::memcpy(info, &filled, sizeof filled);
  return KERN_SUCCESS;
}
kern_return_t host_statistics64(host_t host, int flavor, host_info64_t info,
                                mach_msg_type_number_t* count) {
  if (mac().hostStatistics != KERN_SUCCESS) return mac().hostStatistics;
  if (host != 8 || flavor != HOST_VM_INFO64) return KERN_FAILURE;
  if (*count > mac().filled) *count = mac().filled;
  std::memcpy(info, &mac().pages, *count * sizeof(integer_t));
  return KERN_SUCCESS;
}

int sysctlbyname(const char* name, void* value, size_t* size, void* /*newValue*/,
                 size_t /*newSize*/) {
  const auto found = mac().sysctls.find(name);
  if (found == mac().sysctls.end()) return -1;
  const std::string& bytes = found->second;
  if (value == nullptr) {
    *size = bytes.size();
    return 0;
  }
  if (*size < bytes.size()) {  // as the kernel: copies what fits, and fails
    std::memcpy(value, bytes.data(), *size);
    return -1;
  }
  std::memcpy(value, bytes.data(), bytes.size());
  *size = bytes.size();
  return 0;
}

void _dyld_register_func_for_remove_image(void (*removed)(const struct mach_header* header,
                                                          intptr_t slide)) {
  mac().removed = removed;
}
uint32_t _dyld_image_count(void) {
  return static_cast<uint32_t>(mac().images.size());
}
const char* _dyld_get_image_name(uint32_t index) {
  return mac().images.at(index);
}
int _NSGetExecutablePath(char* path, uint32_t* size) {
  const auto needed = static_cast<uint32_t>(mac().executable.size() + 1);
  if (*size < needed) {
    *size = needed;
    return -1;
  }
  if (mac().executable.empty()) return -1;
  std::memcpy(path, mac().executable.c_str(), needed);
  return 0;
}
int pthread_set_qos_class_self_np(qos_class_t level, int /*relative*/) {
  mac().qosClass = level;
  return 0;
}
}
