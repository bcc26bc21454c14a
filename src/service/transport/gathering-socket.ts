/**
 * TLS connection that combines 16 KiB records into larger chunks, because passing on each record takes more time than
 * decrypting it. Two buffers alternate: one is filled while the reader uses the other. A chunk remains valid until the
 * second read after it.
 */
import type { OnReadOpts } from 'node:net';
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterArrivals } from '../../base/clock.ts';

const recordBytes = 16 * 1024;
const pieceBytes = 256 * 1024;
/** Maximum number of bytes that can still arrive after the stream has stopped reading from the connection. */
const lateBytes = 96 * 1024;

export class GatheringSocket extends Duplex {
  /** Underlying TLS socket. It emits `secureConnect` when the handshake is complete. */
  readonly tls: TLSSocket;
  #filling = Buffer.allocUnsafeSlow(pieceBytes + lateBytes);
  #spare = Buffer.allocUnsafeSlow(pieceBytes + lateBytes);
  /** Index in `#filling` of the first byte that the stream's reader has not received yet. */
  #from = 0;
  #to = 0;
  #isPushScheduled = false;
  /** True while reading from the connection is paused, until the stream's reader requests more data. */
  #isStopped = false;
  #hasEnded = false;

  constructor(options: ConnectionOptions) {
    super({ allowHalfOpen: false, readableHighWaterMark: 1 });
    const buffer = Buffer.allocUnsafeSlow(recordBytes);
    const onread: OnReadOpts = { buffer, callback: (bytes) => this.#take(buffer, bytes) };
    const reading: ConnectionOptions & { readonly onread: OnReadOpts } = { ...options, onread };
    this.tls = connect(reading);
    this.tls
      .on('error', (error) => this.destroy(error))
      .on('end', () => this.#end())
      .on('close', () => this.#end());
  }

  ref(): this {
    this.tls.ref();
    return this;
  }

  unref(): this {
    this.tls.unref();
    return this;
  }

  /** Returns buffered data. If nothing is buffered, first asks the connection for more. */
  override read(size?: number): Buffer | null {
    if (this.readableLength === 0) this.#refill();
    return super.read(size) as Buffer | null;
  }

  override _read(): void {}

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.tls.write(chunk, done);
  }

  /**
   * Writes the head and body together. Otherwise, this process could stop being the leader between the two writes, and
   * would then not be allowed to send the body (L1).
   */
  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.tls.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.tls.writable) this.tls.end(done);
    else done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.tls.closed) done(error);
    else this.tls.once('close', () => done(error)).destroy();
  }

  /** Adds the bytes of one TLS record to the current chunk. Returns false if reading from the connection must pause. */
  #take(record: Buffer, bytes: number): boolean {
    if (this.#to + bytes > this.#filling.length) {
      this.#pushGathered();
      this.push(Buffer.copyBytesFrom(record, 0, bytes));
      return false;
    }
    this.#to += record.copy(this.#filling, this.#to, 0, bytes);
    if (!this.#isPushScheduled) {
      this.#isPushScheduled = true;
      afterArrivals(() => {
        this.#isPushScheduled = false;
        if (this.readableLength === 0) this.#pushGathered();
      });
    }
    this.#isStopped ||= this.#to >= pieceBytes;
    return !this.#isStopped;
  }

  #refill(): void {
    this.#pushGathered();
    if (!this.#isStopped || this.readableLength > 0) return;
    this.#isStopped = false;
    [this.#filling, this.#spare] = [this.#spare, this.#filling];
    this.#from = 0;
    this.#to = 0;
    this.tls.resume();
  }

  #pushGathered(): void {
    if (this.#to === this.#from) return;
    const gathered = this.#filling.subarray(this.#from, this.#to);
    this.#from = this.#to;
    this.push(gathered);
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#pushGathered();
    this.push(null);
  }
}
