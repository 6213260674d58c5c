// What Highwater uses of macOS's dynamic linker.
#pragma once
#include <stdint.h>

extern "C" {

struct mach_header {
  uint32_t magic;
};
void _dyld_register_func_for_remove_image(void (*removed)(const struct mach_header* header,
                                                          intptr_t slide));
uint32_t _dyld_image_count(void);
const char* _dyld_get_image_name(uint32_t index);
int _NSGetExecutablePath(char* path, uint32_t* size);
}
