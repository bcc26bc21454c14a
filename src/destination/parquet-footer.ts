/** Reads the number of rows from the footer of a Parquet file (Thrift compact protocol). It shares no code with the encoder. */

const magic = 'PAR1';
const trailerBytes = 8;

/** `tail` is the end of the file with the complete footer. Throws an error with a short sentence if it is invalid. */
export function parquetRows(tail: Uint8Array): number {
  const view = Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength);
  if (view.length < trailerBytes || view.toString('latin1', view.length - 4) !== magic) {
    throw new Error('it does not end as a Parquet file does');
  }
  const footerBytes = view.readUInt32LE(view.length - trailerBytes);
  const start = view.length - trailerBytes - footerBytes;
  if (start < 0) throw new Error('its Parquet footer is larger than is read');
  return new CompactReader(view.subarray(start, view.length - trailerBytes)).rows();
}

/** Field 3 of `FileMetaData`. */
const rowsField = 3;
const type = {
  stop: 0,
  true: 1,
  false: 2,
  i8: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
} as const;
const map = 11;
const struct = 12;

class CompactReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  rows(): number {
    for (const { field, kind } of this.#fields()) {
      if (field === rowsField && kind === type.i64) return this.#integer();
      this.#skip(kind);
    }
    throw new Error('its Parquet footer does not say how many rows there are');
  }

  *#fields(): Iterable<{ readonly field: number; readonly kind: number }> {
    let field = 0;
    for (;;) {
      const head = this.#byte();
      const kind = head & 0x0f;
      if (kind === type.stop) return;
      field = head >> 4 === 0 ? this.#integer() : field + (head >> 4);
      yield { field, kind };
    }
  }

  #skip(kind: number): void {
    switch (kind) {
      case type.true:
      case type.false:
        return;
      case type.i8:
        this.#advance(1);
        return;
      case type.i16:
      case type.i32:
      case type.i64:
        this.#varint();
        return;
      case type.double:
        this.#advance(8);
        return;
      case type.binary:
        this.#advance(this.#varint());
        return;
      case type.list:
      case type.set:
        this.#skipList();
        return;
      case map:
        this.#skipMap();
        return;
      case struct:
        for (const field of this.#fields()) this.#skip(field.kind);
        return;
      default:
        throw new Error('its Parquet footer is damaged');
    }
  }

  #skipList(): void {
    const head = this.#byte();
    const count = head >> 4 === 15 ? this.#varint() : head >> 4;
    for (let item = 0; item < count; item++) this.#skipItem(head & 0x0f);
  }

  #skipMap(): void {
    const count = this.#varint();
    if (count === 0) return;
    const kinds = this.#byte();
    for (let item = 0; item < count; item++) {
      this.#skipItem(kinds >> 4);
      this.#skipItem(kinds & 0x0f);
    }
  }

  /** Skips an item. Inside lists and maps a boolean takes a byte. */
  #skipItem(kind: number): void {
    if (kind === type.true || kind === type.false) this.#advance(1);
    else this.#skip(kind);
  }

  #integer(): number {
    const zigzag = this.#varint();
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  }

  #varint(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 63; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new Error('its Parquet footer is damaged');
  }

  #byte(): number {
    this.#advance(1);
    return this.#bytes[this.#offset - 1] ?? 0;
  }

  /** Moves forward, but not past the end, so that a damaged count ends with the bytes. */
  #advance(bytes: number): void {
    this.#offset += bytes;
    if (this.#offset > this.#bytes.length) throw new Error('its Parquet footer is damaged');
  }
}
