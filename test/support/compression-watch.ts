/**
 * Detects whether a `node:zlib` stream is compressing on its thread, because a virtual clock must wait for the thread.
 */
import { createGzip, createZstdCompress } from 'node:zlib';

/** Undocumented members of `node:zlib` streams. */
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
    // A failed compression never reports a result, so the clock must not wait for it.
    if (stream.destroyed || stream._writeState[0] !== pending) writing.delete(stream);
  }
  return writing.size > 0;
}
