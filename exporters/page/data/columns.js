// Columns of numbers as the file has them; exporters/page_parts.h says how.

/**
 * Reads columns that follow each other.
 * @param {Uint8Array} bytes
 */
export function columnReader(bytes) {
  let at = 0;
  return {
    /** As many as `into` is long, each written as its difference to the one before. */
    numbers(into) {
      let value = 0;
      for (let i = 0; i < into.length; ++i) {
        let byte = bytes[at++];
        let coded = byte & 0x7f;
        // Beyond 28 bits, arithmetic instead of shifts, which have 32.
        for (let scale = 128; byte >= 0x80; scale *= 128) {
          byte = bytes[at++];
          coded += (byte & 0x7f) * scale;
        }
        value += coded % 2 === 0 ? coded / 2 : -(coded + 1) / 2;
        into[i] = value;
      }
      if (at > bytes.length) throw new Error("the page's data ends too early");
      return into;
    },
    doubles(into) {
      const view = new DataView(bytes.buffer, bytes.byteOffset + at, 8 * into.length);
      for (let i = 0; i < into.length; ++i) into[i] = view.getFloat64(8 * i, true);
      at += 8 * into.length;
      return into;
    },
    flags(into) {
      into.set(bytes.subarray(at, at + into.length));
      at += into.length;
      if (at > bytes.length) throw new Error("the page's data ends too early");
      return into;
    },
  };
}
