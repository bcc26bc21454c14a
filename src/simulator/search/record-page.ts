/** A page of records (2.6), with what the service does to figures (10.3) as switches of the scenario. */
import type { RecordTable } from '../query/query.ts';

export interface RecordPageRequest {
  readonly offset: number;
  readonly limit: number;
  /** Computed figures are not what they should be. */
  readonly isWrong: boolean;
  /** Large computed figures are written as `1.788E12`. */
  readonly isScientific: boolean;
}

export function renderRecords({ fields, records }: RecordTable, request: RecordPageRequest): string {
  const { offset, limit } = request;
  const rows = records.slice(offset, offset + limit).map((values) => {
    const cells = fields.map(({ name, keyField }, index) => {
      const value = values[index] ?? '';
      return [name, keyField ? value : figureOf(value, request)];
    });
    return { map: Object.fromEntries(cells) };
  });
  return JSON.stringify({ warning: '', fields, records: rows });
}

const leastScientific = 1e7;

/** What is no number stays as it is. */
function figureOf(text: string, { isWrong, isScientific }: RecordPageRequest): string {
  const exact = Number(text);
  if (text === '' || !Number.isFinite(exact)) return text;
  const figure = isWrong ? exact * 2 + 1 : exact;
  if (isScientific && Math.abs(figure) >= leastScientific) return scientific(figure);
  return isWrong ? String(figure) : text;
}

/** With a point in any case: `1.0E7`, `1.788E12`. */
function scientific(figure: number): string {
  const [digits = '', exponent] = figure.toExponential().split('e+');
  return `${digits.includes('.') ? digits : `${digits}.0`}E${exponent}`;
}
