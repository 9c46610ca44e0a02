/* Markers in C: spans inside spans on two threads, counters, events, a section.
 *
 *   markers [JOURNAL]
 *
 * The journal is for tests. It has a line of JSON for each marker, with what the program knows of
 * it. A time is a pair, read before and after the call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sampan/markers.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static FILE* journal;

static unsigned long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (unsigned long long)time.tv_sec * 1000000000u + (unsigned long long)time.tv_nsec;
}

/* The number of nodes of a binary tree of this depth, counted one by one. */
static unsigned count_nodes(unsigned depth, unsigned long long parent) {
  unsigned long long times[4];
  unsigned nodes = 1;
  times[0] = now();
  sampan_span_begin("count nodes");
  times[1] = now();
  const unsigned long long id = sampan_span_current();
  if (depth > 0) nodes += count_nodes(depth - 1, id) + count_nodes(depth - 1, id);
  times[2] = now();
  sampan_span_end();
  times[3] = now();
  if (journal != NULL) {
    fprintf(journal,
            "{\"what\": \"span\", \"name\": \"count nodes\", \"id\": %llu, \"parent\": %llu, "
            "\"tid\": %ld, \"end_tid\": %ld, \"begin\": [%llu, %llu], \"end\": [%llu, %llu], "
            "\"text\": \"\"}\n",
            id, parent, syscall(SYS_gettid), syscall(SYS_gettid), times[0], times[1], times[2],
            times[3]);
  }
  return nodes;
}

static void* run(void* unused) {
  (void)unused;
  const unsigned nodes = count_nodes(7, 0);
  sampan_counter_add("nodes", nodes);
  const unsigned long long before = now();
  sampan_event("counted");
  const unsigned long long after = now();
  if (journal != NULL) {
    fprintf(journal, "{\"what\": \"counter\", \"name\": \"nodes\", \"change\": %u, \"tid\": %ld}\n",
            nodes, syscall(SYS_gettid));
    fprintf(journal,
            "{\"what\": \"event\", \"name\": \"counted\", \"text\": \"\", \"tid\": %ld, "
            "\"time\": [%llu, %llu]}\n",
            syscall(SYS_gettid), before, after);
  }
  printf("%u nodes\n", nodes);
  return NULL;
}

int main(int count, char** words) {
  pthread_t other;
  unsigned long long times[4];
  if (count > 1) journal = fopen(words[1], "w");
  times[0] = now();
  sampan_section_start("both threads");
  times[1] = now();
  pthread_create(&other, NULL, run, NULL);
  run(NULL);
  pthread_join(other, NULL);
  times[2] = now();
  sampan_section_stop("both threads");
  times[3] = now();
  if (journal != NULL) {
    fprintf(journal,
            "{\"what\": \"section\", \"name\": \"both threads\", \"begin\": [%llu, %llu], "
            "\"end\": [%llu, %llu]}\n",
            times[0], times[1], times[2], times[3]);
    fclose(journal);
  }
  return 0;
}
