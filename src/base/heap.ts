/**
 * Sets V8 options that keep the heap of the operator and of the simulator small. By default, garbage can take up
 * several times as much memory as the data in use. The options do not limit the size of the heap, because a larger
 * fleet needs more memory.
 */
import { setFlagsFromString } from 'node:v8';

/** Applies the heap settings to this process. */
export function keepHeapSmall(): void {
  // Makes V8 collect garbage in the old generation as soon as this generation has grown by half since the last
  // collection.
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--semi-space-growth-factor=1');
  // With a small heap, parallel garbage collection takes more CPU time and is not faster.
  setFlagsFromString('--no-parallel-scavenge');
}
