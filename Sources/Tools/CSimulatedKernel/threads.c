#define _GNU_SOURCE
#include "CSimulatedKernel.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static int escapes;

int simulated_kernel_escapes(void) { return escapes; }

typedef int start_thread(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

// Dispatch disposes of a queue on a thread of its own. Nothing else of the daemon runs there: a
// function that is put on a queue is counted by enqueue_global() or runs on the calling thread.
//
// In a program that is linked statically, threads are not told apart, so none is counted.
static bool is_of_dispatch(void *function) {
  Dl_info its;
  if (dlsym(RTLD_DEFAULT, "dispatch_main") == NULL) return true;
  return dladdr(function, &its) != 0 && strstr(its.dli_fname, "libdispatch") != NULL;
}

// The thread is started nevertheless, so that the process does not hang before it reports it.
int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  if (!is_of_dispatch((void *)body)) escapes++;
  return ((start_thread *)dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, body, argument);
}

typedef __attribute__((swiftcall)) void enqueue(void *job);
typedef __attribute__((swiftcall)) void enqueue_hook(void *job, enqueue *original);

extern enqueue_hook *swift_task_enqueueGlobal_hook;

static __attribute__((swiftcall)) void enqueue_global(void *job, enqueue *original) {
  escapes++;
  original(job);
}

__attribute__((constructor)) static void watch_global_executor(void) {
  swift_task_enqueueGlobal_hook = enqueue_global;
}

// Functions that the daemon or a library puts on a queue. Dispatch itself does not come through
// here.
void dispatch_async(void *queue, void *block) {
  typedef void function(void *, void *);
  escapes++;
  ((function *)dlsym(RTLD_NEXT, "dispatch_async"))(queue, block);
}

void dispatch_async_f(void *queue, void *context, void (*body)(void *)) {
  typedef void function(void *, void *, void (*)(void *));
  escapes++;
  ((function *)dlsym(RTLD_NEXT, "dispatch_async_f"))(queue, context, body);
}

void dispatch_after(uint64_t when, void *queue, void *block) {
  typedef void function(uint64_t, void *, void *);
  escapes++;
  ((function *)dlsym(RTLD_NEXT, "dispatch_after"))(when, queue, block);
}

// The daemon calls it once per simulated minute. It takes about a millisecond and changes nothing
// that a simulation observes.
int malloc_trim(size_t pad) {
  (void)pad;
  return 0;
}
