/**
 * Memory of parts that are being filled or sent, shared by all uploads of a destination and used again: it costs one part for each
 * upload that is open and one for each part that is on its way, however long they run.
 */

/** The least that stores take for any part but the last. Ten thousand of them are the most: files of 48 GiB. */
export const partBytes = 5 * 1024 * 1024;

/** Over a path of 50 ms that is 300 MB/s. */
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

  /** Waits, in turn, until a part may be sent; `sent` lets the next one go. */
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
