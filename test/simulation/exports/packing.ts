/** Replaces the `node:zlib` compression threads in simulations, because threads do not follow a virtual clock. */
import { createGzip, createZstdCompress, type Gzip, type ZstdCompress } from 'node:zlib';

interface Handle {
  init(...options: unknown[]): unknown;
  write(...work: unknown[]): unknown;
  writeSync(...work: unknown[]): unknown;
}

/** Called when a compression starts. The compression ends when this function calls `done`. */
export type Packing = (done: () => void) => void;

let packing: Packing | undefined;
const goOn = new WeakMap<Handle, () => void>();

/**
 * Sets a function that decides when each compression ends. If it is undefined, compression runs normally, on the
 * `node:zlib` threads.
 */
export function packBy(next: Packing | undefined): void {
  packing = next;
}

function takeOver(stream: Gzip | ZstdCompress): void {
  const { _handle: handle } = stream as unknown as { readonly _handle: Handle };
  const kind = Object.getPrototypeOf(handle) as Handle;
  const { init, write } = kind;
  kind.init = function (this: Handle, ...options) {
    const callback = options.find((option) => typeof option === 'function');
    if (!callback)
      throw new Error('a stream of node:zlib hands no function to its handle: packing.ts does not know this Node');
    goOn.set(this, callback as () => void);
    return init.apply(this, options);
  };
  kind.write = function (this: Handle, ...work) {
    const callback = goOn.get(this);
    if (!packing || !callback) return write.apply(this, work);
    this.writeSync(...work);
    return packing(() => callback.call(this));
  };
  stream.destroy();
}

takeOver(createGzip());
takeOver(createZstdCompress());
