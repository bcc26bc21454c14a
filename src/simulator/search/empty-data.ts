/** No messages at all: what a service without log data searches. */
import type { LogData, Search, SearchRange } from '../log-data/log-data.ts';
import { messageFields } from '../query/message-fields.ts';
import { emptyPage } from './found-messages.ts';

export const emptyData: LogData = { fields: messageFields, search: (range) => emptySearch(range) };

function emptySearch({ toMs }: SearchRange): Search {
  let reachedMs = toMs;
  return {
    advance: (downToMs) => {
      reachedMs = Math.min(reachedMs, downToMs);
    },
    found: 0,
    get reachedMs() {
      return reachedMs;
    },
    scannedBytes: 0,
    isGivenUp: false,
    page: () => emptyPage,
  };
}
