/** Memory of parts that are being filled or sent: of one size, used again, so that uploads cost the same however long they run. */

/** The least that stores take for any part but the last. Ten thousand of them are the most: files of 48 GiB. */
export const partBytes = 5 * 1024 * 1024;

const maxIdle = 8;

export class PartBuffers {
  readonly #idle: Buffer[] = [];

  take(): Buffer {
    return this.#idle.pop() ?? Buffer.allocUnsafeSlow(partBytes);
  }

  giveBack(buffer: Buffer): void {
    if (this.#idle.length < maxIdle) this.#idle.push(buffer);
  }

  clear(): void {
    this.#idle.length = 0;
  }
}
