#!/bin/sh
# Compares the walker with libunwind inside real programs (oracle_preload.cpp), until enough stops
# have been compared, and prints how many were equal and how the others differed.
#
#   oracle.sh PRELOAD [STOPS] [DIRECTORY]
#
# PRELOAD is libunwind_oracle_preload.so, STOPS how many stacks to compare (100000), DIRECTORY where
# the details go (a temporary one). Fails when more than 0.1 % are not equal, but for those
# in which libunwind left out a frame (theirs_skips). Programs that are not
# installed are left out.
set -u

preload=$(realpath "$1")
stops=${2:-100000}
directory=${3:-$(mktemp -d)}
mkdir -p "$directory"
cd "$directory" || exit 1
rm -f ./*.totals ./*.differences
: "${ORACLE_HZ:=4000}"
export ORACLE_HZ

cat > source.cpp <<'END'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main(int argc, char** argv) {
  std::map<std::string, std::vector<int>> map;
  std::cout << std::regex_match(argv[0], std::regex("a(b|c)*d"));
  std::function<int(int)> f = [&](int x) { return x + static_cast<int>(map.size()); };
  std::vector<int> values(10);
  std::sort(values.begin(), values.end());
  return f(argc);
}
END
for i in 1 2 3 4 5 6; do cat "/usr/lib/$(uname -m)-linux-gnu/libc.so.6"; done > input.bin

# A profile of one program: its name, then its command.
compare() {
  name=$1
  shift
  command -v "$1" > /dev/null || return
  ORACLE_OUTPUT=$directory/$name LD_PRELOAD=$preload timeout 120 "$@" > /dev/null 2> "$name.stderr" ||
    echo "$name: exit status $?" >&2
}

# The sum of all totals of a kind, for one program or all of them.
count() { cat ./"$2"*.totals 2> /dev/null | awk -v kind="$1" '$1 == kind { sum += $2 } END { print sum + 0 }'; }
compared() {
  echo $(($(count equal "$1") + $(count equal_incomplete "$1") + $(count theirs_ends_early "$1") +
    $(count theirs_skips "$1") + $(count ours_ends_early "$1") + $(count different "$1")))
}
enough() { [ "$(compared '')" -ge "$stops" ]; }

js='let s = 0; for (let i = 0; i < 2e7; i++) s += Math.sin(i);
let o = []; for (let i = 0; i < 2e5; i++) o.push(JSON.parse(JSON.stringify({ a: i, b: [1, 2, 3] })));
o.sort((a, b) => b.a - a.a); "x".repeat(1e5).replace(/x/g, c => c + s)'
py='import re, json
for i in range(40000): re.sub("a(.)", lambda m: m.group(1), "abac" * 100); json.loads(json.dumps({"a": [i]}))'
sql='create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 400000)
insert into t select x, x * 7 % 1000 from c; create index i on t(b); select sum(a) from t group by b;'

round=0
while ! enough; do
  round=$((round + 1))
  [ $round -gt 500 ] && break
  before=$(compared '')
  compare xz-$round xz -T2 -k -c input.bin
  enough || compare zstd-$round zstd -15 -T2 -k -c input.bin
  enough || compare sqlite3-$round sqlite3 :memory: "$sql"
  enough || compare python3-$round "${ORACLE_PYTHON:-/usr/bin/python3}" -c "$py"
  enough || compare node-$round node -e "$js"
  enough || compare openssl-$round openssl speed -seconds 1 sha256 rsa2048
  enough || compare clang-$round clang++ -O2 -c source.cpp -o clang.o
  enough || compare gcc-$round g++ -O2 -c source.cpp -o gcc.o
  [ "$(compared '')" -gt "$before" ] || break
done

printf '%-9s %9s %9s %17s %18s %13s %16s %10s %10s %6s\n' program compared equal equal_incomplete \
  theirs_ends_early theirs_skips ours_ends_early different in_loader busy
for program in xz zstd sqlite3 python3 node openssl clang gcc ''; do
  prefix=${program:+$program-}
  printf '%-9s %9d %9d %17d %18d %13d %16d %10d %10d %6d\n' "${program:-all}" "$(compared "$prefix")" \
    "$(count equal "$prefix")" "$(count equal_incomplete "$prefix")" \
    "$(count theirs_ends_early "$prefix")" "$(count theirs_skips "$prefix")" "$(count ours_ends_early "$prefix")" \
    "$(count different "$prefix")" "$(count in_loader "$prefix")" "$(count busy "$prefix")"
done
echo "details: $directory"

all=$(compared '')
if [ "$all" -lt "$stops" ]; then
  echo "only $all of $stops stops could be compared"
  [ "$all" -eq 0 ] && exit 77  # skipped, for Meson
  exit 1
fi
unequal=$((all - $(count equal '') - $(count equal_incomplete '') - $(count theirs_skips '')))
[ $((unequal * 1000)) -le "$all" ]
