/**
 * Where the streams of `node:zlib` work in histories. The program's own streams pack, by the same code and into the same bytes, but on this
 * thread, and are done when a clock says so: threads know of no virtual time, and end in another order each time.
 *
 * Leaned on: a stream hands each piece of work to the `write` of its handle, and goes on in the function that was handed to `init`. What
 * zlib does at once by `writeSync` stays as it is.
 */
import { createGzip, createZstdCompress, type Gzip, type ZstdCompress } from 'node:zlib';

interface Handle {
  init(...options: unknown[]): unknown;
  write(...work: unknown[]): unknown;
  writeSync(...work: unknown[]): unknown;
}

/** Calls back when a piece of work is done. */
export type Packing = (done: () => void) => void;

let packing: Packing | undefined;
const goOn = new WeakMap<Handle, () => void>();

/** From now on, for all streams of this thread; undefined gives them back to theirs. */
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
