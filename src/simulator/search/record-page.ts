/** A page of records (2.6). Before the query is done records can be wrong (10.3), as a switch of the scenario. */
import type { RecordTable } from '../query/query.ts';

export interface RecordPageRequest {
  readonly offset: number;
  readonly limit: number;
  /** Computed figures are not what they should be. */
  readonly isWrong: boolean;
}

export function renderRecords({ fields, records }: RecordTable, request: RecordPageRequest): string {
  const { offset, limit, isWrong } = request;
  const rows = records.slice(offset, offset + limit).map((values) => {
    const cells = fields.map(({ name, keyField }, index) => {
      const value = values[index] ?? '';
      return [name, isWrong && !keyField ? wrongly(value) : value];
    });
    return { map: Object.fromEntries(cells) };
  });
  return JSON.stringify({ warning: '', fields, records: rows });
}

/** A number that is off; texts stay as they are. */
function wrongly(value: string): string {
  const figure = Number(value);
  return value === '' || Number.isNaN(figure) ? value : String(figure * 2 + 1);
}
