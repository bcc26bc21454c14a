/**
 * Log data that are made up when they are asked for: a year of a thousand messages a second takes no more memory than an hour.
 *
 * Invariant: the settings decide everything. `made-up-rows.ts` has the messages, the searches how to go through them.
 */
import { assert } from '../../../base/assert.ts';
import type { Filter } from '../../query/row.ts';
import { speltFields } from '../field-case.ts';
import type { LogData, Search, SearchRange } from '../log-data.ts';
import { type RowOrder, RowSearch } from '../row-search.ts';
import { MadeUpRows } from './made-up-rows.ts';
import { type MadeUpSettings, settingsProblems } from './made-up-settings.ts';
import { isSettledByTemplate, TemplateMatches } from './matches.ts';
import { ReceiptSearch } from './receipt-search.ts';
import { RowReceiptSearch } from './row-receipt-search.ts';
import { TimeSearch } from './time-search.ts';

/** `settings` have no problems (`settingsProblems`). */
export function madeUpData(settings: MadeUpSettings): LogData {
  const problems = settingsProblems(settings).map(({ member, text }) => `${member} ${text}`);
  assert(problems.length === 0, `made-up messages cannot be what their settings say: ${problems.join(', ')}`);
  const rows = new MadeUpRows(settings);
  const { timeline } = rows;
  // Ranks go by message time: they are the places.
  const byMessageTime: RowOrder = {
    placeOf: (timeMs) => timeline.rankAt(timeMs),
    timeAt: (rank) => timeline.timeOf(rank),
    rankAt: (rank) => rank,
  };
  return {
    fields: speltFields(settings.fieldCase),
    mostDelayMs: settings.receipt.lateMs,
    search(range: SearchRange, filter: Filter, mostLooks = Number.POSITIVE_INFINITY): Search {
      if (!isSettledByTemplate(filter.reads)) {
        return range.byReceiptTime
          ? new RowReceiptSearch(rows, range, filter, mostLooks)
          : new RowSearch(rows, byMessageTime, range, filter, mostLooks);
      }
      const matches = new TemplateMatches(rows, filter);
      return range.byReceiptTime
        ? new ReceiptSearch(rows, range, matches, mostLooks)
        : new TimeSearch(rows, range, matches, mostLooks);
    },
  };
}
