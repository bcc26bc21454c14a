/**
 * Buffers for the parts of uploads to object stores. All uploads of a destination share and reuse them. The memory is one part for each open
 * upload, and one for each part that is being sent.
 */

/**
 * Size of a part in bytes: the minimum that stores require for all parts except the last. With the ten thousand parts that S3 allows,
 * a file has at most 48 GiB.
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

  /** Waits until another part may be sent. Waiting calls continue in their order; each call of `sent` lets one continue. */
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
