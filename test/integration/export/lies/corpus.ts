/** Rows of a log service that gives false responses. Some rows have the same message time. */
import type { Message } from '../../../../simulator/test/row-data.ts';
import { hourMs } from '../../../../src/base/time-units.ts';
import { startMs } from '../export-world.ts';

/** Fields of a message or an aggregation row. */
export type ResultFields = Readonly<Record<string, string>>;

export interface Corpus {
  readonly messages: readonly Message[];
  /** Rows that the service really has, as they appear on result pages. */
  readonly truth: readonly ResultFields[];
  /** Maximum number of rows on a result page. */
  readonly pageRows: number;
}

export const fromMs = startMs - 2 * hourMs;
export const toMs = startMs - hourMs;
export const denseMs = fromMs + hourMs / 2 + 7;

export const small = corpusOf(1_000);
export const large = corpusOf(10_000);

function corpusOf(pageRows: number): Corpus {
  const spread = 1.2 * pageRows;
  const messages = [
    ...Array.from({ length: spread }, (_, index) => {
      const at = fromMs + Math.floor((Math.max(0, index - 2) * hourMs) / spread);
      return messageAt(index === spread - 1 ? toMs - 1 : at, index);
    }),
    ...Array.from({ length: 0.15 * pageRows }, (_, index) => messageAt(denseMs, spread + index)),
  ];
  return { messages, truth: messages.map(rowOf), pageRows };
}

/** Creates messages with texts of different lengths, so that most messages differ in size. */
function messageAt(at: number, index: number): Message {
  const raw = `message ${index} ${'x'.repeat(index % 17)}`;
  return { at, raw, fields: { _messageid: `-69175290${100_000_000 + 7 * index}` } };
}

function rowOf({ at, raw, fields }: Message): ResultFields {
  return { _messagetime: String(at), _receipttime: String(at), _size: String(raw.length), _raw: raw, ...fields };
}
