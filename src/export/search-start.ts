/** Start conditions of a search. They are read when needed, because the search may outlive them. */
import type { OpenedJob, SearchStart } from './search-tools.ts';

/** `failedBefore` is called when its value is needed. */
export function searchStart(failedBefore: () => number, onNews: () => void, opened?: OpenedJob): SearchStart {
  return {
    get failedBefore() {
      return failedBefore();
    },
    onNews,
    ...(opened === undefined ? {} : { opened }),
  };
}
