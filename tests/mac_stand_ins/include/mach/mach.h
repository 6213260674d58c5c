// What Highwater uses of Mach, of our own writing. vm_statistics64 is laid out as in macOS's
// mach/vm_statistics.h. task_vm_info_data_t is not laid out as in mach/task_info.h: it has only the
// fields that are used, and macOS's has others before phys_footprint.
#pragma once
#include <stddef.h>
#include <stdint.h>

extern "C" {

typedef int kern_return_t;
typedef unsigned int mach_port_t;
typedef unsigned int natural_t;
typedef int integer_t;
typedef unsigned int mach_msg_type_number_t;
typedef mach_port_t host_t;
typedef mach_port_t task_t;
typedef size_t vm_size_t;
enum { KERN_SUCCESS = 0, KERN_FAILURE = 5 };

struct task_vm_info_data_t {
  uint64_t virtual_size;
  uint64_t phys_footprint;
};
typedef integer_t* task_info_t;
enum { TASK_VM_INFO = 22 };
#define TASK_VM_INFO_COUNT \
  ((mach_msg_type_number_t)(sizeof(task_vm_info_data_t) / sizeof(natural_t)))

struct vm_statistics64 {
  natural_t free_count, active_count, inactive_count, wire_count;
  uint64_t zero_fill_count, reactivations, pageins, pageouts, faults, cow_faults, lookups, hits,
      purges;
  natural_t purgeable_count;
  natural_t speculative_count;
  uint64_t decompressions, compressions, swapins, swapouts;
  natural_t compressor_page_count, throttled_count, external_page_count, internal_page_count;
  uint64_t total_uncompressed_pages_in_compressor;
};
typedef struct vm_statistics64 vm_statistics64_data_t;
typedef integer_t* host_info64_t;
enum { HOST_VM_INFO64 = 4 };
#define HOST_VM_INFO64_COUNT \
  ((mach_msg_type_number_t)(sizeof(vm_statistics64_data_t) / sizeof(integer_t)))

extern vm_size_t vm_kernel_page_size;
task_t mach_task_self(void);
host_t mach_host_self(void);
kern_return_t task_info(task_t task, unsigned flavor, task_info_t info,
                        mach_msg_type_number_t* count);
kern_return_t host_statistics64(host_t host, int flavor, host_info64_t info,
                                mach_msg_type_number_t* count);
}
