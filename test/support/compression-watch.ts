/**
 * Tells whether a stream of `node:zlib` compresses right now. That happens on another thread in real time, and Node.js lists it nowhere.
 * A virtual clock waits for it. Otherwise hours of virtual time pass on a busy machine while one chunk is compressed.
 *
 * Wraps `write` of the native handles. A handle tells its result in two numbers of the stream: how much room and how much input are left.
 * The first one has an impossible value from the write to the result.
 */
import { createGzip, createZstdCompress } from 'node:zlib';

/** What streams of `node:zlib` have besides their documented members. */
interface ZlibStream {
  readonly destroyed: boolean;
  readonly _writeState: Uint32Array;
}

interface NativeHandle {
  readonly [owner: symbol]: ZlibStream | undefined;
}

interface NativePrototype {
  write: (this: NativeHandle, ...members: unknown[]) => void;
}

const pending = 0xff_ff_ff_ff;
const writing = new Set<ZlibStream>();

for (const stream of [createGzip(), createZstdCompress()]) {
  const { _handle: handle } = stream as unknown as { readonly _handle: NativeHandle };
  watch(Object.getPrototypeOf(handle) as NativePrototype);
  stream.destroy();
}

function watch(prototype: NativePrototype): void {
  const { write } = prototype;
  prototype.write = function (this: NativeHandle, ...members) {
    const owner = Object.getOwnPropertySymbols(this).find(({ description }) => description === 'owner_symbol');
    const stream = owner && this[owner];
    if (stream) {
      stream._writeState[0] = pending;
      writing.add(stream);
    }
    return write.apply(this, members);
  };
}

export function isCompressing(): boolean {
  for (const stream of writing) {
    // A stream that failed has no result.
    if (stream.destroyed || stream._writeState[0] !== pending) writing.delete(stream);
  }
  return writing.size > 0;
}
