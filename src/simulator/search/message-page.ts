/** A page of messages (2.5) as an answer's body: head and end around pieces that are made when they are sent. */
import { Buffer } from 'node:buffer';
import type { PiecedBody } from '../body.ts';
import type { FoundMessages } from './found-messages.ts';

const end = Buffer.from(']}');

export function messageBody({ fields, page }: FoundMessages): PiecedBody {
  const head = Buffer.from(`{"warning":"","fields":${JSON.stringify(fields)},"messages":[`);
  return {
    bytes: head.length + page.bytes + end.length,
    *pieces(memory) {
      yield head;
      yield* page.pieces(memory);
      yield end;
    },
  };
}
