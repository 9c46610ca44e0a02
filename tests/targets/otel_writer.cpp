// What an OpenTelemetry library has for readers outside (OTEP 4947): the thread-local pointer to the
// context's record. Built with each way in which code may refer to such a variable.
extern "C" {
__attribute__((visibility("default"))) __thread const void* otel_thread_ctx_v1;
__attribute__((visibility("default"))) void otel_publish(const void* record) {
  otel_thread_ctx_v1 = record;
}
}
