/** Memory for file parts that are being uploaded. All uploads to a destination share it. */

/**
 * Size of a part in bytes: the minimum that S3 allows. S3 also allows at most 10,000 parts, so a file has at most 48
 * GiB.
 */
export const partBytes = 5 * 1024 * 1024;

/** Maximum number of parts that are uploaded at the same time. With three parts, uploads reach 300 MB/s. */
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

  /**
   * Waits until the upload of another part may start. A call to `sent` ends the wait of the caller that has waited
   * longest.
   */
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
