// What Highwater uses of the Objective-C runtime.
#pragma once

extern "C" {

typedef struct objc_class* Class;
typedef struct objc_object* id;
typedef struct objc_selector* SEL;
typedef bool BOOL;

Class objc_getClass(const char* name);
SEL sel_registerName(const char* name);
}
