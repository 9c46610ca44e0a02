import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.zip.CRC32;

/** Work that the seed decides, in four threads: garbage, locks, exceptions, stack overflows, compiled loops. */
class Work {
  static int depth;

  static int overflow(int n) {
    return overflow(n + 1) + 1;
  }

  static long garbage(Random random) {
    HashMap<Integer, String> map = new HashMap<>();
    for (int i = 0; i < 400_000; ++i) map.put(random.nextInt(5000), "value " + i);
    long sum = 0;
    for (String value : map.values()) sum += value.hashCode();
    return sum;
  }

  static long exceptions(Random random) {
    long caught = 0;
    for (int i = 0; i < 50_000; ++i) {
      try {
        if (random.nextInt(3) == 0) throw new IllegalStateException("number " + i);
        int[] none = null;
        caught += none[0];
      } catch (IllegalStateException | NullPointerException error) {
        caught += error instanceof NullPointerException ? 2 : 1;
      }
    }
    for (int i = 0; i < 10; ++i) {
      try {
        overflow(0);
      } catch (StackOverflowError error) {
        caught += 1000;
      }
    }
    return caught;
  }

  static long loops(Random random) {
    CRC32 crc = new CRC32();
    byte[] bytes = new byte[1 << 16];
    for (int i = 0; i < 500; ++i) {
      random.nextBytes(bytes);
      crc.update(bytes);
    }
    return crc.getValue();
  }

  public static void main(String[] words) throws Exception {
    long seed = Long.parseLong(words[0]);
    ExecutorService pool = Executors.newFixedThreadPool(4);
    List<Callable<Long>> tasks = new ArrayList<>();
    for (int i = 0; i < 12; ++i) {
      Random random = new Random(seed * 31 + i);
      int kind = i % 3;
      tasks.add(() -> kind == 0 ? garbage(random) : kind == 1 ? exceptions(random) : loops(random));
    }
    for (var result : pool.invokeAll(tasks)) System.out.println(result.get());
    pool.shutdown();
    if (seed % 2 == 0) System.exit(3);
  }
}
