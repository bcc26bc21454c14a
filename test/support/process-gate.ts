/**
 * Freezes and kills a simulated process. A killed process receives nothing. A frozen process receives everything once
 * it resumes.
 */
import type { Clock, Timer } from '../../src/base/clock.ts';

/** Delivers responses, events and timers while the process is running, and holds them back while it is frozen. */
export class ProcessGate {
  state: 'running' | 'frozen' | 'dead' = 'running';
  #waiting: (() => void)[] = [];

  deliver(action: () => void): void {
    if (this.state === 'running') action();
    else if (this.state === 'frozen') this.#waiting.push(action);
  }

  /** Freezes the process, as SIGSTOP does. */
  freeze(): void {
    if (this.state === 'running') this.state = 'frozen';
  }

  /** Resumes the frozen process, as SIGCONT does. */
  thaw(): void {
    if (this.state !== 'frozen') return;
    this.state = 'running';
    for (const action of this.#waiting.splice(0)) this.deliver(action);
  }

  /** Ends the process, as SIGKILL does. */
  kill(): void {
    this.state = 'dead';
    this.#waiting = [];
  }
}

/** Minimum delay of a timer in ms. A shorter delay would be rounded to zero, and time would not advance. */
const finestMs = 0.001;

/** A simulated process's clock. Timers that become due during a freeze fire when the freeze ends. */
export class ProcessClock implements Clock {
  readonly #clock: Clock;
  readonly #gate: ProcessGate;
  /** Offset of the process's wall clock in ms. */
  skewMs: number;

  constructor(clock: Clock, gate: ProcessGate, skewMs = 0) {
    this.#clock = clock;
    this.#gate = gate;
    this.skewMs = skewMs;
  }

  now(): number {
    return this.#clock.now() + this.skewMs;
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

/** Reports whether the process has been killed. Ask again after each call, because any call might kill the process. */
export function isDead(gate: ProcessGate): boolean {
  return gate.state === 'dead';
}

export function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
