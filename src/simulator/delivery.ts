/** An answer of the model onto a connection: whole, late, in drops, cut off, reset or never. */
import { Buffer } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import type { ServedAnswer } from './model.ts';

export interface Wire {
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** The connection below TLS, which can be reset. */
  readonly socket: Socket | undefined;
  /** To be called when the request is over; whether the client got all of it. */
  readonly done: (answered: boolean) => void;
}

/** What fits into one write: the service is through with it when it has been handed over. */
const smallBytes = 16 * 1024;
const dripsPerSecond = 10;

export function deliver(answer: ServedAnswer, wire: Wire): void {
  if (answer.delivery.kind === 'stall') {
    wire.response.once('close', () => wire.done(false));
    return;
  }
  if (answer.delayMs <= 0) send(answer, wire);
  else wire.clock.after(answer.delayMs, () => send(answer, wire));
}

function send(answer: ServedAnswer, wire: Wire): void {
  const { response, done } = wire;
  if (response.destroyed) {
    done(false);
    return;
  }
  const { delivery } = answer;
  switch (delivery.kind) {
    case 'whole':
      sendWhole(answer, wire);
      return;
    case 'drip':
      drip(answer, delivery.bytesPerSecond, wire);
      return;
    case 'truncate': {
      response.once('close', () => done(false));
      const body = writeHead(answer, response);
      const half = body.subarray(0, Math.floor(body.length / 2));
      if (half.length === 0) reset(wire);
      else response.write(half, () => response.socket?.destroy());
      return;
    }
    case 'reset':
    case 'stall':
      response.once('close', () => done(false));
      reset(wire);
      return;
  }
}

function sendWhole(answer: ServedAnswer, { response, done }: Wire): void {
  const body = writeHead(answer, response);
  if (body.length > smallBytes) response.once('close', () => done(response.writableFinished));
  response.end(body);
  if (body.length <= smallBytes) done(true);
}

function drip(answer: ServedAnswer, bytesPerSecond: number, { response, clock, done }: Wire): void {
  const body = writeHead(answer, response);
  response.flushHeaders();
  response.once('close', () => done(response.writableFinished));
  const pieceBytes = Math.max(1, Math.floor(bytesPerSecond / dripsPerSecond));
  const next = (offset: number) => {
    if (response.destroyed) return;
    const end = offset + pieceBytes;
    if (end >= body.length) {
      response.end(body.subarray(offset));
      return;
    }
    response.write(body.subarray(offset, end));
    clock.after((pieceBytes / bytesPerSecond) * 1000, () => next(end));
  };
  clock.after((pieceBytes / bytesPerSecond) * 1000, () => next(0));
}

/** Writes status and headers, and returns the body to come. */
function writeHead({ status, headers, body }: ServedAnswer, response: ServerResponse): Buffer {
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, 'content-length': bytes.length });
  return bytes;
}

function reset({ socket, response }: Wire): void {
  socket?.resetAndDestroy();
  response.socket?.destroy();
}
