/**
 * A TLS connection that hands on in large pieces what comes in records of 16 KB. Each record goes through Node's streams and undici's
 * parser by itself otherwise, which costs three times as much as to receive and decrypt it: a page of messages has hundreds of them.
 *
 * Node writes each record into one and the same small buffer (`onread`); from there it goes behind the one before. What was gathered is
 * handed on when all that had arrived is there and the reader has nothing else: a stream that holds several pieces copies them into one
 * that is new, and what it frees then keeps the collector of garbage busy for a third of the time that all of this takes.
 *
 * Invariant: the stream holds one piece at most, but for what comes at the very end. Two pieces of memory take turns, and one is written
 * over only when its reader has come to the end of the other. So a piece is valid until the next read but one, as long as it takes
 * undici to put together a head that two of them share.
 */
import type { OnReadOpts } from 'node:net';
import { Duplex } from 'node:stream';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterArrivals } from '../../base/clock.ts';

const recordBytes = 16 * 1024;
const pieceBytes = 256 * 1024;
/** What may still come after reading was stopped: Node has read so much that is not decrypted yet. */
const lateBytes = 96 * 1024;

export class GatheringSocket extends Duplex {
  /** Connecting, at first: it tells of `secureConnect` itself. */
  readonly tls: TLSSocket;
  #filling = Buffer.allocUnsafeSlow(pieceBytes + lateBytes);
  #resting = Buffer.allocUnsafeSlow(pieceBytes + lateBytes);
  /** Gathered and not handed on: from where to where in `#filling`. */
  #from = 0;
  #to = 0;
  #isHandingOn = false;
  /** Nothing more is read until the reader asks. */
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

  /** The reader comes when it has done with what it read before, be it a piece or the rest of one that it gave back. */
  override read(size?: number): Buffer | null {
    if (this.readableLength === 0) this.#refill();
    return super.read(size) as Buffer | null;
  }

  override _read(): void {}

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.tls.write(chunk, done);
  }

  /**
   * Head and body of a request in one write. Node completes a write over TLS in a later turn, and the body would wait for that: a process
   * that is stopped in between would send it when it has long lost the lease (L1).
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

  /** One record. False stops the reading. */
  #take(record: Buffer, bytes: number): boolean {
    if (this.#to + bytes > this.#filling.length) {
      this.#handOn();
      this.push(Buffer.copyBytesFrom(record, 0, bytes));
      return false;
    }
    this.#to += record.copy(this.#filling, this.#to, 0, bytes);
    if (!this.#isHandingOn) {
      this.#isHandingOn = true;
      afterArrivals(() => {
        this.#isHandingOn = false;
        if (this.readableLength === 0) this.#handOn();
      });
    }
    this.#isStopped ||= this.#to >= pieceBytes;
    return !this.#isStopped;
  }

  #refill(): void {
    this.#handOn();
    if (!this.#isStopped || this.readableLength > 0) return;
    this.#isStopped = false;
    [this.#filling, this.#resting] = [this.#resting, this.#filling];
    this.#from = 0;
    this.#to = 0;
    this.tls.resume();
  }

  #handOn(): void {
    if (this.#to === this.#from) return;
    const gathered = this.#filling.subarray(this.#from, this.#to);
    this.#from = this.#to;
    this.push(gathered);
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#handOn();
    this.push(null);
  }
}
