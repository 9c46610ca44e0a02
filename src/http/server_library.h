// What the server uses of libmicrohttpd, which is loaded late: it brings a TLS library with it.
#pragma once

#include <microhttpd.h>

#include "base/late_library.h"

namespace sampan::http {

struct Microhttpd {
  LateLibrary library{"libmicrohttpd.so.12", "libmicrohttpd12"};
  decltype(MHD_start_daemon)* start_daemon = library["MHD_start_daemon"];
  decltype(MHD_stop_daemon)* stop_daemon = library["MHD_stop_daemon"];
  decltype(MHD_get_connection_info)* get_connection_info = library["MHD_get_connection_info"];
  decltype(MHD_get_connection_values)* get_connection_values = library["MHD_get_connection_values"];
  decltype(MHD_suspend_connection)* suspend_connection = library["MHD_suspend_connection"];
  decltype(MHD_resume_connection)* resume_connection = library["MHD_resume_connection"];
  decltype(MHD_create_response_from_buffer)* create_response_from_buffer =
      library["MHD_create_response_from_buffer"];
  decltype(MHD_create_response_from_buffer_with_free_callback_cls)* create_response_from_owner =
      library["MHD_create_response_from_buffer_with_free_callback_cls"];
  decltype(MHD_create_response_from_fd64)* create_response_from_fd =
      library["MHD_create_response_from_fd64"];
  decltype(MHD_add_response_header)* add_response_header = library["MHD_add_response_header"];
  decltype(MHD_queue_response)* queue_response = library["MHD_queue_response"];
  decltype(MHD_destroy_response)* destroy_response = library["MHD_destroy_response"];
};

// Throws Error where it cannot be loaded.
inline const Microhttpd& mhd() {
  static const Microhttpd library;
  return library;
}

}  // namespace sampan::http
