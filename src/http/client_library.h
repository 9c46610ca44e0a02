// What the client uses of libcurl, which is loaded late: some thirty libraries come with it.
#pragma once

#include <curl/curl.h>

#include "base/late_library.h"

namespace sampan::http {

struct Curl {
  LateLibrary library{"libcurl.so.4", "libcurl4"};
  decltype(curl_global_init)* global_init = library["curl_global_init"];
  decltype(curl_easy_init)* init = library["curl_easy_init"];
  decltype(curl_easy_cleanup)* cleanup = library["curl_easy_cleanup"];
  decltype(curl_easy_setopt)* setopt = library["curl_easy_setopt"];
  decltype(curl_easy_perform)* perform = library["curl_easy_perform"];
  decltype(curl_easy_getinfo)* getinfo = library["curl_easy_getinfo"];
  decltype(curl_easy_strerror)* strerror = library["curl_easy_strerror"];
  decltype(curl_slist_append)* slist_append = library["curl_slist_append"];
  decltype(curl_slist_free_all)* slist_free_all = library["curl_slist_free_all"];
};

// Throws Error where it cannot be loaded.
inline const Curl& libcurl() {
  static const Curl library;
  return library;
}

}  // namespace sampan::http
