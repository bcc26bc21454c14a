/**
 * What stands between a simulated process and everything else: an operating system that may stop it, let it go on, or end it.
 *
 * Invariant: nothing reaches a dead process; what comes for one that is stopped waits until it goes on.
 */
import type { Clock, Timer } from '../../src/base/clock.ts';

/** Whether anything reaches the process. */
export class ProcessGate {
  state: 'running' | 'frozen' | 'dead' = 'running';
  #waiting: (() => void)[] = [];

  deliver(action: () => void): void {
    if (this.state === 'running') action();
    else if (this.state === 'frozen') this.#waiting.push(action);
  }

  close(): void {
    if (this.state === 'running') this.state = 'frozen';
  }

  open(): void {
    if (this.state !== 'frozen') return;
    this.state = 'running';
    for (const action of this.#waiting.splice(0)) this.deliver(action);
  }

  die(): void {
    this.state = 'dead';
    this.#waiting = [];
  }
}

/** A shorter wait would vanish in the sum with the time of day, and time would stand still. */
const finestMs = 0.001;

/** Timers that fall due while the process is stopped fire when it goes on; time itself does not stop. */
export class ProcessClock implements Clock {
  readonly #clock: Clock;
  readonly #gate: ProcessGate;
  readonly #skewMs: number;

  constructor(clock: Clock, gate: ProcessGate, skewMs: number) {
    this.#clock = clock;
    this.#gate = gate;
    this.#skewMs = skewMs;
  }

  now(): number {
    return this.#clock.now() + this.#skewMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(delayMs: number, callback: () => void): Timer {
    let cancelled = false;
    const timer = this.#clock.after(delayMs > 0 ? Math.max(finestMs, delayMs) : 0, () =>
      this.#gate.deliver(() => {
        if (!cancelled) callback();
      }),
    );
    return {
      cancel() {
        cancelled = true;
        timer.cancel();
      },
    };
  }
}

/** Asked anew after each call that may have ended the process. */
export function isDead(gate: ProcessGate): boolean {
  return gate.state === 'dead';
}

export function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
