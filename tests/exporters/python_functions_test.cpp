// Python's functions in each format that has colours, kinds or places for them.
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <zlib.h>

#include <fstream>
#include <iterator>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "exporters/formats.h"
#include "exporters/page_parts.h"
#include "support/scratch_directory.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

using Writer = Outcome (*)(const profile::View&, const std::string&, uint64_t);

// A method, and the C function that it calls; a function of the program that has its name.
const char* const kText =
    "# process 100 /usr/bin/python3\n"
    "main;Service.pack@/srv/w.py:3:5@[python];deflate@@/lib/libz.so.1 2\n"
    "main;Service.pack@/srv/w.py:3:7@[python] 1\n"
    "main;Service.pack 1\n";

std::string written(Writer write, const char* text, const std::string& file_name = "x") {
  const test::ScratchDirectory directory;
  const profile::Profile profile = test::profile_of(text);
  write(select(profile), directory.file(file_name), 0);
  std::ifstream file(directory.file(file_name));
  return {std::istreambuf_iterator<char>(file), {}};
}

rapidjson::Document json(Writer write, const char* text) {
  rapidjson::Document document;
  document.Parse(written(write, text, "x.json").c_str());
  EXPECT_FALSE(document.HasParseError());
  return document;
}

TEST(PythonFunctions, HaveACategoryAndAreScriptsInFirefox) {
  const rapidjson::Document profile = json(write_firefox, kText);
  const auto& shared = profile["shared"];
  const auto& categories = profile["meta"]["categories"];
  const auto& frames = shared["frameTable"];
  std::multimap<std::string, std::string> seen;  // category by name and line
  for (unsigned i = 0; i < frames["length"].GetUint(); ++i) {
    const auto& functions = shared["funcTable"];
    const unsigned function = frames["func"][i].GetUint();
    const auto& category = categories[frames["category"][i].GetUint()];
    std::string name = shared["stringArray"][functions["name"][function].GetUint()].GetString();
    const bool is_python = category["name"] == "Python";
    EXPECT_EQ(functions["isJS"][function].GetBool(), is_python) << name;
    if (is_python) {
      EXPECT_STREQ(category["color"].GetString(), "yellow");
      const unsigned source = functions["source"][function].GetUint();
      name +=
          " " +
          std::string(
              shared["stringArray"][shared["sources"]["filename"][source].GetUint()].GetString());
      name += ":" + std::to_string(functions["lineNumber"][function].GetUint());
      name += " " + std::to_string(frames["line"][i].GetUint());
      EXPECT_EQ(functions["resource"][function].GetInt(), -1);
    }
    seen.emplace(name, category["name"].GetString());
  }
  EXPECT_EQ(seen, (std::multimap<std::string, std::string>{{"main", "Program"},
                                                           {"Service.pack", "Program"},
                                                           {"Service.pack /srv/w.py:3 5", "Python"},
                                                           {"Service.pack /srv/w.py:3 7", "Python"},
                                                           {"deflate", "Library"}}));
  std::set<std::string> colours;
  for (const auto& category : categories.GetArray()) colours.insert(category["color"].GetString());
  EXPECT_EQ(colours.size(), categories.Size());
  EXPECT_FALSE(profile["meta"]["usesOnlyOneStackType"].GetBool());
  EXPECT_TRUE(json(write_firefox, "main;f 1\n")["meta"]["usesOnlyOneStackType"].GetBool());
}

TEST(PythonFunctions, AreYellowInATrace) {
  std::set<std::string> colours;
  const rapidjson::Document trace = json(write_trace, kText);
  for (const auto& event : trace.GetArray()) {
    if (event["ph"] != "X") continue;
    const std::string colour = event.HasMember("cname") ? event["cname"].GetString() : "none";
    colours.insert(event["name"].GetString() + (" " + colour) + " " + event["cat"].GetString());
  }
  EXPECT_EQ(colours,
            (std::set<std::string>{"Service.pack rail_load python3", "Service.pack yellow python",
                                   "deflate rail_response libz.so.1", "main rail_load python3"}));
}

