// The few declarations of CoreFoundation that Highwater uses, of our own writing: the cross build
// checks what we believe Apple's signatures to be, not Apple's headers.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef const void* CFTypeRef;
typedef unsigned long CFTypeID;
typedef long CFIndex;
typedef unsigned char Boolean;
typedef uint32_t CFStringEncoding;
typedef unsigned long CFOptionFlags;
typedef const struct __CFAllocator* CFAllocatorRef;
typedef const struct __CFString* CFStringRef;
typedef const struct __CFDictionary* CFDictionaryRef;
typedef struct __CFDictionary* CFMutableDictionaryRef;
typedef const struct __CFNumber* CFNumberRef;
typedef CFIndex CFNumberType;
enum { kCFNumberSInt32Type = 3, kCFNumberSInt64Type = 4, kCFNumberDoubleType = 13 };

extern const CFAllocatorRef kCFAllocatorDefault;

#define CFSTR(s) ((CFStringRef)__builtin___CFStringMakeConstantString("" s ""))

CFTypeID CFGetTypeID(CFTypeRef cf);
CFTypeID CFDictionaryGetTypeID(void);
CFTypeID CFNumberGetTypeID(void);
void CFRelease(CFTypeRef cf);
const void* CFDictionaryGetValue(CFDictionaryRef dictionary, const void* key);
Boolean CFNumberGetValue(CFNumberRef number, CFNumberType type, void* value);

#ifdef __cplusplus
}
#endif
