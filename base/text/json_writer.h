// RapidJSON's writer for reports: absent values are null, and text is made valid UTF-8.
//
// Hosted only.
#pragma once

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace sampan {

class Json {
 public:
  Json() { writer_.SetIndent(' ', 1); }

  void key(std::string_view key) {
    writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  }
  void value(std::string_view text) {
    const std::string valid = valid_utf8(text);
    writer_.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
  }
  void value(const char* text) { value(std::string_view(text)); }
  void value(uint64_t number) { writer_.Uint64(number); }
  void value(int64_t number) { writer_.Int64(number); }
  void value(uint32_t number) { writer_.Uint(number); }
  void value(int number) { writer_.Int(number); }
  void value(std::same_as<bool> auto truth) { writer_.Bool(truth); }
  void value(double number) { writer_.Double(number); }
  void null() { writer_.Null(); }
  template <typename T>
  void value(const std::optional<T>& optional) {
    optional ? value(*optional) : null();
  }
  void value(const std::vector<std::string>& texts) {
    array(texts, [this](const std::string& text) { value(text); });
  }

  template <typename T>
  void member(std::string_view name, const T& of) {
    key(name);
    value(of);
  }
  template <typename Members>
  void object(Members&& members) {
    writer_.StartObject();
    members();
    writer_.EndObject();
  }
  template <typename Elements>
  void array_of(Elements&& elements) {
    writer_.StartArray();
    elements();
    writer_.EndArray();
  }
  template <typename Range, typename Element>
  void array(const Range& range, Element&& element) {
    writer_.StartArray();
    for (const auto& each : range) element(each);
    writer_.EndArray();
  }
  template <typename Range, typename Members>
  void objects(std::string_view name, const Range& range, Members&& members) {
    key(name);
    array(range, [&](const auto& each) { object([&] { members(each); }); });
  }

  std::string text() const { return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n"; }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace sampan
