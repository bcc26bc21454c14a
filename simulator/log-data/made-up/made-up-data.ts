/**
 * Generated log data. Each message is computed when it is needed, and none are stored, so a year of messages takes no
 * more memory than an hour.
 *
 * The messages depend only on the settings.
 */
import { assert } from '../../../src/base/assert.ts';
import type { MessageFilter } from '../../query/row.ts';
import { DataSearch } from '../data-search.ts';
import { speltFields } from '../field-case.ts';
import type { LogData, MessageSearch, SearchRange } from '../log-data.ts';
import { MessageFinder, type NextRank } from '../message-finder.ts';
import { MadeUpRows } from './made-up-rows.ts';
import { type MadeUpSettings, settingsProblems } from './made-up-settings.ts';
import { dependsOnTemplateOnly, TemplateMatches } from './matches.ts';
import { ranksByReceipt } from './receipt-order.ts';
import { TemplateFinder } from './template-finder.ts';

/** Returns generated log data. The settings must be valid. */
export function madeUpData(settings: MadeUpSettings): LogData {
  const problems = settingsProblems(settings).map(({ member, text }) => `${member} ${text}`);
  assert(problems.length === 0, `the settings of generated messages are invalid: ${problems.join(', ')}`);
  const rows = new MadeUpRows(settings);
  return {
    fields: speltFields(settings.fieldCase),
    maxDelayMs: settings.receipt.lateMs,
    search(range: SearchRange, filter: MessageFilter, maxExamined = Number.POSITIVE_INFINITY): MessageSearch {
      const finder = dependsOnTemplateOnly(filter.reads)
        ? new TemplateFinder(rows, range, new TemplateMatches(rows, filter), maxExamined)
        : new MessageFinder(rows, orderedRanks(rows, range), range, filter, maxExamined);
      return new DataSearch(rows, range, finder);
    },
  };
}

/**
 * Returns the ranks of the messages in a time range, newest message first. The rank of a message is the number of newer
 * messages.
 */
function orderedRanks(rows: MadeUpRows, range: SearchRange): NextRank {
  if (range.byReceiptTime) return ranksByReceipt(rows, range);
  const { timeline } = rows;
  let rank = timeline.rankAt(range.toMs);
  return () => (rank < timeline.rows ? rank++ : -1);
}
