/**
 * Buffers for parts that are being filled or sent, shared and reused by all uploads of a destination. Memory use: one part for each
 * open upload, and one for each part in flight.
 */

/**
 * Size of a part in bytes: the minimum that stores accept for all parts except the last. With ten thousand parts a file has at most
 * 48 GiB.
 */
export const partBytes = 5 * 1024 * 1024;

/** Maximum number of parts that are sent at the same time. With a delay of 50 ms, three parts allow 300 MB/s. */
const maxSending = 3;
const maxIdle = 8;

export class PartBuffers {
  readonly #idle: Buffer[] = [];
  readonly #waiting: (() => void)[] = [];
  #sending = 0;

  take(): Buffer {
    return this.#idle.pop() ?? Buffer.allocUnsafeSlow(partBytes);
  }

  giveBack(buffer: Buffer): void {
    if (this.#idle.length < maxIdle) this.#idle.push(buffer);
  }

  /** Waits until another part may be sent, in the order of the calls. Each call of `sent` allows the next part. */
  async maySend(): Promise<void> {
    if (this.#sending === maxSending) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#sending++;
  }

  sent(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#sending--;
  }

  clear(): void {
    this.#idle.length = 0;
  }
}
