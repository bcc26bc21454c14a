/** Sends responses, and simulates network faults: late, slow, truncated and missing responses. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../src/base/clock.ts';
import { bytesOf, cutUp, firstBytes, piecesOf } from './base/body.ts';
import type { PieceMemory } from './base/piece-memory.ts';
import type { ServedResponse } from './model.ts';

export interface ResponseChannel {
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** TCP connection below the TLS connection. A TCP connection can be reset; a TLS connection cannot. */
  readonly socket: Socket | undefined;
  /** Reusable memory for the chunks of the response body. */
  readonly memory: PieceMemory;
  /** Called when the request has ended. `answered` is true if the client received the whole response. */
  readonly done: (answered: boolean) => void;
}

/** Maximum length in bytes of a body that is sent in a single write. */
const smallBytes = 16 * 1024;
const dripsPerSecond = 10;

export function deliver(served: ServedResponse, wire: ResponseChannel): void {
  if (served.delivery.kind === 'stall') {
    wire.response.once('close', () => wire.done(false));
    return;
  }
  if (served.delayMs <= 0) send(served, wire);
  else wire.clock.after(served.delayMs, () => send(served, wire));
}

function send(served: ServedResponse, wire: ResponseChannel): void {
  const { response, done } = wire;
  if (response.destroyed) {
    done(false);
    return;
  }
  const { delivery } = served;
  switch (delivery.kind) {
    case 'whole':
      sendWhole(served, wire);
      return;
    case 'drip':
      drip(served, delivery.bytesPerSecond, wire);
      return;
    case 'truncate':
      sendHalf(served, wire);
      return;
    case 'reset':
    case 'stall':
      response.once('close', () => done(false));
      reset(wire);
      return;
  }
}

function sendWhole(served: ServedResponse, { response, memory, done }: ResponseChannel): void {
  const bytes = writeHead(served, response);
  if (typeof served.body === 'string' && bytes <= smallBytes) {
    response.end(served.body);
    done(true);
    return;
  }
  response.once('close', () => done(response.writableFinished));
  const giveBack = (piece: Uint8Array) => memory.giveBack(piece);
  writeAll(piecesOf(served.body, memory), response, () => response.end(), giveBack);
}

/** Sends the chunks of a body as fast as the connection accepts them. Calls `onSent` after each chunk. */
function writeAll(
  pieces: Iterable<Uint8Array>,
  response: ServerResponse,
  onWritten: () => void,
  onSent: (piece: Uint8Array) => void = () => {},
): void {
  const iterator = pieces[Symbol.iterator]();
  const go = () => {
    while (!response.destroyed) {
      const { done, value } = iterator.next();
      if (done) {
        onWritten();
        return;
      }
      const sent = (error: unknown) => {
        // `onSent` releases the chunk's memory for reuse. After a failed write, the connection might still read this
        // memory, so `onSent` is not called.
        if (!error) onSent(value);
      };
      if (!response.write(value, sent)) {
        response.once('drain', go);
        return;
      }
    }
  };
  go();
}

function sendHalf(served: ServedResponse, wire: ResponseChannel): void {
  const { response, done } = wire;
  response.once('close', () => done(false));
  const half = Math.floor(writeHead(served, response) / 2);
  if (half === 0) {
    reset(wire);
    return;
  }
  // Node.js calls the callback of this empty write after all earlier writes, so the connection is closed only after the
  // data has been sent.
  const breakOff = () => response.write('', () => response.socket?.destroy());
  writeAll(firstBytes(piecesOf(served.body), half), response, breakOff);
}

function drip(served: ServedResponse, bytesPerSecond: number, { response, clock, done }: ResponseChannel): void {
  writeHead(served, response);
  response.flushHeaders();
  response.once('close', () => done(response.writableFinished));
  const dropBytes = Math.max(1, Math.floor(bytesPerSecond / dripsPerSecond));
  const drops = cutUp(piecesOf(served.body), dropBytes);
  const next = () => {
    if (response.destroyed) return;
    const { done: dry, value } = drops.next();
    if (dry) {
      response.end();
      return;
    }
    response.write(value);
    clock.after((dropBytes / bytesPerSecond) * 1000, next);
  };
  clock.after((dropBytes / bytesPerSecond) * 1000, next);
}

/** Writes the status and headers of a response. Returns the body length in bytes. */
function writeHead({ status, headers, cookies, body }: ServedResponse, response: ServerResponse): number {
  const bytes = bytesOf(body);
  const setCookie = cookies && cookies.length > 0 ? { 'set-cookie': [...cookies] } : {};
  response.writeHead(status, { ...headers, ...setCookie, 'content-length': bytes });
  return bytes;
}

function reset({ socket, response }: ResponseChannel): void {
  socket?.resetAndDestroy();
  response.socket?.destroy();
}