TEST(PythonFunctions, AreYellowInAFlameGraph) {
  const std::string svg = written(write_flamegraph, kText);
  const auto colour_of = [&](const std::string& title) {
    const size_t place = svg.find("<title>" + title);
    EXPECT_NE(place, std::string::npos) << title;
    return svg.substr(svg.find("fill=\"", place) + 6, 7);
  };
  const auto is_yellow = [](const std::string& colour) {
    const auto channel = [&](size_t at) { return std::stoi(colour.substr(at, 2), nullptr, 16); };
    return channel(1) > 200 && channel(3) > 180 && channel(5) < 160;
  };
  EXPECT_TRUE(is_yellow(colour_of("Service.pack\n/srv/w.py:3\n")));
  EXPECT_FALSE(is_yellow(colour_of("Service.pack\npython3\n")));
  EXPECT_FALSE(is_yellow(colour_of("main\npython3\n")));
  EXPECT_FALSE(is_yellow(colour_of("deflate\nlibz.so.1\n")));
}

TEST(PythonFunctions, HaveAHueThatNoModuleHas) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "main;f" + std::to_string(i) + "@@/lib/lib" + std::to_string(i) + ".so 1\n";
  }
  const std::string svg = written(write_flamegraph, text.c_str());
  size_t colours = 0;
  for (size_t at = 0; (at = svg.find("fill=\"#", at)) != std::string::npos; ++at) {
    const auto channel = [&](size_t i) {
      return std::stoi(svg.substr(at + 7 + i, 2), nullptr, 16);
    };
    const int red = channel(0), green = channel(2), blue = channel(4);
    // Degrees between red (0) and green (120); yellow is 60.
    const int hue = red == green ? 60 : 60 * (green - blue) / std::max(red - blue, 1);
    EXPECT_FALSE(red > green && green > blue && hue > 40 && hue < 68) << svg.substr(at, 14);
    ++colours;
  }
  EXPECT_GT(colours, 60u);
}

TEST(PythonFunctions, HaveTheirFileAndLinesInCallgrind) {
  const std::string text = written(write_callgrind, kText);
  EXPECT_NE(text.find(" /srv/w.py\ncfn=(3) Service.pack\ncalls=3 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n5 8000000 2\n7 4000000 1\n"), std::string::npos) << text;
}

TEST(PythonFunctions, HaveTheirModulesInCallgrindAndCsv) {
  const char* const text =
      "main;dumps@/usr/lib/python3.11/json/__init__.py:183:200@[python] 1\n"
      "main;pack@/srv/w.py:3:5@[python];deflate@@/lib/libz.so.1 2\n";
  const std::string callgrind = written(write_callgrind, text);
  for (const char* const object : {"cob=(2) /srv/w.py\n", "cob=(3) json\n", "ob=(4) /lib/libz"}) {
    EXPECT_NE(callgrind.find(object), std::string::npos) << object << callgrind;
  }
  const std::string functions = written(write_csv, text);
  EXPECT_NE(functions.find("dumps,json,/usr/lib/python3.11/json/__init__.py,183,"),
            std::string::npos)
      << functions;
  EXPECT_NE(functions.find("deflate,/lib/libz.so.1,,"), std::string::npos) << functions;
  const std::string samples = written(write_csv_samples, text);
  EXPECT_NE(samples.find(",dumps,/usr/lib/python3.11/json/__init__.py,200,json,"),
            std::string::npos)
      << samples;
}

TEST(PythonFunctions, OfCAreBuiltInBesideThoseOfPythonInPstats) {
  const std::string both = written(write_pstats, kText);
  EXPECT_NE(both.find("<built-in deflate of libz.so.1>"), std::string::npos);
  EXPECT_NE(both.find("<built-in main of python3>"), std::string::npos);
  EXPECT_EQ(both.find("built-in Service.pack of /srv"), std::string::npos);
  const std::string native = written(write_pstats, "main;deflate@@/lib/libz.so.1 2\n");
  EXPECT_EQ(native.find("built-in"), std::string::npos);
  EXPECT_NE(native.find("<calls are counts of samples>"), std::string::npos);
}

