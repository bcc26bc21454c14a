/** The rows of the lying service: 12,000 over an hour, of which three share the oldest millisecond, and 1,500 more in one millisecond. */
import type { Message } from '../../../../simulator/test/search/row-data.ts';
import { hourMs, startMs } from '../export-world.ts';
import type { Row } from './lying-service.ts';

export const fromMs = startMs - 2 * hourMs;
export const toMs = startMs - hourMs;
export const denseMs = fromMs + hourMs / 2 + 7;
export const spread = 12_000;
export const crowd = 1_500;
export const all = spread + crowd;

/** Texts have different lengths, so that sizes distinguish them. */
function messageAt(at: number, index: number): Message {
  const raw = `message ${index} ${'x'.repeat(index % 17)}`;
  return { at, raw, fields: { _messageid: `-69175290${100_000_000 + 7 * index}` } };
}

export const messages: readonly Message[] = [
  ...Array.from({ length: spread }, (_, index) => {
    // The first and the last millisecond of the range have rows.
    const at = fromMs + Math.floor((Math.max(0, index - 2) * hourMs) / spread);
    return messageAt(index === spread - 1 ? toMs - 1 : at, index);
  }),
  ...Array.from({ length: crowd }, (_, index) => messageAt(denseMs, spread + index)),
];

/** Rows as pages show them. */
export const truth: readonly Row[] = messages.map(({ at, raw, fields }) => ({
  _messagetime: String(at),
  _receipttime: String(at),
  _size: String(raw.length),
  _raw: raw,
  ...fields,
}));
