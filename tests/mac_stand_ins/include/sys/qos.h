// What Highwater uses of macOS's quality of service; there <pthread.h> declares the function.
#pragma once

extern "C" {

typedef enum { QOS_CLASS_UTILITY = 0x11 } qos_class_t;
int pthread_set_qos_class_self_np(qos_class_t level, int relative);
}
