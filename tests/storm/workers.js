// Four workers with work that the seed decides. One recurses until its stack is full, again and again.
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const { createHash } = require("crypto");
const { deflateSync, inflateSync } = require("zlib");
const { execFileSync } = require("child_process");

function randomFrom(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
const overflow = (n) => overflow(n + 1) + 1;

const kinds = {
  recurse(random) {
    let caught = 0;
    for (let i = 0; i < 20 + random() * 20; ++i) {
      try {
        overflow(0);
      } catch (error) {
        caught += error instanceof RangeError;
      }
    }
    return caught;
  },
  compute(random) {
    const words = {};
    for (let i = 0; i < 200000; ++i) words["k" + Math.floor(random() * 1000)] = i;
    return fib(25 + Math.floor(random() * 5)) + JSON.stringify(words).length;
  },
  compress(random) {
    const bytes = Buffer.from(Array.from({ length: 300000 }, () => 97 + random() * 8));
    const again = inflateSync(deflateSync(bytes, { level: 9 }));
    return createHash("sha256").update(again).digest("hex");
  },
  start(random) {
    return execFileSync("expr", [String(Math.floor(random() * 1000)), "+", "1"]).toString().trim();
  },
};

if (isMainThread) {
  const seed = Number(process.argv[2]);
  const results = {};
  Object.keys(kinds).forEach((kind, i) => {
    const worker = new Worker(__filename, { workerData: { kind, seed: seed + i } });
    worker.on("message", (result) => (results[kind] = result));
  });
  process.on("exit", () => console.log(JSON.stringify(results, Object.keys(kinds))));
} else {
  const random = randomFrom(workerData.seed * 2654435761);
  const results = [];
  for (let i = 0; i < 4; ++i) results.push(kinds[workerData.kind](random));
  parentPort.postMessage(results);
}