TEST(PythonFunctions, HaveTheirModuleAndNoAddressInPerfScript) {
  const std::string text = written(write_perf_script, kText);
  EXPECT_NE(text.find("\n\t               0 Service.pack (/srv/w.py)\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("[unknown]"), std::string::npos) << text;
}

TEST(PythonFunctions, AreFramesOfCPythonInOtlp) {
  const std::string data = written(write_otlp, kText);
  EXPECT_NE(data.find("cpython"), std::string::npos);
  EXPECT_EQ(written(write_otlp, "main;f 1\n").find("cpython"), std::string::npos);
}

// One line calls f() twice.
const char* const kCalls =
    "main;run@/srv/w.py:3:5:9@[python];f@/srv/w.py:1@[python] 2\n"
    "main;run@/srv/w.py:3:5:30@[python];f@/srv/w.py:1@[python] 1\n";
using Places = std::multiset<std::pair<int64_t, int64_t>>;  // lines and columns; 0: none
const Places kPlaces = {{0, 0}, {5, 9}, {5, 30}, {1, 0}};

TEST(PythonFunctions, HaveColumnsInFirefox) {
  const rapidjson::Document profile = json(write_firefox, kCalls);
  const auto& frames = profile["shared"]["frameTable"];
  Places places;
  for (unsigned i = 0; i < frames["length"].GetUint(); ++i) {
    const auto number = [&](const char* column) {
      const auto& value = frames[column][i];
      return value.IsNull() ? 0 : value.GetInt64();
    };
    places.emplace(number("line"), number("column"));
  }
  EXPECT_EQ(places, kPlaces);
}

// From the messages `Line` at the end of the path, by the numbers of fields. pprof and OTLP have the same
// fields in it.
void add_places(protozero::data_view message, std::span<const uint32_t> path, Places* places) {
  protozero::pbf_reader reader(message);
  if (!path.empty()) {
    while (reader.next(path.front())) add_places(reader.get_view(), path.subspan(1), places);
    return;
  }
  int64_t line = 0, column = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case 2: line = reader.get_int64(); break;
      case 3: column = reader.get_int64(); break;
      default: reader.skip();
    }
  }
  places->emplace(line, column);
}

TEST(PythonFunctions, HaveColumnsInOtlp) {
  const uint32_t path[] = {2, 2, 3};  // dictionary, locations, lines
  Places places;
  add_places(written(write_otlp, kCalls), path, &places);
  EXPECT_EQ(places, kPlaces);
}

TEST(PythonFunctions, HaveColumnsInPprof) {
  const test::ScratchDirectory directory;
  const profile::Profile profile = test::profile_of(kCalls);
  write_pprof(select(profile), directory.file("x"), 0);
  std::string data(1 << 16, 0);
  const gzFile file = gzopen(directory.file("x").c_str(), "rb");
  data.resize(static_cast<size_t>(gzread(file, data.data(), 1 << 16)));
  gzclose(file);
  const uint32_t path[] = {4, 4};  // locations, lines
  Places places;
  add_places(data, path, &places);
  EXPECT_EQ(places, kPlaces);
}

// speedscope takes each frame for a function.
TEST(PythonFunctions, AreOneFrameInSpeedscopeWhereverTheyCall) {
  const rapidjson::Document profile = json(write_speedscope, kCalls);
  std::multiset<std::string> names;
  for (const auto& frame : profile["shared"]["frames"].GetArray()) {
    names.insert(frame["name"].GetString());
  }
  EXPECT_EQ(names, (std::multiset<std::string>{"main", "run", "f"}));
}

TEST(PythonFunctions, AreMarkedOnThePage) {
  const profile::Profile profile = test::profile_of(kText);
  PageTables tables(profile);
  for (const profile::Sample& sample : profile.samples) tables.row(sample.stack);
  std::map<std::string, std::string> columns;
  for (const PageColumn& column : tables.columns()) columns[column.name()] = column.bytes();
  // main, Service.pack, deflate, the other Service.pack
  EXPECT_EQ(columns["functions.python"], std::string("\0\1\0\0", 4));
  EXPECT_EQ(columns["functions.wait"], std::string(4, '\0'));
}

}  // namespace
}  // namespace sampan::exporters
