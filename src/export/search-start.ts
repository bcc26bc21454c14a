/** How a search begins that may outlive what is known of those before it. */
import type { OpenedJob, SearchStart } from './search-tools.ts';

/** `failedBefore` is asked when it is needed. */
export function searchStart(failedBefore: () => number, onNews: () => void, opened?: OpenedJob): SearchStart {
  return {
    get failedBefore() {
      return failedBefore();
    },
    onNews,
    ...(opened === undefined ? {} : { opened }),
  };
}
