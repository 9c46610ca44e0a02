#include "sampler/recorder/python_objects.h"

#include <algorithm>
#include <utility>

#include "sampler/recorder/python_code.h"
#include "unwind/python_text.h"

namespace sampan::sampler {
namespace {

using unwind::PythonValues;

// The same in all versions that have a layout. Include/object.h, Include/cpython/object.h:
constexpr uint64_t kObjectType = 8;
constexpr uint64_t kSize = 16;  // of tuples and lists
constexpr uint64_t kTypeName = 24, kTypeBasicSize = 32, kTypeFlags = 168, kTypeBase = 256,
                   kTypeDictOffset = 288;
constexpr uint64_t kInlineValues = 1 << 2;  // flags of a type; 3.13 and later
constexpr uint64_t kManagedDict = 1 << 4;   // 3.11 and later
// Include/cpython/{dict,set,list,tuple}object.h
constexpr uint64_t kDictKeys = 32, kDictValues = 40;
constexpr uint64_t kSetUsed = 24, kSetMask = 32, kSetTable = 40, kSetEntry = 16;
constexpr uint64_t kListItems = 24;
constexpr uint64_t kModuleDict = 16;  // PyModuleObject

constexpr uint32_t kVersion11 = 0x030b, kVersion13 = 0x030d, kVersion14 = 0x030e;

constexpr uint64_t kMostItems = 1 << 20;
constexpr size_t kMostBases = 8;
constexpr size_t kMostTypeName = 256;
constexpr uint64_t kMostText = 4096;  // bytes

}  // namespace

const std::string& PythonObjects::type_name(uint64_t object) {
  return name_of_type(object == 0 ? 0 : word(object + kObjectType));
}

const std::string& PythonObjects::name_of_type(uint64_t type) {
  const auto [place, is_new] = type_names_.try_emplace(type);
  std::string& name = place->second;
  const uint64_t characters = is_new && type != 0 ? word(type + kTypeName) : 0;
  for (size_t i = 0; characters != 0 && i < kMostTypeName; ++i) {
    const auto character = value<char>(characters + i);
    if (!character || *character == '\0') break;
    name.push_back(*character);
  }
  return name;
}

std::vector<uint64_t> PythonObjects::types_of(uint64_t object) {
  std::vector<uint64_t> types;
  uint64_t type = object == 0 ? 0 : word(object + kObjectType);
  for (; type != 0 && types.size() < kMostBases; type = word(type + kTypeBase)) {
    types.push_back(type);
  }
  return types;
}

std::optional<std::string> PythonObjects::text(uint64_t object) {
  unwind::PythonBytes found;
  if (!is_a(object, "str") || !unwind::find_text(memory_, layout_, object, kMostText, found)) {
    return std::nullopt;
  }
  std::vector<uint8_t> bytes(found.size);
  if (!memory_.copy(found.at, std::as_writable_bytes(std::span(bytes)))) return std::nullopt;
  return python_text(found.width, bytes);
}

// Keys of dictionaries are compared very often, and few of them are as long as the one that is sought.
bool PythonObjects::is_text(uint64_t object, std::string_view expected) {
  unwind::PythonBytes found;
  if (object == 0 || word(object + kSize) != expected.size() ||
      !unwind::find_text(memory_, layout_, object, expected.size(), found) || found.width != 0) {
    return false;
  }
  std::string characters(found.size, '\0');
  return memory_.copy(found.at, std::as_writable_bytes(std::span(characters))) &&
         characters == expected;
}

// Objects/dictobject.c, struct _dictkeysobject: a table of indexes, then the entries.
PythonObjects::Keys PythonObjects::keys_at(uint64_t at) {
  Keys keys;
  if (at == 0) return keys;
  if (layout_.version < kVersion11) {
    const uint64_t slots = word(at + 8);
    const uint64_t index_size = slots <= UINT8_MAX ? 1 : slots <= UINT16_MAX ? 2 : 4;
    if (slots > 2 * kMostItems) return keys;
    keys = {at + 40 + slots * index_size, word(at + 32), 24, 8};
  } else {
    constexpr uint8_t kGeneral = 0;  // its keys may be other objects than texts
    const auto log_index_size = value<uint8_t>(at + 9), kind = value<uint8_t>(at + 10);
    if (!log_index_size || !kind || *log_index_size > 24) return keys;
    const uint64_t first = at + 32 + (uint64_t{1} << *log_index_size);
    keys = {first, word(at + 24), *kind == kGeneral ? 24u : 16u, *kind == kGeneral ? 8u : 0u};
  }
  keys.count = std::min(keys.count, kMostItems);
  return keys;
}

// `values`: where they stand, if not with the keys.
uint64_t PythonObjects::find(uint64_t at, uint64_t values, std::string_view name) {
  const Keys keys = keys_at(at);
  for (uint64_t i = 0; i < keys.count; ++i) {
    const uint64_t entry = keys.first + i * keys.size + keys.key;
    uint64_t key = 0;
    if (!memory_.read(entry, key)) return 0;
    if (is_text(key, name)) return word(values != 0 ? values + 8 * i : entry + 8);
  }
  return 0;
}

uint64_t PythonObjects::names_of_module(uint64_t modules, std::string_view module) {
  const uint64_t object = item(modules, module);
  return object == 0 ? 0 : word(object + kModuleDict);
}

uint64_t PythonObjects::item(uint64_t dictionary, std::string_view key) {
  if (!is_a(dictionary, "dict")) return 0;
  constexpr uint64_t kHeadOfValues = 8;  // 3.13 and later
  uint64_t values = word(dictionary + kDictValues);
  if (values != 0 && layout_.version >= kVersion13) values += kHeadOfValues;
  return find(word(dictionary + kDictKeys), values, key);
}

std::vector<uint64_t> PythonObjects::values_of(uint64_t dictionary) {
  std::vector<uint64_t> values;
  if (!is_a(dictionary, "dict") || word(dictionary + kDictValues) != 0) return values;
  const Keys keys = keys_at(word(dictionary + kDictKeys));
  for (uint64_t i = 0; i < keys.count; ++i) {
    uint64_t value = 0;
    if (!memory_.read(keys.first + i * keys.size + keys.key + 8, value)) break;
    if (value != 0) values.push_back(value);
  }
  return values;
}

std::vector<uint64_t> PythonObjects::items_of_list(uint64_t list) {
  if (!is_a(list, "list")) return {};
  return items_at(word(list + kListItems), word(list + kSize));
}

std::vector<uint64_t> PythonObjects::items_of_tuple(uint64_t tuple) {
  if (!is_a(tuple, "tuple")) return {};
  const uint64_t head = layout_.version < kVersion14 ? 24 : 32;  // 3.14 has its hash there
  return items_at(tuple + head, word(tuple + kSize));
}

std::vector<uint64_t> PythonObjects::items_at(uint64_t first, uint64_t count) {
  std::vector<uint64_t> items;
  for (uint64_t i = 0; i < std::min(count, kMostItems); ++i) {
    uint64_t item = 0;
    if (!memory_.read(first + i * sizeof item, item)) break;
    items.push_back(item);
  }
  return items;
}

// Places that were used and are free have a key that is no member; it is always the same one.
std::optional<std::vector<uint64_t>> PythonObjects::members_of_set(uint64_t set) {
  constexpr uint64_t kFreed = UINT64_MAX;  // its hash
  const uint64_t mask = word(set + kSetMask), table = word(set + kSetTable);
  if (!is_a(set, "set") || mask >= 4 * kMostItems) return std::nullopt;
  std::vector<uint64_t> members;
  for (uint64_t i = 0; i <= mask; ++i) {
    uint64_t key = 0, hash = 0;
    if (!memory_.read(table + i * kSetEntry, key) ||
        !memory_.read(table + i * kSetEntry + 8, hash)) {
      return std::nullopt;
    }
    if (key != 0 && hash != kFreed) members.push_back(key);
  }
  if (members.size() != word(set + kSetUsed)) return std::nullopt;
  return members;
}

// Objects/dictobject.c, "managed" dictionaries: as long as nobody asks for an instance's __dict__, its values stand in
// an array, in the order of its type's keys.
uint64_t PythonObjects::attribute(uint64_t object, std::string_view name) {
  const uint64_t type = object == 0 ? 0 : word(object + kObjectType);
  if (type == 0) return 0;
  const uint64_t flags = word(type + kTypeFlags);
  if (layout_.version < kVersion11 || (flags & kManagedDict) == 0) {
    const uint64_t offset = word(type + kTypeDictOffset);
    return offset < ProcessPages::kPageSize ? item(word(object + offset), name) : 0;
  }
  uint64_t dictionary = word(object - 24), values = 0;
  switch (layout_.values) {
    case PythonValues::kNone: return 0;
    case PythonValues::kPointer: values = word(object - 32); break;
    case PythonValues::kMarkedPointer:
      if ((dictionary & 1) != 0) values = std::exchange(dictionary, 0) + 1;
      break;
    case PythonValues::kInline: {
      constexpr uint64_t kIsValid = 3, kHead = 8;
      const uint64_t inside = object + word(type + kTypeBasicSize);
      const bool has_values =
          (flags & kInlineValues) != 0 && value<uint8_t>(inside + kIsValid) == uint8_t{1};
      if (has_values) values = inside + kHead;
      break;
    }
  }
  return values != 0 ? find(word(type + layout_.type_keys), values, name) : item(dictionary, name);
}

}  // namespace sampan::sampler
