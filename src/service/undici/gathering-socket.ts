/**
 * A TLS connection that hands on in large pieces what comes in records of 16 KB. Each record goes through Node's streams and undici's
 * parser by itself otherwise, which costs three times as much as to receive and decrypt it: a page of messages has hundreds of them.
 *
 * Node writes each record into one and the same small buffer (`onread`); from there it goes behind the one before. What was gathered is
 * handed on when all that had arrived is there, or when it is a piece.
 *
 * Invariant: two pieces of memory take turns, and one is written over only when its reader asks for more, with all of it read or
 * copied. So a piece is valid until the next read but one, as long as it takes undici to put together a head that two of them share.
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

  override _read(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#handOn();
    [this.#filling, this.#resting] = [this.#resting, this.#filling];
    this.#from = 0;
    this.#to = 0;
    this.tls.resume();
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.tls.write(chunk, done);
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
    if (this.#to >= pieceBytes) {
      this.#isStopped = true;
      this.#handOn();
      return false;
    }
    if (!this.#isHandingOn) {
      this.#isHandingOn = true;
      afterArrivals(() => {
        this.#isHandingOn = false;
        this.#handOn();
      });
    }
    return true;
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
