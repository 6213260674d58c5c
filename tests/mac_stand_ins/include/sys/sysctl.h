// What Highwater uses of macOS's sysctl.
#pragma once
#include <stddef.h>
#include <stdint.h>

extern "C" {

struct xsw_usage {
  uint64_t xsu_total, xsu_avail, xsu_used;
  uint32_t xsu_pagesize;
  int xsu_encrypted;
};
int sysctlbyname(const char* name, void* value, size_t* size, void* newValue, size_t newSize);
}
