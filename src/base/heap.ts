/**
 * Sets V8 options of the operator and the simulator that keep the heap small. By default, V8 lets garbage grow to
 * several times the memory in use.
 *
 * The options do not limit the maximum size of the heap, because a larger fleet needs more memory.
 */
import { setFlagsFromString } from 'node:v8';

/** Applies the heap settings to this process. */
export function keepHeapSmall(): void {
  // V8 collects garbage in the old generation when the memory of that generation has grown by half.
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--semi-space-growth-factor=1');
  // With a small heap, parallel garbage collection takes more CPU time and is not faster.
  setFlagsFromString('--no-parallel-scavenge');
}
